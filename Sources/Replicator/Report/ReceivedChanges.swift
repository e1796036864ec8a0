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
    guard records != nil, let zone = segments.first?.zone else { return }
    var named: [Name: Commit.Fields] = [:]
    for bytes in segments.lazy.flatMap(\.transactions) {
      transactions += 1
      guard transactions <= Self.transactionsMax, named.count <= Self.recordsMax,
        let changed = try? LogTransaction(decoding: bytes.span.bytes).changedRecords
      else { return forget() }
      named.merge(changed) { $0.joined(with: $1) }
    }
    var found: [Name] = []
    if conflicts > 0 {
      found =
        (try? store.read { tx in
          try named.keys.filter { try !tx.conflicts(of: RecordID(zone: zone, name: $0)).isEmpty }
        }) ?? []
    }
    add(named, found)
  }

  /// Adds what came after.
  mutating func add(_ more: ReceivedChanges) {
    transactions += more.transactions
    guard let added = more.records, transactions <= Self.transactionsMax else { return forget() }
    add(added, more.conflicting)
  }

  /// Says that any may have changed.
  mutating func forget() { (records, conflicting) = (nil, []) }

  private mutating func add(_ added: [Name: Commit.Fields], _ found: some Sequence<Name>) {
    guard let known = records else { return }
    let all = known.merging(added) { $0.joined(with: $1) }
    guard all.count <= Self.recordsMax else { return forget() }
    records = all
    conflicting.formUnion(found)
  }
}
