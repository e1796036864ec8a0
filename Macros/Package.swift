// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// A separate package, so that only those who use the macro download and build swift-syntax.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
  name: "macros",
  platforms: [.macOS("26.0")],
  products: [.library(name: "RecordMacro", targets: ["RecordMacro"])],
  dependencies: [
    .package(name: "tributary", path: ".."),
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
  ],
  targets: [
    // What an app imports: the declarations of the macros, and what their expansions need.
    .target(
      name: "RecordMacro",
      dependencies: ["RecordMacroPlugin", .product(name: "Models", package: "tributary")],
      swiftSettings: settings),
    // What the compiler runs.
    .macro(
      name: "RecordMacroPlugin",
      dependencies: [
        .product(name: "SwiftParser", package: "swift-syntax"),
        .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
        .product(name: "SwiftDiagnostics", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
        .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ExpansionTests",
      dependencies: [
        "RecordMacroPlugin",
        .product(name: "SwiftDiagnostics", package: "swift-syntax"),
        .product(name: "SwiftParser", package: "swift-syntax"),
        .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
      ],
      swiftSettings: settings),
    // Built like an app: with only the public API, and without our settings.
    .testTarget(
      name: "RecordStructTests",
      dependencies: ["RecordMacro", .product(name: "Tributary", package: "tributary")], packageAccess: false),
    // The same for an app whose code is the main actor's.
    .testTarget(
      name: "MainActorTests",
      dependencies: ["RecordMacro", .product(name: "Tributary", package: "tributary")], packageAccess: false,
      swiftSettings: [.defaultIsolation(MainActor.self)]),
  ],
  swiftLanguageModes: [.v6]
)
