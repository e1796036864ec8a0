import Stores

/// One of those that a case compares: it takes turns with the others.
struct Participant {
  enum Name: String, CaseIterable {
    case tributary = "Tributary"
    case lmdb = "raw LMDB"
    case sqlite = "GRDB"
    /// Tributary in another way, which the case names.
    case other = "Tributary otherwise"
  }

  var name: Name
  /// How much a turn of this one does, if not as much as the others'.
  var count: Int?
  /// Not timed: makes what a turn begins with, the same each time, and warms it.
  var prepare: () async throws -> Void
  /// What is timed.
  var turn: () async throws -> Void
  /// How many bytes the turn came to, where they are what is measured.
  var bytes: (() throws -> Int)?
  /// Not timed: ends the turn, and says what it came to.
  var finish: () async throws -> [Fact: UInt64]
}

/// What a turn came to. Whoever says one of these says the same as the others who do, in every round.
enum Fact: String {
  /// A digest of all records, by their names, with their fields.
  case records
  /// A digest of LMDB's tables: every key and every value.
  case tables
  /// A sum of what was read.
  case read
}
