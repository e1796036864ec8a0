public import OperationFormat

/// Why a cell shows what it shows.
public struct Explanation: Hashable, Sendable {
  /// One head of the cell, with the transaction that made it.
  public struct ExplainedHead: Hashable, Sendable {
    public let head: CellHead
    public let entry: LogEntry
    /// What the transaction had seen: the offset up to which its replica had folded the zone. Nil for nothing.
    public let base: Base?
    /// Where the transaction lies in the remote log, nil while it is pending.
    public let placement: Placement?
  }

  /// Why one head is greater than another, neither of which had seen the other.
  public enum Reason: Hashable, Sendable {
    /// Its timestamp is later, by as many milliseconds.
    case laterTimestamp(milliseconds: UInt64)
    /// The timestamps are equal to the millisecond: its counter is greater.
    case laterCounter
    /// The timestamps are equal: its replica's identity is greater.
    case greaterReplica
    /// They are of one replica, in different epochs or transactions that have not seen each other.
    case laterSequence
  }

  /// An operation on the cell that a later one, which had seen it, has replaced.
  public struct Replaced: Hashable, Sendable {
    public let operation: OperationID
    public let entry: LogEntry
    public let content: CellHead.Content
    /// The first operation in the log that replaced it.
    public let replacedBy: OperationID
  }

  public let record: RecordID
  /// The field, nil for the record's existence.
  public let field: Name?
  /// Which of the field's cells; of a record's existence a register.
  public let kind: FieldKind
  /// What a counter reads; its heads are what was added.
  public let counter: Counter?
  /// For existence: how the record's type decides between concurrent deletions and updates.
  public let policy: ExistencePolicy?
  /// Whether the record is there.
  public let isVisible: Bool
  /// The heads, greatest first: the winner, then the losers.
  public let heads: [ExplainedHead]
  /// For each loser in turn, why the winner is greater.
  public let reasons: [Reason]
  /// What was there before, in the order of the log.
  public let replaced: [Replaced]
}

extension ReadTransaction {
  /// Explains a field of a record, or its existence.
  ///
  /// - Parameters:
  ///   - record: the record, visible or not.
  ///   - field: nil for the record's existence. Of a field that was only ever added to it explains the counter.
  /// - Returns: nil if no operation in the store worked on the cell.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's transactions, for the replaced operations.
  public func explain(_ record: RecordID, field: Name? = nil) throws -> Explanation? {
    var heads = try field.map { try self.heads(of: $0, in: record) } ?? existence(of: record)
    var kind = FieldKind.register
    if heads.isEmpty, let field {
      heads = try self.heads(of: field, in: record, as: .counter)
      kind = .counter
    }
    guard let winner = heads.first else { return nil }
    let explained = try heads.map { head in
      let id = head.operation.transaction
      guard let position = try position(of: id, in: record.zone) else {
        throw StoreError(
          .positionUnknown, "the transaction \(id) is no more in the log",
          hint: "what was retired from the log cannot be explained")
      }
      let entry = try entry(at: position)
      return Explanation.ExplainedHead(
        head: head, entry: entry, base: entry.transaction.base,
        placement: try placement(of: id, in: record.zone))
    }
    var policy: ExistencePolicy?
    if field == nil {
      policy = .latest
      for head in heads {
        guard case .alive(let type) = head.content else { continue }
        policy = try existencePolicy(of: type)
        break
      }
    }
    return Explanation(
      record: record, field: field, kind: kind,
      counter: try kind == .counter
        ? field.flatMap { try snapshot.counterSum($0, of: record)?.counter } : nil,
      policy: policy, isVisible: try contains(record), heads: explained,
      reasons: kind == .counter ? [] : heads.dropFirst().map { Self.reason(winner, $0) },
      replaced: try replaced(record, field, kind, heads))
  }

  private static func reason(_ winner: CellHead, _ loser: CellHead) -> Explanation.Reason {
    let (a, b) = (winner.timestamp, loser.timestamp)
    if a.milliseconds != b.milliseconds {
      return .laterTimestamp(milliseconds: a.milliseconds - b.milliseconds)
    }
    if a != b { return .laterCounter }
    return winner.operation.transaction.replica == loser.operation.transaction.replica
      ? .laterSequence : .greaterReplica
  }

  /// The operations on a cell that are no heads any more, each with the first one that had seen it.
  private func replaced(
    _ record: RecordID, _ field: Name?, _ kind: FieldKind, _ heads: [CellHead]
  ) throws -> [Explanation.Replaced] {
    struct Found {
      var operation: OperationID
      var entry: LogEntry
      var content: CellHead.Content?
      var replacedBy: OperationID?
    }
    var found: [Found] = []
    var standing: [Int] = []
    try history(record: record) { entry in
      for (index, operation) in entry.transaction.operations.enumerated() {
        guard operation.record == record.name, let effect = Self.effect(of: operation, on: field, kind) else {
          continue
        }
        let id = OperationID(transaction: entry.transaction.id, index: UInt32(index))
        // What is added to a counter replaces nothing.
        if case .contribution = effect {
          standing.append(found.count)
          found.append(Found(operation: id, entry: entry, content: effect))
          continue
        }
        standing = try standing.filter { earlier in
          guard try hasSeen(entry.transaction, index, found[earlier].operation, in: record.zone) else {
            return true
          }
          found[earlier].replacedBy = id
          return false
        }
        standing.append(found.count)
        found.append(Found(operation: id, entry: entry, content: effect))
      }
      return true
    }
    let alive = Set(heads.map(\.operation))
    return found.compactMap { one in
      guard let content = one.content, let by = one.replacedBy, !alive.contains(one.operation) else {
        return nil
      }
      return Explanation.Replaced(
        operation: one.operation, entry: one.entry, content: content, replacedBy: by)
    }
  }

  /// What an operation does to a cell: nil if nothing; a content of nil if it only removes heads.
  private static func effect(
    of operation: LogOperation, on field: Name?, _ kind: FieldKind
  ) -> CellHead.Content?? {
    switch (operation, field) {
    case (.create(_, let type), nil), (.set(_, let type, _, _), nil), (.add(_, let type, _, _), nil):
      return .some(.alive(type: type))
    case (.delete, nil): return .some(.dead)
    case (.set(_, _, let name, let value), let field?) where name == field && kind == .register:
      return .some(.value(value))
    case (.add(_, _, let name, let value), let field?) where name == field && kind == .counter:
      return .some(.contribution(value))
    case (.create, .some): return .some(nil)
    default: return nil
    }
  }

  /// Whether a transaction, at one of its operations, has seen another operation.
  private func hasSeen(
    _ later: LogTransaction, _ index: Int, _ earlier: OperationID, in zone: ZoneID
  ) throws -> Bool {
    let number = try tables.zoneNumber(of: zone, interned, transaction)
    func replica(_ id: ReplicaID) throws -> ReplicaNumber {
      try interned.replicas.number(of: id, in: tables.replicas, transaction) ?? .none
    }
    var base: (incarnation: IncarnationNumber, offset: UInt64)?
    if let found = later.base {
      let incarnation = try interned.incarnations.number(
        of: found.incarnation, in: tables.incarnations, transaction)
      base = incarnation.map { ($0, found.offset) }
    }
    let own = try replica(later.replica)
    var viewpoint = Viewpoint(
      zone: number, replica: own, epoch: later.epoch, sequence: later.sequence, base: base)
    viewpoint.lineage = try tables.lineage(of: own, later.epoch, in: number, transaction)
    let id = earlier.transaction
    let head = HeadID(
      replica: try replica(id.replica), epoch: id.epoch, sequence: id.sequence, index: earlier.index)
    return try viewpoint.hasSeen(head, at: UInt32(index)) { replica, epoch, sequence, incarnation in
      try tables.placement(of: replica, epoch, sequence, in: number, incarnation, transaction)?.offset
    }
  }
}
