import LMDB
public import OperationFormat
import Synchronization

/// Reduces the contributions to a field to one value, with a function of the app.
///
/// All stores that have the same contributions get the same result, in whatever order they arrived. A
/// contribution comes after all that its operation has seen. Among those that can come next, the one with the
/// least timestamp comes first, then the least replica, epoch, sequence and index.
///
/// A reducer caches results. So a contribution that comes last costs one call of the function, and a late one
/// at most four times as many calls as contributions come after it. Make one reducer for each field, and keep
/// it as long as the store.
///
/// ```swift
/// let balance = ContributionReducer(of: "moves", initial: 0) { (balance: inout Int64, move) in
///   if case .int(let amount) = move.payload, balance + amount >= 0 { balance += amount }
/// }
/// let left = try store.read { try balance.result(of: account, in: $0) }
/// ```
///
/// The function must depend only on its arguments. It may be called again for the same contributions, and on
/// several threads at once.
public final class ContributionReducer<Result: Sendable>: Sendable {
  private struct Cache: Sendable {
    var records: [Key: Kept] = [:]
    /// How often a result was stored or used.
    var useCount: UInt64 = 0

    /// The cached result of the same commit; else takes out the cached record of an older commit.
    mutating func take(
      _ key: Key, of transactionID: UInt64
    ) -> (result: Result?, record: ReducedRecord<Result>?) {
      guard let kept = records[key], kept.record.transactionID <= transactionID else { return (nil, nil) }
      if kept.record.transactionID == transactionID {
        useCount += 1
        records[key]?.order = useCount
        return (kept.record.result, nil)
      }
      return (nil, records.removeValue(forKey: key)?.record)
    }

    mutating func keep(
      _ record: ReducedRecord<Result>, as key: Key, _ recordsMax: Int
    ) {
      if let other = records[key], other.record.transactionID > record.transactionID { return }
      useCount += 1
      records[key] = Kept(record: record, order: useCount)
      if records.count > recordsMax, let oldest = records.min(by: { $0.value.order < $1.value.order }) {
        records[oldest.key] = nil
      }
    }
  }

  private struct Kept: Sendable {
    var record: ReducedRecord<Result>
    /// Greater than that of each record that was last used before it.
    var order: UInt64
  }

  /// A record in one state of a zone. None of the numbers is ever used for another.
  private struct Key: Hashable, Sendable {
    /// Identifies the store. The reference is strong, so that no other store gets the same address.
    var store: Interner<Name>
    var zone: ZoneNumber
    var state: StateNumber
    var record: UInt32

    static func == (a: Key, b: Key) -> Bool {
      a.store === b.store && a.zone == b.zone && a.state == b.state && a.record == b.record
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(ObjectIdentifier(store))
      hasher.combine(zone)
      hasher.combine(state)
      hasher.combine(record)
    }
  }

  /// The field that is reduced.
  public let field: Name
  private let initial: Result
  private let recordsMax: Int
  private let reduce: @Sendable (inout Result, Contribution) throws -> Void
  private let cache = Mutex(Cache())

  /// Creates a reducer.
  ///
  /// - Parameters:
  ///   - field: the field that ``WriteTransaction/contribute(_:to:of:)`` works on.
  ///   - initial: the result of no contributions.
  ///   - recordsMax: how many records have cached results; the least recently used is dropped first.
  ///   - reduce: takes one contribution into the result. ``result(of:in:)`` rethrows its errors.
  public init(
    of field: Name, initial: Result, recordsMax: Int = 64,
    reduce: @escaping @Sendable (inout Result, Contribution) throws -> Void
  ) {
    self.field = field
    self.initial = initial
    self.recordsMax = max(0, recordsMax)
    self.reduce = reduce
  }

  /// The result for a record; nil if the record does not exist, or nothing was contributed to it.
  ///
  /// In a write the result counts what the write has contributed so far. It is not cached, because the write
  /// may be undone.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the function throws.
  /// - Complexity: in a read, calls the function for each new contribution and each one that comes after a
  ///   new one. A read of an older commit than the cached one, and one of several reads at once, may reduce
  ///   all contributions. A write reduces all: O(n log n) in the contributions.
  public func result(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> Result? {
    let reader = try transaction.reader
    let readView = reader.view
    guard let cell = try reader.contributionCell(field, of: record) else { return nil }
    guard readView.transaction.isReadOnly else {
      var result = initial
      let contributions = try StoreError.translating { try cell.contributions() }
      for contribution in contributions { try reduce(&result, contribution) }
      return result
    }
    let zone = try readView.states.storedRow(of: cell.state).zone
    let key = Key(store: readView.interned.names, zone: zone, state: cell.state, record: cell.record)
    let id = readView.transaction.id
    // No lock is held while the function runs: the cached record is taken out, and put back.
    var taken = cache.withLock { $0.take(key, of: id) }
    if let result = taken.result { return result }
    // It is the only reference, so the record changes in place.
    if var record = taken.record.take(), try record.update(cell, reduce) { return keep(record, as: key) }
    var made = try ReducedRecord(cell, initial: initial)
    guard try made.update(cell, reduce) else { throw StoreError.missingElement }
    return keep(made, as: key)
  }

  /// Caches a record, unless a newer one is cached, and returns its result.
  private func keep(_ record: consuming ReducedRecord<Result>, as key: Key) -> Result? {
    let result = record.result
    cache.withLock { $0.keep(record, as: key, recordsMax) }
    return result
  }
}
