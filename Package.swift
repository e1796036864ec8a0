// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target is built with. `Lifetimes` lets our own types hold and return spans; a client that
/// depends on them needs no flag.
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
    .library(name: "OperationFormat", targets: ["OperationFormat"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
  ],
  targets: [
    .systemLibrary(
      name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .target(name: "LMDB", dependencies: ["CLMDB"], swiftSettings: settings),
    .target(
      name: "OperationFormat", dependencies: [.product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: settings),
    .testTarget(name: "LMDBTests", dependencies: ["LMDB"], swiftSettings: settings),
    .testTarget(name: "OperationFormatTests", dependencies: ["OperationFormat"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
