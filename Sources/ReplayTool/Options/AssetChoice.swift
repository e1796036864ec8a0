import EventStore

/// One of the assets that a store's log names, by the first digits of its hash.
struct AssetChoice {
  private let hash: String

  init(_ hash: String) { self.hash = hash }

  /// The asset whose hash begins so.
  func find(in opened: LocalStore) throws -> NamedAsset {
    guard !hash.isEmpty, hash.utf8.count <= 64, hash.utf8.allSatisfy({ Self.digits.contains($0) }) else {
      throw ToolError.input(
        "hashInvalid", "“\(Display.plain(hash))” is no hash",
        hint: "give the first digits of one that `replay asset list` prints")
    }
    var found: [NamedAsset] = []
    try opened.forEachAsset { asset in
      if asset.reference.hash.description.hasPrefix(hash) { found.append(asset) }
      return true
    }
    // Of one hash there may be references that say a wrong size: the file tells which is right.
    let here = found.filter(\.isHere)
    if here.count == 1 { return here[0] }
    guard here.isEmpty, let first = found.first else {
      throw ToolError(
        here.isEmpty ? "assetUnknown" : "hashAmbiguous",
        here.isEmpty
          ? "the log names no asset whose hash begins with \(hash)"
          : "\(here.count) assets have hashes that begin with \(hash)",
        hint: here.isEmpty ? "`replay asset list` lists them" : "give more of its digits", exit: .input)
    }
    return first
  }

  private static let digits = Set("0123456789abcdef".utf8)
}
