// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// A package of its own: who embeds Tributary builds no network stack.
let package = Package(
  name: "tributary-server",
  platforms: [.macOS("26.0")],
  products: [.executable(name: "tributary-server", targets: ["TributaryServer"])],
  dependencies: [
    .package(name: "tributary", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.0.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .systemLibrary(name: "CPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    // The index of many servers.
    .target(
      name: "PostgresIndex",
      dependencies: [
        "CPQ", .product(name: "RemoteIndex", package: "tributary"),
        .product(name: "Replicator", package: "tributary"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "TributaryServer",
      dependencies: [
        "PostgresIndex",
        .product(name: "S3Remote", package: "tributary"),
        .product(name: "URLSessionTransport", package: "tributary"),
        .product(name: "RemoteIndex", package: "tributary"),
        .product(name: "RemoteService", package: "tributary"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HummingbirdHTTP2", package: "hummingbird"),
        .product(name: "HummingbirdTLS", package: "hummingbird"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "Yams", package: "Yams"),
      ],
      swiftSettings: settings),
    // The tests start the server as a process.
    .testTarget(
      name: "ServerTests",
      dependencies: [
        "PostgresIndex", "TributaryServer", .product(name: "HTTPRemote", package: "tributary"),
        .product(name: "RemoteIndex", package: "tributary"),
        .product(name: "URLSessionTransport", package: "tributary"),
        .product(name: "StoreTesting", package: "tributary"),
        .product(name: "Tributary", package: "tributary"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
