/// An error of PostgreSQL, or of the connection to it.
struct PostgresError: Error, CustomStringConvertible {
  /// The five characters of SQLSTATE; empty if the connection was lost.
  var state: String
  var message: String

  var description: String { state.isEmpty ? message : "\(message) (\(state))" }

  /// Whether the connection is gone, or is to be made again.
  var endsConnection: Bool { state.isEmpty || state.hasPrefix("08") || state.hasPrefix("57P") }

  /// Whether the transaction was undone, and may succeed if it is made again: it met another, or a row that another has made
  /// at the same time.
  var isOfOthers: Bool { ["40001", "40P01", "23505"].contains(state) }

  /// Whether the database cannot be used for a while: it starts, is busy, or does not write, as a standby.
  var isTemporary: Bool {
    endsConnection || isOfOthers || ["55P03", "57014", "25006", "53300", "53400"].contains(state)
  }

  /// Whether there is no room.
  var isOfRoom: Bool { ["53100", "53200"].contains(state) }
}
