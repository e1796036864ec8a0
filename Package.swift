// swift-tools-version: 6.2
import PackageDescription

/// The settings of every Swift target. `Lifetimes` lets our types hold and return spans; a client that uses those types
/// needs no flag.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .enableExperimentalFeature("Lifetimes"),
]

let package = Package(
  name: "tributary",
  platforms: [.macOS("26.0")],
  products: [
    .executable(name: "replay", targets: ["ReplayTool"]),
    .library(name: "StoreTesting", targets: ["StoreTesting"]),
    .library(name: "EventStore", targets: ["EventStore", "OperationFormat"]),
    .library(name: "Replicator", targets: ["Replicator", "EventStore", "OperationFormat"]),
    .library(name: "HTTPRemote", targets: ["HTTPRemote", "Replicator", "EventStore", "OperationFormat"]),
    .library(name: "URLSessionTransport", targets: ["URLSessionTransport", "HTTPRemote"]),
    .library(name: "S3Remote", targets: ["S3Remote", "Replicator", "EventStore", "OperationFormat"]),
    .library(name: "RemoteIndex", targets: ["RemoteIndex", "Replicator"]),
    .library(
      name: "RemoteService", targets: ["RemoteService", "Replicator", "EventStore", "OperationFormat"]),
    .library(name: "Models", targets: ["Models", "EventStore", "OperationFormat"]),
    .library(name: "LiveQueries", targets: ["LiveQueries", "Models", "EventStore"]),
    .library(
      name: "Tributary", targets: ["Tributary", "Models", "Replicator", "EventStore", "OperationFormat"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.0.0"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(
      name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    .target(name: "LMDB", dependencies: ["CLMDB"], swiftSettings: settings),
    // The processor's instruction for CRC-32C, which Swift cannot call.
    .target(name: "CChecksum"),
    .target(
      name: "OperationFormat",
      dependencies: ["CChecksum", "CZstd", .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: settings),
    .target(
      name: "EventStore",
      dependencies: [
        "LMDB", "OperationFormat", .product(name: "DequeModule", package: "swift-collections"),
      ],
      swiftSettings: settings),
    .target(
      name: "Replicator",
      dependencies: [
        "EventStore", "OperationFormat", .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: settings),
    // The face of an app: typed records over the store. It needs no Foundation.
    .target(name: "Models", dependencies: ["EventStore", "OperationFormat"], swiftSettings: settings),
    // Calls of a remote as requests over HTTP, and their answers: what client and server share.
    .target(
      name: "RemoteWire",
      dependencies: [
        "Replicator", "OperationFormat", .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    // The client of a server, over any HTTP transport.
    .target(
      name: "HTTPRemote",
      dependencies: [
        "RemoteWire", "Replicator", "OperationFormat",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    // Sends the client's requests by the system's URLSession.
    .target(
      name: "URLSessionTransport",
      dependencies: ["HTTPRemote", .product(name: "HTTPTypes", package: "swift-http-types")],
      swiftSettings: settings),
    // A remote in a bucket of an object store, without a server.
    .target(
      name: "S3Remote",
      dependencies: [
        "HTTPRemote", "RemoteWire", "Replicator", "EventStore", "OperationFormat",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    // The database of a server: orders the entries of logs, and makes a remote of an index and a place for objects.
    .target(
      name: "RemoteIndex", dependencies: ["LMDB", "Replicator", "EventStore", "OperationFormat"],
      swiftSettings: settings),
    // What a server does with requests. It opens no socket.
    .target(
      name: "RemoteService",
      dependencies: [
        "RemoteWire", "Replicator", "OperationFormat",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    // Queries for views that follow `Observable`.
    .target(name: "LiveQueries", dependencies: ["Models", "EventStore"], swiftSettings: settings),
    .target(
      name: "Tributary", dependencies: ["Models", "Replicator", "EventStore", "OperationFormat"],
      swiftSettings: settings),
    // Pages for those who change Tributary, without code.
    .target(name: "Internals"),
    // Runs other programs, for the tool and the tests.
    .target(name: "ChildProcesses", swiftSettings: settings),
    .target(
      name: "StoreTesting",
      dependencies: [
        "ChildProcesses", "HTTPRemote", "RemoteService", "Replicator", "EventStore", "OperationFormat",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Yams", package: "Yams"),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "ReplayTool",
      dependencies: [
        "ChildProcesses", "HTTPRemote", "S3Remote", "URLSessionTransport", "Replicator", "EventStore",
        "OperationFormat", "StoreTesting", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    // Measures the sources, and plants known bugs in a copy of them.
    .executableTarget(
      name: "House",
      dependencies: ["ChildProcesses", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      path: "Tests/House", swiftSettings: settings),
    .testTarget(
      name: "HouseTests", dependencies: ["House"], exclude: ["PublicFace"], swiftSettings: settings),
    .testTarget(name: "LMDBTests", dependencies: ["LMDB"], swiftSettings: settings),
    .testTarget(
      name: "OperationFormatTests", dependencies: ["OperationFormat"], exclude: ["Golden"],
      swiftSettings: settings),
    // The store's tests start it as a separate process, to kill it.
    .executableTarget(
      name: "CrashWriter", dependencies: ["EventStore", "OperationFormat"], path: "Tests/CrashWriter",
      swiftSettings: settings),
    .testTarget(
      name: "EventStoreTests",
      dependencies: [
        "ChildProcesses", "EventStore", "LMDB", "OperationFormat", "StoreTesting", "CrashWriter",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ReplicatorTests",
      dependencies: [
        "ChildProcesses", "RemoteService", "Replicator", "EventStore", "LMDB", "OperationFormat",
        "StoreTesting",
        "RemoteWriter", .product(name: "Logging", package: "swift-log"),
      ],
      exclude: ["Golden", "Scripts"], swiftSettings: settings),
    // The replicator's tests start it as separate processes: many at one remote, some of which they kill.
    .executableTarget(
      name: "RemoteWriter", dependencies: ["Replicator", "EventStore", "OperationFormat", "StoreTesting"],
      path: "Tests/RemoteWriter", swiftSettings: settings),
    .testTarget(
      name: "HTTPTests",
      dependencies: [
        "HTTPRemote", "RemoteIndex", "RemoteService", "RemoteWire", "Replicator", "EventStore",
        "OperationFormat",
        "StoreTesting",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "S3Tests",
      dependencies: [
        "ChildProcesses", "HTTPRemote", "S3Remote", "URLSessionTransport", "Replicator", "EventStore",
        "OperationFormat", "StoreTesting", .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "StoreTestingTests",
      dependencies: ["ChildProcesses", "StoreTesting", "EventStore", "OperationFormat"],
      swiftSettings: settings),
    .testTarget(
      name: "ModelsTests",
      dependencies: [
        "Tributary", "LiveQueries", "Models", "Replicator", "EventStore", "OperationFormat", "StoreTesting",
      ],
      swiftSettings: settings),
    // A model of the rules by which logs that went back are filled again. It has nothing of the engine.
    .testTarget(name: "ExhaustiveModels", path: "Tests/Models", swiftSettings: settings),
    // The code of the documentation's pages, built like an app: with only the public API, and without our settings.
    .testTarget(
      name: "PageExamples",
      dependencies: [
        "StoreTesting", "Tributary", "LiveQueries", "Replicator", "EventStore", "GettingStarted",
      ],
      packageAccess: false),
    // The program of the page Getting started: a program, because the page shows all of it.
    .executableTarget(
      name: "GettingStarted", dependencies: ["Tributary"], path: "Tests/GettingStarted", packageAccess: false),
    // The example apps, which are a package of their own too. Like an app, they have only the public API and none of our
    // settings.
    .executableTarget(
      name: "Family", dependencies: ["Tributary"], path: "Examples/Sources/Family", packageAccess: false),
    .executableTarget(
      name: "Notes", dependencies: ["Tributary"], path: "Examples/Sources/Notes", packageAccess: false),
    .testTarget(
      name: "ReplayToolTests",
      dependencies: [
        "ChildProcesses", "ReplayTool", "S3Remote", "Models", "EventStore", "OperationFormat", "StoreTesting",
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
