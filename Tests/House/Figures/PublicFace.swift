/// What an app that imports a product sees: one line a public declaration.
struct PublicFace {
  /// The targets whose face an app sees.
  static let targets = ["OperationFormat", "EventStore", "Replicator", "StoreTesting"]

  var lines: [String]

  init(_ tree: SourceTree) {
    var lines: Set<String> = []
    for file in tree.files {
      for one in file.declarations
      where ["public", "open"].contains(one.effectiveAccess) && one.keyword != "extension" {
        let holder = one.path.isEmpty ? "" : one.path.joined(separator: ".") + ": "
        lines.insert(holder + Self.plain(one.signature))
      }
    }
    self.lines = lines.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The list that a change of the public face must change too, so that someone reads it.
  static func file(of target: String) -> String { "Tests/HouseTests/PublicFace/\(target).txt" }

  var text: String { lines.joined(separator: "\n") + "\n" }

  private static func plain(_ signature: String) -> String {
    var words = signature.split(separator: " ")
    words.removeAll { $0 == "public" || $0.hasPrefix("@inline") }
    return words.joined(separator: " ")
  }
}
