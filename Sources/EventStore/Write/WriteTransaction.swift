import LMDB
public import OperationFormat

/// The operations of one write, while its closure runs. The verbs of ``RecordReading`` see what it has done so far.
///
/// A write that touches several zones makes a transaction in each. If the closure throws, nothing of it remains.
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

  /// How many operations each transaction has that the write makes so far, in the order of the log.
  package var operationCounts: [Int] { write.operationCounts }

  /// How much of the operations, bytes or work that a write may have in a zone this one has: 0 for none, 1 for all.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func fullness(in zone: ZoneID) throws -> Double {
    try write.draft(for: zone).fullness
  }

  // MARK: Zones

  /// Makes a zone, local until it is attached to a remote, if the store does not have it yet.
  ///
  /// - Returns: whether it is new.
  /// - Throws: ``StoreError`` `nameInvalid`.
  @discardableResult
  public mutating func createZone(_ zone: ZoneID) throws -> Bool {
    try zone.check()
    return try write.makeZone(zone)
  }

  /// Has a zone synced from now on, with all its history. One that is synced already stays as it is.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public mutating func attachZone(_ zone: ZoneID) throws { try write.attachZone(zone) }

  /// Deletes a zone with all its records and history, also what of it was never shipped.
  ///
  /// It is gone from every query at once. A zone that is synced is deleted at its remote too, and so at every other
  /// store, once a replicator has told it. A zone that is made under the name later is another one. The space is
  /// free after ``LocalStore/reclaim(progress:)``.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public mutating func deleteZone(_ zone: ZoneID) throws { try write.deleteZone(zone) }

  // MARK: Mutations

  /// Creates a record. A record that is made anew under the name of a deleted one starts without its fields.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `recordExists`, `nameInvalid`, `valueInvalid`, `transactionTooLarge`.
  public mutating func create(_ record: RecordID, type: Name, fields: [Name: Value] = [:]) throws {
    try write.create(record, type: type)
    for (field, value) in fields.sorted(by: { $0.key < $1.key }) { try set(field, of: record, to: value) }
  }

  /// Sets a field of a record. It replaces all values that this store has seen.
  ///
  /// Bytes over ``StoreConfiguration/assetThresholdBytes`` become an asset: see <doc:KeepingAssets>.
  /// - Throws: ``StoreError`` `zoneUnknown`, `recordUnknown`, `nameInvalid`, `valueInvalid`, `transactionTooLarge`;
  ///   `assetMissing` for an asset that is neither here nor named by anything.
  public mutating func set(_ field: Name, of record: RecordID, to newValue: Value) throws {
    try write.set(field, of: record, to: newValue)
  }

  /// Clears a field: sets it to null.
  ///
  /// - Throws: as ``set(_:of:to:)``.
  public mutating func clear(_ field: Name, of record: RecordID) throws {
    try set(field, of: record, to: .null)
  }

  /// Deletes a record. Its fields are hidden, not gone: an update that had not seen the deletion may bring it
  /// back, by its type's ``ExistencePolicy``.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `recordUnknown`, `transactionTooLarge`.
  public mutating func delete(_ record: RecordID) throws {
    try write.delete(record)
  }

  // MARK: Reading

  public var reader: RecordReader { get throws { try write.reader() } }
}
