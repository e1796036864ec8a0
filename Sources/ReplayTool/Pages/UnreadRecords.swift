import EventStore

/// Records and zones that cannot be read and are not exported, with the reasons.
struct UnreadRecords {
  private var found: [(what: String, message: String)] = []
  private var known: Set<String> = []

  var isEmpty: Bool { found.isEmpty }

  /// Notes a record or a zone, once.
  ///
  /// - Parameter what: for example `record home:milk` or `zone home`.
  mutating func add(_ what: String, _ message: String) {
    if known.insert(what).inserted { found.append((what, message)) }
  }

  /// Prints them to standard error.
  ///
  /// - Parameter hint: what the user can do about them.
  func tell(_ console: Console, hint: String) throws {
    guard !isEmpty else { return }
    for (what, message) in found {
      try console.errors.line("\(Display.plain(what)) is left out: \(Display.plain(message))")
    }
    try console.errors.line(console.errors.styled("hint:", .quiet) + " " + Display.plain(hint))
  }

  var json: JSON {
    .array(found.map { .object(["what": .string($0.what), "message": .string($0.message)]) })
  }
}
