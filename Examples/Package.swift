// swift-tools-version: 6.2
import PackageDescription

// A package of its own, as an app has one: it uses only what every app can use.
let package = Package(
  name: "examples",
  platforms: [.macOS("26.0")],
  products: [
    .executable(name: "Family", targets: ["Family"]), .executable(name: "Notes", targets: ["Notes"]),
  ],
  dependencies: [.package(name: "tributary", path: "..")],
  targets: [
    .executableTarget(name: "Family", dependencies: [.product(name: "Tributary", package: "tributary")]),
    .executableTarget(name: "Notes", dependencies: [.product(name: "Tributary", package: "tributary")]),
  ],
  swiftLanguageModes: [.v6]
)
