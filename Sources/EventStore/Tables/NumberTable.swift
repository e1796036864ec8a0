import LMDB
import OperationFormat

/// The numbers of one kind of identity, in a table: 0 and the number → the identity; 1 and the identity → the
/// number.
struct NumberTable<Source: TableReading, Identity: Internable>: TableView {
  let source: Source
  let interner: Interner<Identity>
  let table: Table

  /// The number of an identity; nil if it has none. Not for zones, whose cached numbers are hints: see
  /// ``ZoneTable/find(_:)``.
  func number(of identity: Identity) throws -> Number<Identity>? {
    if let number = interner.number(of: identity) { return number }
    return try storedNumber(of: identity)
  }

  /// The number of an identity, as the table has it.
  func storedNumber(of identity: Identity) throws -> Number<Identity>? {
    guard identity.canBeInterned else { return nil }
    let found = try transaction.withCheckedValue(of: Self.key(identity), in: table) { row in
      var reader = ByteReader(row)
      return Number<Identity>(rawValue: try reader.readUInt32Varint("number"))
    }
    if let found { interner.remember(identity, found) }
    return found
  }

  /// The identity of a number.
  func identity(of number: Number<Identity>) throws -> Identity {
    if let identity = interner.identity(of: number) { return identity }
    let found = try transaction.withCheckedValue(of: Self.key(number), in: table) { row in
      try Identity(interned: row)
    }
    guard let found else {
      throw StoreError(
        .damaged, "the store has no identity for \(Identity.self) number \(number.rawValue)",
        hint: StoreError.damageHint)
    }
    interner.remember(found, number)
    return found
  }

  /// The last number given out; 0 if none was.
  func lastNumber() throws -> UInt32 {
    var cursor = try transaction.openCursor(table)
    var end = TableKey()
    end.append(UInt8(1))
    guard try cursor.seek(before: end.span) else { return 0 }
    return try cursor.withCheckedEntry { key, _ in try key.bigEndian32(at: 1) }
  }

  private static func key(_ identity: Identity) -> TableKey {
    var key = TableKey()
    key.append(UInt8(1))
    identity.appendInterned(to: &key)
    return key
  }

  private static func key(_ number: Number<Identity>) -> TableKey {
    var key = TableKey()
    key.append(UInt8(0))
    key.append(number)
    return key
  }
}

extension NumberTable where Source == TableStorage {
  /// The number of an identity; a new one if it has none.
  func makeNumber(for identity: Identity) throws -> Number<Identity> {
    if let number = try number(of: identity) { return number }
    return try makeNewNumber(for: identity)
  }

  /// A new number for an identity, even if it has one.
  func makeNewNumber(for identity: Identity) throws -> Number<Identity> {
    let number = try makeUnnamedNumber(for: identity)
    try source.putChecked(Self.key(identity), in: table) { $0.append(varint: UInt64(number.rawValue)) }
    interner.remember(identity, number)
    return number
  }

  /// A new number that names an identity, while the identity does not lead to the number: as after
  /// ``removeNumber(of:)``. If the identity has a number, it keeps it.
  func makeUnnamedNumber(for identity: Identity) throws -> Number<Identity> {
    precondition(identity.canBeInterned, "an identity was not checked before it came here")
    let number = Number<Identity>(rawValue: try lastNumber() + 1)
    try source.putChecked(Self.key(number), in: table) {
      $0.append(Self.key(identity).span.extracting(1...))
    }
    return number
  }

  /// Removes an identity's number. The number keeps the identity, and is never given out again.
  func removeNumber(of identity: Identity) throws {
    let key = Self.key(identity)
    _ = try transaction.delete(key.span, in: table)
    interner.forgetNumber(of: identity)
  }
}
