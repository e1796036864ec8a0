public import OperationFormat

/// What a store knows of a record besides its fields: who created it and changed it last, and when.
///
/// Equal ones say that nothing of the record was changed in between.
public struct SystemFields: Hashable, Sendable {
  /// The transaction that made a change, and when.
  public struct Change: Hashable, Sendable {
    /// Its sequence is 0 once the record is compacted.
    public let transaction: TransactionID
    /// By the clock of the store that made it. A last change is at most 5 minutes after the remote first received
    /// it, and a creation is at most at the time of the last change.
    public let timestamp: Timestamp

    /// Compaction keeps the writer and the time of a change, and takes its sequence away.
    public static func == (one: Change, other: Change) -> Bool {
      let (a, b) = (one.transaction, other.transaction)
      return one.timestamp == other.timestamp && a.replica == b.replica && a.epoch == b.epoch
        && (a.sequence == b.sequence || a.sequence == 0 || b.sequence == 0)
    }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(timestamp)
      hasher.combine(transaction.replica)
    }

    package init(_ head: CellHead) {
      (transaction, timestamp) = (head.operation.transaction, head.timestamp)
    }

    fileprivate init(transaction: TransactionID, timestamp: Timestamp) {
      (self.transaction, self.timestamp) = (transaction, timestamp)
    }

    /// The store that made it.
    public var replica: ReplicaID { transaction.replica }
    /// When it was made, in milliseconds since 1970.
    public var milliseconds: Int64 { Int64(timestamp.milliseconds) }
  }

  /// The change that came last; of concurrent ones, the one that wins.
  public let modified: Change
  /// The changes that are concurrent with the last one, greatest first.
  public let concurrent: [Change]
  /// Whether one of these changes is to be sent to the remote.
  public let isPending: Bool
  /// The first change that created the record, with the time by the clock of the store that did it, however wrong
  /// that is.
  package let claimedCreation: Change?

  /// The first change that created the record, or moved it to its zone, also if it was deleted since and is
  /// back. Nil if an earlier version of this library folded it, until a rebuild.
  public var created: Change? {
    claimedCreation.map {
      Change(transaction: $0.transaction, timestamp: min($0.timestamp, modified.timestamp))
    }
  }
}

extension ReadView {
  /// Who created a row's record and changed it last.
  ///
  /// - Parameter zone: the index of its zone in the cache.
  func system(of row: StoredRow, _ state: StateNumber, inZoneAt zone: Int) throws -> SystemFields {
    if row.isPacked, let packed = PackedRow(row.bytes), !packed.isExistenceInFull {
      return try system(of: packed, in: row.bytes, inZoneAt: zone)
    }
    let heads = try heads(of: .existence, in: row, state).map(\.head)
    guard let last = heads.first else { throw PackedRow.damaged(at: 0) }
    return SystemFields(
      modified: try change(last), concurrent: try heads.dropFirst().map { try change($0) },
      isPending: try heads.contains { try isPending($0.id, inZoneAt: zone) },
      claimedCreation: try row.creation().stamp.map { try change($0.head(0)) })
  }

  /// The same of a record whose existence has one head, as nearly all.
  private func system(of row: PackedRow, in bytes: RawSpan, inZoneAt zone: Int) throws -> SystemFields {
    let first = try row.stamp(0, in: bytes)
    let modified = try change(first.head(row.index))
    var created: SystemFields.Change?
    if let stamp = try row.creationForm == .first ? first : row.creation(in: bytes).stamp {
      created = stamp == first ? modified : try change(stamp.head(0))
    }
    return SystemFields(
      modified: modified, concurrent: [], isPending: try isPending(first.head(row.index).id, inZoneAt: zone),
      claimedCreation: created)
  }

  private func change(_ head: Head) throws -> SystemFields.Change {
    SystemFields.Change(
      transaction: TransactionID(
        replica: try replica(head.id.replica), epoch: head.id.epoch, sequence: head.id.sequence),
      timestamp: head.timestamp)
  }
}
