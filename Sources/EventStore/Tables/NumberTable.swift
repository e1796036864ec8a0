import LMDB
import OperationFormat

/// The numbers of one kind of identity, in a transaction: ``Interner`` with its table.
struct NumberTable<Source: TableReading, Identity: Internable>: TableView {
  let source: Source
  let interner: Interner<Identity>
  let table: Table

  /// The number of an identity; nil if the store has not met it. For a zone use ``ZoneTable/find(_:)``.
  func number(of identity: Identity) throws -> Number<Identity>? {
    try interner.number(of: identity, in: table, transaction)
  }

  /// The number of an identity as the table has it, whatever is cached.
  func storedNumber(of identity: Identity) throws -> Number<Identity>? {
    try interner.storedNumber(of: identity, in: table, transaction)
  }

  /// The identity behind a number.
  func identity(of number: Number<Identity>) throws -> Identity {
    try interner.identity(of: number, in: table, transaction)
  }
}

extension NumberTable where Source == TableStorage {
  /// The number of an identity, a new one if the store has not met it.
  func makeNumber(for identity: Identity) throws -> Number<Identity> {
    try interner.makeNumber(for: identity, in: table, transaction)
  }

  /// A new number for an identity, also for one that had another.
  func makeNewNumber(for identity: Identity) throws -> Number<Identity> {
    try interner.makeNewNumber(for: identity, in: table, transaction)
  }

  /// A new number that has an identity, and by which the identity is not found.
  func makeUnnamedNumber(for identity: Identity) throws -> Number<Identity> {
    try interner.makeUnnamedNumber(for: identity, in: table, transaction)
  }

  /// Takes an identity's number from it. The number keeps the identity, and is never given out again.
  func removeNumber(of identity: Identity) throws {
    try interner.removeNumber(of: identity, in: table, transaction)
  }
}
