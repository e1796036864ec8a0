/// The public declarations of a product: one line each.
struct PublicFace {
  /// The targets whose public declarations an app sees.
  static let targets = [
    "OperationFormat", "EventStore", "Replicator", "HTTPRemote", "URLSessionTransport", "RemoteService",
    "S3Remote", "Models", "LiveQueries", "Tributary", "StoreTesting",
  ]

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

  /// The list that must change with the public declarations, so that a reviewer reads the change.
  static func file(of target: String) -> String { "Tests/HouseTests/PublicFace/\(target).txt" }

  var text: String { lines.joined(separator: "\n") + "\n" }

  private static func plain(_ signature: String) -> String {
    var words = signature.split(separator: " ")
    words.removeAll { $0 == "public" || $0.hasPrefix("@inline") }
    return words.joined(separator: " ")
  }
}
