import LMDB
public import OperationFormat

/// The operations of one write, while its closure runs. The verbs of ``RecordReading`` see what it has done
/// so far.
///
/// A write that touches several zones makes a transaction in each. If the closure throws, nothing is written.
///
/// ```swift
/// try await store.write { tx in
///   try tx.create(task, type: "task")
///   try tx.set("title", of: task, to: "Buy milk")
/// }
/// ```
public struct WriteTransaction: ~Copyable, RecordReading {
  /// Who made the change, if the app says so. At most 255 bytes of UTF-8.
  public var author: String?
  /// What the change is, in the app's words. At most 1,024 bytes of UTF-8.
  public var label: String?
  /// The version of the app's schema that the write was made under.
  public var schemaVersion: UInt64?

  let write: LocalWrite

  init(_ write: LocalWrite) { self.write = write }

  /// What the write puts into the log: known once it is committed. The closure returns it, or keeps it.
  public var written: Written { write.makeWritten() }

  /// How many operations each transaction of the write has so far, in the order of the log.
  package var operationCounts: [Int] { write.operationCounts }

  /// The zones in which the write has operations.
  package var changedZones: [ZoneID] { write.changedZones }

  /// How much of the limits on operations, bytes and work in a zone the write has used: 0 for none, 1 for
  /// all.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func fullness(in zone: ZoneID) throws -> Double {
    try write.draft(for: zone).fullness
  }

  // MARK: Zones

  /// Makes a zone if the store has none of that name. It is local until it is attached to a remote.
  ///
  /// - Returns: whether it is new.
  /// - Throws: ``StoreError`` `nameInvalid`.
  @discardableResult
  public mutating func createZone(_ zone: ZoneID) throws -> Bool {
    try zone.check()
    return try write.makeZone(zone)
  }

  /// Lets a zone be synced from now on, with all its history. Does nothing if it is synced already.
  ///
  /// A zone that the remote only offers is fetched by the next round. One that was synced before continues; if the remote
  /// has deleted its log since, or does not have it, the next round makes it again there, for everybody, with what is
  /// here.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public mutating func attachZone(_ zone: ZoneID) throws { try write.attachZone(zone) }

  /// Ends the sync of a zone: it stays here with all its records and history, as a local zone. The remote and other
  /// stores keep theirs. Does nothing if the zone is not synced.
  ///
  /// ``attachZone(_:)`` lets it be synced again. What was written meanwhile is sent then, and what others wrote arrives.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public mutating func detachZone(_ zone: ZoneID) throws { try write.detachZone(zone) }

  /// Removes the copy of a synced zone here, and nowhere else. The zone is gone from every query, and is `offered`:
  /// ``attachZone(_:)`` lets it be fetched again.
  ///
  /// A replicator that syncs all zones of its remote fetches it again in its next round: use this with
  /// `ZoneSelection.attached`. The space is free after ``LocalStore/reclaim(progress:)``.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`; `unsettled` if the remote does not have all of the zone, as far as this
  ///   store knows.
  public mutating func evictZone(_ zone: ZoneID) throws { try write.evictZone(zone) }

  /// Deletes a zone with all its records and history, including what was never shipped.
  ///
  /// It is gone from every query at once. A synced zone is also deleted at every other store, once a replicator has told the
  /// remote, which keeps the zone's closed log, without assets and snapshots. A detached zone is deleted only here: a
  /// replicator that syncs all zones of its remote fetches that one in its next round. A zone that is made later under that
  /// name is another zone.
  /// The space is free after ``LocalStore/reclaim(progress:)``.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public mutating func deleteZone(_ zone: ZoneID) throws { try write.deleteZone(zone) }

  // MARK: Mutations

  /// A name for a new record, which no other record has: a UUID of version 7, so that the names sort in
  /// the order in which they were made.
  public mutating func makeName() -> Name { write.makeName() }

  /// Creates a record. If a deleted record had the name, the new one starts without its fields.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `recordExists`, `nameInvalid`, `valueInvalid`,
  ///   `transactionTooLarge`.
  public mutating func create(_ record: RecordID, type: Name, fields: [Name: Value] = [:]) throws {
    try write.create(record, type: type)
    for (field, value) in fields.sorted(by: { $0.key < $1.key }) { try set(field, of: record, to: value) }
  }

  /// Sets a field of a record. It replaces all values that this store has seen.
  ///
  /// Bytes over ``StoreConfiguration/assetThresholdBytes`` become an asset: see <doc:KeepingAssets>.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `recordUnknown`, `nameInvalid`, `valueInvalid`,
  ///   `transactionTooLarge`; `assetMissing` for an asset that is neither here nor named by anything.
  public mutating func set(_ field: Name, of record: RecordID, to newValue: Value) throws {
    try write.set(field, of: record, to: newValue)
  }

  /// As ``set(_:of:to:)``, but bytes stay a value: what reads the field finds bytes in it.
  ///
  /// - Throws: as ``set(_:of:to:)``; `valueInvalid` for more than 1 MiB.
  package mutating func setWithoutAsset(_ field: Name, of record: RecordID, to newValue: Value) throws {
    try write.set(field, of: record, to: newValue, makesAsset: false)
  }

  /// Checks that an element of a list or a map does not become an asset, which would not read as bytes.
  ///
  /// - Throws: ``StoreError`` `valueInvalid`.
  package func checkStaysValue(_ element: Value) throws {
    guard case .bytes(let bytes) = element, bytes.count > write.assetThresholdBytes else { return }
    throw StoreError(
      .valueInvalid, "an element has \(bytes.count) bytes; at most \(write.assetThresholdBytes) fit",
      hint: "import the bytes as an asset, and keep its reference in the field")
  }

  /// Clears a field, of whatever kind: a register reads as null, a counter as 0, all others are empty. What
  /// other replicas add concurrently stays.
  ///
  /// - Throws: as ``set(_:of:to:)``; `kindMismatch` for contributions, which stay.
  /// - Complexity: linear in what the field has.
  public mutating func clear(_ field: Name, of record: RecordID) throws {
    let kinds = try kinds(of: field, in: record)
    if kinds.isEmpty {
      do {
        try set(field, of: record, to: .null)
      } catch let error as StoreError where error.code == .kindMismatch {
        // It is declared as another kind, and empty.
      }
    }
    let write = write
    try write.takingAnyKind { for kind in kinds { try clear(field, of: record, as: kind) } }
  }

  private mutating func clear(_ field: Name, of record: RecordID, as kind: FieldKind) throws {
    switch kind {
    case .register: try set(field, of: record, to: .null)
    case .counter: try clearCounter(field, of: record)
    case .set:
      for element in try (elements(of: field, in: record) ?? []).sorted(by: { $0.precedes($1) }) {
        try remove(element, from: field, of: record)
      }
    case .map:
      for key in try (entries(of: field, in: record) ?? [:]).keys.sorted() {
        try removeValue(at: key, from: field, of: record)
      }
    case .list:
      try removeElements(0..<count(of: field, in: record, as: .list), from: field, of: record)
    case .text: try removeText(0..<count(of: field, in: record, as: .text), from: field, of: record)
    case .contributions:
      throw StoreError(
        .kindMismatch, "the field “\(field)” of \(record) has contributions, which stay",
        hint: "contribute what takes them back")
    }
  }

  private mutating func clearCounter(_ field: Name, of record: RecordID) throws {
    while let counter = try counter(field, of: record) {
      switch counter.value {
      case .int(0): return
      // The least integer has no opposite.
      case .int(let sum): try add(.int(sum == .min ? .max : -sum), to: field, of: record)
      case .decimal(let sum):
        guard sum.coefficient != 0,
          let opposite = DecimalNumber(
            coefficient: sum.coefficient == .min ? .max : -sum.coefficient, exponent: sum.exponent)
        else { return }
        try add(.decimal(opposite), to: field, of: record)
      default: return
      }
    }
  }

  /// Deletes a record. Its fields are hidden, not removed: an update that had not seen the deletion may bring
  /// it back, depending on its type's ``ExistencePolicy``.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `recordUnknown`, `transactionTooLarge`.
  public mutating func delete(_ record: RecordID) throws {
    try write.delete(record)
  }

  // MARK: Reading

  public var reader: RecordReader {
    @_lifetime(borrow self) get throws { try write.reader() }
  }
}
