import LMDB
package import OperationFormat
import Synchronization

/// An identity that the store keeps once, and names by a number.
protocol Internable: Hashable, Sendable {
  /// The identity as the key of its number. At most 258 bytes.
  func appendInterned(to key: inout TableKey)
  /// Whether it is short enough to be stored.
  var canBeInterned: Bool { get }
  init(interned bytes: RawSpan) throws(FormatError)
}

extension Internable {
  var canBeInterned: Bool { true }
}

/// Numbers of one kind of identity, in a table: 0 and the number → the identity; 1 and the identity → the
/// number.
///
/// It caches what it has read. Except for the numbers of zones, what was committed never changes, so all
/// readers of a store share a cache. The writer has its own one, which is undone with its transactions.
final class Interner<Identity: Internable>: Sendable {
  struct Cache: Sendable {
    fileprivate var numbers: [Identity: Number<Identity>] = [:]
    fileprivate var identities: [Number<Identity>: Identity] = [:]

    fileprivate mutating func remember(_ identity: Identity, _ number: Number<Identity>) {
      numbers[identity] = number
      identities[number] = identity
    }
  }

  private let mutex = Mutex(Cache())
  private let changes = Atomic<Int>(0)

  init() {}

  var cache: Cache {
    get { mutex.withLock { $0 } }
    set { change { $0 = newValue } }
  }

  /// How often the cache has changed.
  var changeCount: Int { changes.load(ordering: .relaxed) }

  private func change(_ body: (inout Cache) -> Void) {
    mutex.withLock { body(&$0) }
    changes.wrappingAdd(1, ordering: .relaxed)
  }

  /// The number of an identity; nil if it has none. Not for zones, whose cached numbers are hints:
  /// see ``ZoneTable/find(_:)``.
  func number(
    of identity: Identity, in table: Table, _ transaction: borrowing Transaction
  ) throws -> Number<Identity>? {
    if let number = cachedNumber(of: identity) { return number }
    return try storedNumber(of: identity, in: table, transaction)
  }

  /// The number that an identity had last.
  func cachedNumber(of identity: Identity) -> Number<Identity>? {
    mutex.withLock { $0.numbers[identity] }
  }

  /// The number of an identity, as the table has it.
  func storedNumber(
    of identity: Identity, in table: Table, _ transaction: borrowing Transaction
  ) throws -> Number<Identity>? {
    guard identity.canBeInterned else { return nil }
    let key = Self.key(identity)
    let found = try transaction.withCheckedValue(of: key, in: table) { row in
      var reader = ByteReader(row)
      return Number<Identity>(rawValue: try reader.readUInt32Varint("number"))
    }
    if let found { change { $0.remember(identity, found) } }
    return found
  }

  /// The number of an identity; a new one if it has none.
  func makeNumber(
    for identity: Identity, in table: Table, _ transaction: borrowing Transaction
  ) throws -> Number<Identity> {
    if let number = try number(of: identity, in: table, transaction) { return number }
    return try makeNewNumber(for: identity, in: table, transaction)
  }

  /// A new number for an identity, even if it has one.
  func makeNewNumber(
    for identity: Identity, in table: Table, _ transaction: borrowing Transaction
  ) throws -> Number<Identity> {
    let number = try makeUnnamedNumber(for: identity, in: table, transaction)
    var writer = ByteWriter()
    writer.append(varint: UInt64(number.rawValue))
    let key = Self.key(identity)
    writer.appendChecksum(under: key.span)
    try transaction.put(writer.span, for: key.span, in: table)
    change { $0.remember(identity, number) }
    return number
  }

  /// A new number that names an identity, while the identity does not lead to the number: as after
  /// ``removeNumber(of:in:_:)``. If the identity has a number, it keeps it.
  func makeUnnamedNumber(
    for identity: Identity, in table: Table, _ transaction: borrowing Transaction
  ) throws -> Number<Identity> {
    precondition(identity.canBeInterned, "an identity was not checked before it came here")
    let number = Number<Identity>(rawValue: try Self.lastNumber(in: table, transaction) + 1)
    let numberKey = Self.key(number)
    var writer = ByteWriter()
    writer.append(Self.key(identity).span.extracting(1...))
    writer.appendChecksum(under: numberKey.span)
    try transaction.put(writer.span, for: numberKey.span, in: table)
    return number
  }

  /// The identity of a number.
  func identity(
    of number: Number<Identity>, in table: Table, _ transaction: borrowing Transaction
  ) throws -> Identity {
    if let identity = mutex.withLock({ $0.identities[number] }) { return identity }
    let key = Self.key(number)
    let found = try transaction.withCheckedValue(of: key, in: table) { row in try Identity(interned: row) }
    guard let found else {
      throw StoreError(
        .damaged, "the store has no identity for \(Identity.self) number \(number.rawValue)",
        hint: StoreError.damageHint)
    }
    change { $0.remember(found, number) }
    return found
  }

  /// Removes an identity's number. The number keeps the identity, and is never given out again.
  func removeNumber(
    of identity: Identity, in table: Table, _ transaction: borrowing Transaction
  ) throws {
    let key = Self.key(identity)
    _ = try transaction.delete(key.span, in: table)
    change { $0.numbers[identity] = nil }
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

  /// The last number given out; 0 if none was.
  static func lastNumber(in table: Table, _ transaction: borrowing Transaction) throws -> UInt32 {
    var cursor = try transaction.openCursor(table)
    var end = TableKey()
    end.append(UInt8(1))
    guard try cursor.seek(before: end.span) else { return 0 }
    return try cursor.withCheckedEntry { key, _ in try key.bigEndian32(at: 1) }
  }
}

/// The numbers of all identities of a store.
struct Interned: Sendable {
  let zones = Interner<ZoneID>()
  let replicas = Interner<ReplicaID>()
  let incarnations = Interner<IncarnationID>()
  let names = Interner<Name>()

  init() {}

  /// What all of them have cached.
  struct Caches: Sendable {
    fileprivate var zones: Interner<ZoneID>.Cache
    fileprivate var replicas: Interner<ReplicaID>.Cache
    fileprivate var incarnations: Interner<IncarnationID>.Cache
    fileprivate var names: Interner<Name>.Cache
    /// The ``Interned/changeCount`` that they are of.
    fileprivate(set) var changeCount: Int
  }

  /// How often the caches have changed: tells whether a copy of them is current.
  var changeCount: Int {
    zones.changeCount + replicas.changeCount + incarnations.changeCount + names.changeCount
  }

  var caches: Caches {
    get {
      // Read first, so that a change in between makes the copy look older than it is.
      let changeCount = changeCount
      return Caches(
        zones: zones.cache, replicas: replicas.cache, incarnations: incarnations.cache, names: names.cache,
        changeCount: changeCount)
    }
    nonmutating set {
      zones.cache = newValue.zones
      replicas.cache = newValue.replicas
      incarnations.cache = newValue.incarnations
      names.cache = newValue.names
    }
  }
}

/// The numbers of recently used names, for one thread. It compares memory, not hashes: a repeated name is
/// most often the same text in the same memory. A miss says nothing.
struct RecentNames {
  private var entries: [(name: Name, number: NameNumber)] = []
  private static let countMax = 32

  @inline(__always)
  func number(of name: Name) -> NameNumber? {
    var index = 0
    while index < entries.count {
      if entries[index].name.rawValue.hasSameRepresentation(as: name.rawValue) {
        return entries[index].number
      }
      index += 1
    }
    return nil
  }

  func name(of number: NameNumber) -> Name? {
    for entry in entries where entry.number == number { return entry.name }
    return nil
  }

  mutating func remember(_ name: Name, _ number: NameNumber) {
    if entries.count == Self.countMax { removeAll() }
    entries.append((name, number))
  }

  mutating func removeAll() { entries.removeAll(keepingCapacity: true) }
}

extension ZoneID: Internable {
  var canBeInterned: Bool {
    owner.rawValue.utf8.count <= Limits.nameBytesMax && name.rawValue.utf8.count <= Limits.nameBytesMax
  }

  func appendInterned(to key: inout TableKey) {
    key.append(UInt8(owner.rawValue.utf8.count))
    for byte in owner.rawValue.utf8 { key.append(byte) }
    for byte in name.rawValue.utf8 { key.append(byte) }
  }

  init(interned bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    let ownerBytes = Int(try reader.readUInt8("zone.owner"))
    let owner = reader.string(in: try reader.readBytes(ownerBytes, "zone.owner"))
    let name = reader.string(in: try reader.readBytes(reader.remaining, "zone.name"))
    self.init(owner: Name(owner), name: Name(name))
  }
}

extension Name: Internable {
  var canBeInterned: Bool { rawValue.utf8.count <= Limits.nameBytesMax }

  func appendInterned(to key: inout TableKey) {
    for byte in rawValue.utf8 { key.append(byte) }
  }

  init(interned bytes: RawSpan) throws(FormatError) {
    try self.init(utf8: bytes)
  }
}

extension ReplicaID: Internable {
  func appendInterned(to key: inout TableKey) { key.append(rawValue) }

  init(interned bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    self.init(rawValue: try reader.readBigEndian("identity", as: UInt128.self))
  }
}

extension IncarnationID: Internable {
  func appendInterned(to key: inout TableKey) { key.append(rawValue) }

  init(interned bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    self.init(rawValue: try reader.readBigEndian("identity", as: UInt128.self))
  }
}
