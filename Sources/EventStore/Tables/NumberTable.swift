import LMDB
import OperationFormat

/// The numbers of one kind of identity, in a transaction: ``Interner`` with its table.
struct NumberTable<Source: TableReading, Identity: Internable>: TableView {
  let source: Source
  let interner: Interner<Identity>
  let table: Table

  /// The number of an identity; nil if it has none. For a zone use ``ZoneTable/find(_:)``.
  func number(of identity: Identity) throws -> Number<Identity>? {
    try interner.number(of: identity, in: table, transaction)
  }

  /// The number of an identity, as the table has it.
  func storedNumber(of identity: Identity) throws -> Number<Identity>? {
    try interner.storedNumber(of: identity, in: table, transaction)
  }

  /// The identity of a number.
  func identity(of number: Number<Identity>) throws -> Identity {
    try interner.identity(of: number, in: table, transaction)
  }
}

extension NumberTable where Source == TableStorage {
  /// The number of an identity; a new one if it has none.
  func makeNumber(for identity: Identity) throws -> Number<Identity> {
    try interner.makeNumber(for: identity, in: table, transaction)
  }

  /// A new number for an identity, even if it has one.
  func makeNewNumber(for identity: Identity) throws -> Number<Identity> {
    try interner.makeNewNumber(for: identity, in: table, transaction)
  }

  /// A new number that names an identity, while the identity does not lead to the number.
  func makeUnnamedNumber(for identity: Identity) throws -> Number<Identity> {
    try interner.makeUnnamedNumber(for: identity, in: table, transaction)
  }

  /// Removes an identity's number. The number keeps the identity, and is never given out again.
  func removeNumber(of identity: Identity) throws {
    try interner.removeNumber(of: identity, in: table, transaction)
  }
}
