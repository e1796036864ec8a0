// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that users of Tributary never download what it is compared with.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
  name: "benchmarks",
  platforms: [.macOS("26.0")],
  dependencies: [
    .package(name: "tributary", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CRawLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(
      name: "CRawZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    // Raw LMDB through its C API: records the calls that an engine makes, and makes the same calls without
    // the engine.
    .target(name: "RawLMDB", dependencies: ["CRawLMDB"]),
    .target(
      name: "Stores",
      dependencies: [
        "RawLMDB", .product(name: "EventStore", package: "tributary"),
        .product(name: "Models", package: "tributary"),
      ],
      swiftSettings: settings),
    // Without other participants and without tasks, so that a tool can count its instructions.
    .executableTarget(
      name: "Instructions",
      dependencies: [
        "Stores", .product(name: "EventStore", package: "tributary"),
        .product(name: "Models", package: "tributary"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "Bench",
      dependencies: [
        "Stores", "CRawLMDB", "CRawZstd", .product(name: "EventStore", package: "tributary"),
        .product(name: "Models", package: "tributary"),
        .product(name: "Replicator", package: "tributary"),
        .product(name: "StoreTesting", package: "tributary"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
