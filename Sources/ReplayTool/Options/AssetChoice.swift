import EventStore

/// Finds one of the assets in a store's log by the first digits of its hash.
struct AssetChoice {
  private let hash: String

  init(_ hash: String) { self.hash = hash }

  /// The asset whose hash starts with these digits.
  func find(in opened: LocalStore) throws -> NamedAsset {
    guard !hash.isEmpty, hash.utf8.count <= 64, hash.utf8.allSatisfy({ Self.digits.contains($0) }) else {
      throw ToolError.input(
        "hashInvalid", "“\(Display.plain(hash))” is not a hash",
        hint: "give the first digits of a hash that `replay asset list` prints")
    }
    var found: [NamedAsset] = []
    try opened.forEachAsset { asset in
      if asset.reference.hash.description.hasPrefix(hash) { found.append(asset) }
      return true
    }
    // Several references may have the same hash and different sizes: the file shows which size is right.
    let here = found.filter(\.isHere)
    if here.count == 1 { return here[0] }
    guard here.isEmpty, let first = found.first else {
      throw ToolError(
        here.isEmpty ? "assetUnknown" : "hashAmbiguous",
        here.isEmpty
          ? "the log refers to no asset whose hash starts with \(hash)"
          : "\(here.count) assets have hashes that start with \(hash)",
        hint: here.isEmpty ? "`replay asset list` lists them" : "give more of its digits", exit: .input)
    }
    return first
  }

  private static let digits = Set("0123456789abcdef".utf8)
}
