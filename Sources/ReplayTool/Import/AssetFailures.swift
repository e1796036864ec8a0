import EventStore

/// Assets that could not be copied or imported, with the reasons.
struct AssetFailures {
  private var found: [(asset: AssetReference, message: String)] = []
  private var assets: Set<AssetReference> = []

  var isEmpty: Bool { found.isEmpty }

  func contains(_ asset: AssetReference) -> Bool { assets.contains(asset) }

  mutating func add(_ asset: AssetReference, _ message: String) {
    found.append((asset, message))
    assets.insert(asset)
  }

  /// Prints them to standard error.
  ///
  /// - Parameter hint: what the user can do about them.
  func tell(_ console: Console, hint: String) throws {
    guard !isEmpty else { return }
    for failure in found {
      try console.errors.line(
        "asset \(failure.asset.hash) is left out: \(Display.plain(failure.message))")
    }
    try console.errors.line(console.errors.styled("hint:", .quiet) + " " + Display.plain(hint))
  }

  var json: JSON {
    .array(found.map { .object(["hash": .text($0.asset.hash), "message": .string($0.message)]) })
  }
}
