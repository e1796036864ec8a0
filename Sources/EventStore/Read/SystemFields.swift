public import OperationFormat

/// What a store knows of a record besides its fields: who created it and changed it last, and when.
///
/// Equal ones say that nothing of the record was changed in between.
public struct SystemFields: Hashable, Sendable {
  /// The transaction that made a change, and when.
  public struct Change: Hashable, Sendable {
    public let transaction: TransactionID
    /// By the clock of the store that made it. A last change is at most 5 minutes after the remote first received
    /// it, and a creation is at most at the time of the last change.
    public let timestamp: Timestamp

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

  /// The first change that created the record, or moved it to its zone, also if it was deleted since and is
  /// back. Nil if an earlier version of this library folded it, until a rebuild.
  public let created: Change?
  /// The change that came last; of concurrent ones, the one that wins.
  public let modified: Change
  /// The changes that are concurrent with the last one, greatest first.
  public let concurrent: [Change]
  /// Whether one of these changes is to be sent to the remote.
  public let isPending: Bool
  /// When the record was created by the clock of the store that did it, however wrong that is.
  package let claimedCreation: Timestamp?
}

extension RecordView {
  /// Who created the record and changed it last, and when.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public var system: SystemFields { get throws { try readSystem() } }
}

extension RecordReader {
  /// A copy of a record, with who created and changed it; nil if the record or its zone does not exist. It is
  /// not generic, so that typed reads need no closure for it.
  package func recordWithSystem(_ id: RecordID) throws -> (record: Record, system: SystemFields)? {
    guard let zone = try view.zoneIndexIfThere(of: id.zone) else { return nil }
    return try view.withRow(of: id) { row, state in
      guard let (type, fields) = try view.visible(row, state) else { return nil }
      let record = try view.record(id, type, in: row, from: fields, state)
      return (record, try view.system(of: row, state, inZoneAt: zone))
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
    let created = try creation(of: row)
    return SystemFields(
      created: try created.map { try change($0, atMost: last.timestamp) },
      modified: try change(last.id, last.timestamp),
      concurrent: try heads.dropFirst().map { try change($0.id, $0.timestamp) },
      isPending: try heads.contains { try isPending($0.id, inZoneAt: zone) },
      claimedCreation: created?.timestamp)
  }

  /// The same of a record whose existence has one head, as nearly all.
  private func system(of row: PackedRow, in bytes: RawSpan, inZoneAt zone: Int) throws -> SystemFields {
    let first = try row.stamp(0, in: bytes)
    let last = first.head(row.index)
    let modified = try change(last.id, last.timestamp)
    var (created, claimed): (SystemFields.Change?, Timestamp?)
    switch row.creation {
    case .unknown, .none: break
    case .stamp(0): (created, claimed) = (modified, first.timestamp)
    case .stamp(let number):
      let stamp = try row.stamp(number, in: bytes)
      (created, claimed) = (try change(stamp, atMost: last.timestamp), stamp.timestamp)
    }
    return SystemFields(
      created: created, modified: modified, concurrent: [],
      isPending: try isPending(last.id, inZoneAt: zone), claimedCreation: claimed)
  }

  private func change(_ stamp: Stamp, atMost last: Timestamp) throws -> SystemFields.Change {
    try change(stamp.head(0).id, min(stamp.timestamp, last))
  }

  private func change(_ operation: HeadID, _ timestamp: Timestamp) throws -> SystemFields.Change {
    SystemFields.Change(
      transaction: TransactionID(
        replica: try replica(operation.replica), epoch: operation.epoch, sequence: operation.sequence),
      timestamp: timestamp)
  }

  private func creation(of row: StoredRow) throws -> Stamp? {
    if row.isPacked {
      let packed = try PackedRow(checked: row.bytes)
      guard case .stamp(let number) = packed.creation else { return nil }
      return try packed.stamp(number, in: row.bytes)
    }
    let body = try RecordRow.place(of: .creation, in: row.bytes).body
    if body.isEmpty || Creation.isNone(row.extracting(body)) { return nil }
    guard let stamp = Creation.stamp(in: row.extracting(body)) else {
      throw PackedRow.damaged(at: body.lowerBound)
    }
    return stamp
  }
}
