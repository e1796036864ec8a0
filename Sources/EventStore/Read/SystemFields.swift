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

    fileprivate init(_ head: Head, _ replicas: some ReplicaReading) throws {
      transaction = TransactionID(
        replica: try replicas.replicaID(head.id.replica), epoch: head.id.epoch, sequence: head.id.sequence)
      timestamp = head.timestamp
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
}

extension RecordView {
  /// Who created the record and changed it last, and when.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public var system: SystemFields { get throws { try readSystem() } }
}

extension ReadView {
  /// Who created a row's record and changed it last.
  ///
  /// - Parameter zone: the index of its zone in the cache.
  func system(of row: StoredRow, _ state: StateNumber, inZoneAt zone: Int) throws -> SystemFields {
    let heads = try row.heads(of: .existence)
    guard heads.count > 0 else { throw PackedRow.damaged(at: 0) }
    let last = heads[0].head
    let others =
      heads.total == 1
      ? [] : try self.heads(of: .existence, in: row, state).lazy.map(\.head).filter { $0 != last }
    let created = try creation(of: row, state).map { stamp in
      Head(timestamp: min(stamp.timestamp, last.timestamp), id: stamp.head(0).id)
    }
    return SystemFields(
      created: try created.map { try SystemFields.Change($0, self) },
      modified: try SystemFields.Change(last, self),
      concurrent: try others.map { try SystemFields.Change($0, self) },
      isPending: try isPending(last.id, inZoneAt: zone)
        || others.contains { try isPending($0.id, inZoneAt: zone) })
  }

  private func creation(of row: StoredRow, _ state: StateNumber) throws -> Stamp? {
    if row.isPacked {
      let packed = try PackedRow(checked: row.bytes)
      return try packed.creation.map { try packed.stamp($0, in: row.bytes) }
    }
    guard row.isWideBase else { return try row.plainCreation() }
    return try withRow(row, ofFields: [NameNumber(rawValue: 0)], state) { try $0.plainCreation() }
  }
}

extension StoredRow {
  /// The creation of the record of a row of version 1; nil if it is not known.
  fileprivate func plainCreation() throws -> Stamp? {
    let body = try RecordRow.place(of: .creation, in: bytes).body
    if body.isEmpty { return nil }
    guard let stamp = Creation.stamp(in: extracting(body)) else {
      throw PackedRow.damaged(at: body.lowerBound)
    }
    return stamp
  }
}
