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
    /// The position of that operation's transaction.
    public let replacedAt: Position
  }

  /// An operation that removed, replaced or moved some of what a list or a text had.
  public struct Edit: Hashable, Sendable {
    /// What it did to units: elements of a list, Unicode scalars of a text.
    public enum Kind: Hashable, Sendable {
      case removed(units: UInt64)
      case replaced
      case moved
      /// The record was made anew: all that this had seen went.
      case cleared
    }

    public let operation: OperationID
    public let entry: LogEntry
    public let kind: Kind
  }

  public let record: RecordID
  /// The field, nil for the record's existence.
  public let field: Name?
  /// Which of the field's cells; of a record's existence a register.
  public let kind: FieldKind
  /// Which element of a set, key of a map or unit of a list, as a text; nil for all.
  public let element: Value?
  /// What a counter reads; its heads are what was added.
  public let counter: Counter?
  /// For existence: how the record's type decides between concurrent deletions and updates.
  public let policy: ExistencePolicy?
  /// Whether the record is there.
  public let isVisible: Bool
  /// The record that is not alive, to which cascades lead from one that is alive, and so hide it.
  public let missingTarget: RecordID?
  /// The heads, greatest first: the winner, then the losers; of a set or a map by element; contributions in their order. None of
  /// a list or a text that is empty.
  public let heads: [ExplainedHead]
  /// For each loser in turn, why the winner is greater; none where nothing loses.
  public let reasons: [Reason]
  /// What was there before, in the order of the log; not told of lists and texts.
  public let replaced: [Replaced]
  /// What removed, replaced or moved some of a list or a text, in the order of the log.
  public let edits: [Edit]
  /// Where the record was before it was moved here, and its history goes on; nil if it was made here.
  public let movedFrom: RecordID?
}

extension Explanation {
  /// What a head has lost to.
  package struct Loss {
    package let winner: ExplainedHead
    package let reason: Reason
  }

  /// For each head the greatest of its own key or element, to which it has lost; nil for those that show.
  ///
  /// - Complexity: linear in the heads.
  package var losses: [Loss?] {
    guard [.register, .map, .list].contains(kind) else { return heads.map { _ in nil } }
    // Those of one key or element are together, greatest first.
    var winner: ExplainedHead?
    return heads.map { one in
      guard let found = winner, found.head.content.element == one.head.content.element else {
        winner = one
        return nil
      }
      return Loss(winner: found, reason: Self.reason(found.head, one.head))
    }
  }

  fileprivate static func reason(_ winner: CellHead, _ loser: CellHead) -> Reason {
    let (a, b) = (winner.timestamp, loser.timestamp)
    if a.milliseconds != b.milliseconds {
      return .laterTimestamp(milliseconds: a.milliseconds - b.milliseconds)
    }
    if a != b { return .laterCounter }
    return winner.operation.transaction.replica == loser.operation.transaction.replica
      ? .laterSequence : .greaterReplica
  }
}

extension ReadTransaction {
  /// Explains a field of a record, or its existence.
  ///
  /// - Parameters:
  ///   - record: the record, visible or not.
  ///   - field: nil for the record's existence.
  ///   - only: which of the field's cells; if nil, the first that has anything, in the order of their kinds.
  ///   - element: only this element of a set, this key of a map or this unit of a list, as a text.
  /// - Returns: nil if no operation in the store worked on the cell.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's transactions, for the replaced operations.
  public func explain(
    _ record: RecordID, field: Name? = nil, as only: FieldKind? = nil, element: Value? = nil
  ) throws -> Explanation? {
    var heads = try field == nil ? existence(of: record) : []
    var kind = FieldKind.register
    for candidate in FieldKind.allCases where heads.isEmpty && (only ?? candidate) == candidate {
      guard let field else { break }
      kind = candidate
      heads =
        try candidate == .text
        ? textHeads(of: field, in: record) : self.heads(of: field, in: record, as: candidate)
      if candidate == .contributions { heads = try contributionHeads(of: field, in: record) }
    }
    if heads.isEmpty, let field, let emptied = try snapshot.emptiedKind(of: field, in: record),
      (only ?? emptied) == emptied
    {
      kind = emptied
    } else if heads.isEmpty {
      return nil
    }
    if let element { heads = heads.filter { $0.content.element == element } }
    // Heads of one cell of which one shows.
    let isContested = kind == .register || (kind == .map || kind == .list) && element != nil
    if element != nil, heads.isEmpty { return nil }
    // One transaction may have made very many heads: they share its entry.
    var entries: [TransactionID: LogEntry] = [:]
    let explained = try heads.map { head in
      let id = head.operation.transaction
      let entry = try entry(of: id, in: record.zone, &entries)
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
    let past = try past(of: record, field, kind, element, heads)
    return Explanation(
      record: record, field: field, kind: kind, element: element,
      counter: try kind == .counter
        ? field.flatMap { try snapshot.counterSum($0, of: record)?.counter } : nil,
      policy: policy, isVisible: try contains(record), missingTarget: try missingTarget(of: record),
      heads: explained,
      reasons: isContested ? heads.dropFirst().map { Explanation.reason(heads[0], $0) } : [],
      replaced: past.replaced, edits: element == nil ? past.edits : [], movedFrom: past.origin)
  }

  private func entry(
    of id: TransactionID, in zone: ZoneID, _ known: inout [TransactionID: LogEntry]
  ) throws -> LogEntry {
    if let entry = known[id] { return entry }
    guard let position = try position(of: id, in: zone) else {
      throw StoreError(
        .positionUnknown, "the transaction \(id) is no more in the log",
        hint: "what was retired from the log cannot be explained")
    }
    let entry = try entry(at: position)
    known[id] = entry
    return entry
  }

  /// The pieces of a text in its order, each with the operation that inserted it.
  private func textHeads(of field: Name, in record: RecordID) throws -> [CellHead] {
    var timestamps: [TransactionID: Timestamp] = [:]
    return try textRuns(of: field, in: record).map { run in
      let id = run.operation.transaction
      if timestamps[id] == nil, let position = try position(of: id, in: record.zone) {
        timestamps[id] = try entry(at: position).transaction.timestamp
      }
      let timestamp = timestamps[id]
      return CellHead(
        operation: run.operation, timestamp: timestamp ?? Timestamp(rawValue: 0), content: .text(run.text))
    }
  }

  /// What was contributed, in its order.
  private func contributionHeads(of field: Name, in record: RecordID) throws -> [CellHead] {
    try snapshot.contributions(of: field, inAny: record).map {
      CellHead(operation: $0.operation, timestamp: $0.timestamp, content: .contribution($0.payload))
    }
  }
}
