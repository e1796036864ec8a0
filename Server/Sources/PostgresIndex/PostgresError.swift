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
  var isTransactionConflict: Bool { ["40001", "40P01", "23505"].contains(state) }

  /// Whether the database cannot be used for a while: it starts, is busy, or does not write, as a standby.
  var isTemporary: Bool {
    endsConnection || isTransactionConflict
      || ["55P03", "57014", "25006", "53200", "53300", "53400"].contains(state)
  }

  var isStorageFull: Bool { state == "53100" }
  /// Whether a row has what no row may have.
  var isDamage: Bool { state.hasPrefix("XX") }
  /// Whether the address is no connection string. Its own text is not told: it may have a password.
  static let addressInvalid = PostgresError(
    state: "", message: "the address is no connection string of PostgreSQL")
}
