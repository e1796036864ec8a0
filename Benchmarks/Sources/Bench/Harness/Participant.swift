import Stores

/// A participant of a case. It takes turns with the others.
struct Participant {
  enum Name: String, CaseIterable {
    case tributary = "Tributary"
    case lmdb = "raw LMDB"
    case sqlite = "GRDB"
    /// A second variant of Tributary, which the case names.
    case other = "Tributary otherwise"
  }

  var name: Name
  /// The work of a turn, if it differs from the others'.
  var count: Int?
  /// Prepares and warms the data of a turn, the same each time. It is not timed.
  var prepare: () async throws -> Void
  /// The work that is timed.
  var turn: () async throws -> Void
  /// The number of bytes of the turn's result, if bytes are measured.
  var bytes: (() throws -> Int)?
  /// Ends the turn, and returns its results. It is not timed.
  var finish: () async throws -> [Fact: UInt64]
}

/// A result of a turn. All participants that have it must have the same value in every round.
enum Fact: String {
  /// A digest of all records, ordered by name, with their fields.
  case records
  /// A digest of LMDB's tables: every key and every value.
  case tables
  /// A sum of the data that was read.
  case read
}
