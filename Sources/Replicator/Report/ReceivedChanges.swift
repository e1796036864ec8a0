import EventStore
import OperationFormat

/// The records that received transactions change, as long as they are few.
struct ReceivedChanges: Hashable, Sendable {
  /// Nil if they are too many, or not known.
  private(set) var records: [Name: Commit.Fields]? = [:]
  /// Those of them in conflict.
  private(set) var conflicting: Set<Name> = []
  private var transactions = 0

  /// So many records are named, and so many transactions looked at, of a zone in a round.
  private static let (recordsMax, transactionsMax) = (1000, 10_000)

  /// Adds what segments change that were folded.
  ///
  /// - Parameter conflicts: how many conflicts came with them.
  mutating func add(_ segments: [RemoteSegment], conflicts: Int, in store: LocalStore) {
    guard var named = records else { return }
    for bytes in segments.lazy.flatMap(\.transactions) {
      transactions += 1
      guard transactions <= Self.transactionsMax, named.count <= Self.recordsMax,
        let changed = try? LogTransaction(decoding: bytes.span.bytes).changedRecords
      else {
        records = nil
        return
      }
      named.merge(changed) { $0.joined(with: $1) }
    }
    records = named
    guard conflicts > 0, let zone = segments.first?.zone else { return }
    let found = try? store.read { tx in
      try named.keys.filter { try !tx.conflicts(of: RecordID(zone: zone, name: $0)).isEmpty }
    }
    conflicting = Set(found ?? [])
  }

  /// Adds what came after.
  mutating func add(_ more: ReceivedChanges) {
    guard let known = records, let added = more.records, known.count + added.count <= Self.recordsMax else {
      records = nil
      return
    }
    records = known.merging(added) { $0.joined(with: $1) }
    conflicting.formUnion(more.conflicting)
  }
}
