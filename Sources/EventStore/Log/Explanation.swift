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

  /// An operation on the cell that a later one, which had seen it, has replaced or removed.
  public struct Replaced: Hashable, Sendable {
    public let operation: OperationID
    public let entry: LogEntry
    public let content: CellHead.Content
    /// The first operation in the log that replaced it.
    public let replacedBy: OperationID
    /// The position of that operation's transaction.
    public let replacedAt: Position
    /// Whether that operation removed it, and put nothing in its place.
    public let isRemoved: Bool
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
  /// what is empty, and of an element that is not there.
  public let heads: [ExplainedHead]
  /// For each loser in turn, why the winner is greater; none where nothing loses. Nothing does where all heads of a record's
  /// existence say the same.
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
    guard kind.with({ $0.showsGreatest }), !agrees else { return heads.map { _ in nil } }
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

  /// Whether this is the existence of a record of which more than one change says the same: that is no conflict.
  package var agrees: Bool { field == nil && Self.agree(heads.map(\.head)) }

  fileprivate static func agree(_ existence: [CellHead]) -> Bool {
    existence.count > 1 && existence.allSatisfy { $0.content == existence[0].content }
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
    if var cell = try cell(of: record, field, as: only) {
      if let element { cell.heads = cell.heads.filter { $0.content.element == element } }
      let found = try explain(record, [cell], element).first
      return found.flatMap { $0.heads.isEmpty && element != nil && $0.replaced.isEmpty ? nil : $0 }
    }
    // Of a set or a map that is empty only the log knows.
    for kind in FieldKind.allCases where kind.layout == .elements && (only ?? kind) == kind {
      let cell = ExplainedCell(field: field, kind: kind, heads: [])
      let found = field == nil ? nil : try explain(record, [cell], element).first
      if let found, !found.replaced.isEmpty { return found }
    }
    return nil
  }

  /// Explains a record's existence and each of its fields, those that are empty too.
  ///
  /// - Returns: existence first, then the fields in order; none if no operation in the store worked on the record.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's transactions, however many fields there are.
  package func explainAll(_ record: RecordID) throws -> [Explanation] {
    guard let existence = try cell(of: record, nil, as: nil) else { return [] }
    let fields = try fieldsWithEmptied(of: record).compactMap { try cell(of: record, $0, as: nil) }
    return try explain(record, [existence] + fields, nil)
  }

  /// A field's first cell that has anything, in the order of their kinds, or the record's existence; nil if there is none.
  private func cell(of record: RecordID, _ field: Name?, as only: FieldKind?) throws -> ExplainedCell? {
    guard let field else {
      let heads = try existence(of: record)
      return heads.isEmpty ? nil : ExplainedCell(field: nil, kind: .register, heads: heads)
    }
    for kind in FieldKind.allCases where (only ?? kind) == kind {
      let heads = try allHeads(of: field, in: record, as: kind)
      if !heads.isEmpty { return ExplainedCell(field: field, kind: kind, heads: heads) }
    }
    guard let emptied = try readView.emptiedKind(of: field, in: record), (only ?? emptied) == emptied else {
      return nil
    }
    return ExplainedCell(field: field, kind: emptied, heads: [])
  }

  private func explain(
    _ record: RecordID, _ cells: [ExplainedCell], _ element: Value?
  ) throws -> [Explanation] {
    let (isVisible, missingTarget) = try (contains(record), missingTarget(of: record))
    let (pasts, origin) = try past(of: record, cells, element)
    // One transaction may have made very many heads: they share its entry.
    var entries: [TransactionID: LogEntry] = [:]
    return try zip(cells, pasts).map { cell, past in
      let (field, heads) = (cell.field, cell.heads)
      let explained = try heads.map { head in
        let id = head.operation.transaction
        let entry = try entry(of: id, in: record.zone, &entries)
        return Explanation.ExplainedHead(
          head: head, entry: entry, base: entry.transaction.base,
          placement: try placement(of: id, in: record.zone))
      }
      // Heads of one cell of which one shows.
      let isContested =
        cell.kind.with { $0.showsGreatest }
        && (cell.kind.layout == .heads ? field != nil || !Explanation.agree(heads) : element != nil)
      return Explanation(
        record: record, field: field, kind: cell.kind, element: element,
        counter: try field.flatMap { try counter(of: cell, $0, in: record) },
        policy: try field == nil ? policy(of: heads) : nil, isVisible: isVisible,
        missingTarget: missingTarget, heads: explained,
        reasons: isContested ? heads.dropFirst().map { Explanation.reason(heads[0], $0) } : [],
        replaced: past.replaced, edits: element == nil ? past.edits : [], movedFrom: origin)
    }
  }

  /// What a counter reads, also of a record that is not visible; nil of other cells, and if nothing was added.
  private func counter(of cell: ExplainedCell, _ field: Name, in record: RecordID) throws -> Counter? {
    guard cell.kind.with({ $0.sumsHeads }) else { return nil }
    return try readView.withAnyCell(cell.kind, of: field, in: record) { cell in
      let sum = try CounterKind.sum(of: cell)
      return sum.isEmpty ? nil : sum.counter
    }
  }

  /// How a record whose existence has these heads decides between concurrent deletions and updates.
  private func policy(of existence: [CellHead]) throws -> ExistencePolicy {
    for head in existence {
      if case .alive(let type) = head.content { return try existencePolicy(of: type) }
    }
    return .latest
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

  /// The heads of a field's cell; of a text its pieces, of contributions all that was contributed, in their order.
  package func allHeads(of field: Name, in record: RecordID, as kind: FieldKind) throws -> [CellHead] {
    switch kind.with({ $0.explainedHeads }) {
    case .ofCell: try heads(of: field, in: record, as: kind)
    case .ofTextRuns: try textHeads(of: field, in: record)
    case .ofContributions: try contributionHeads(of: field, in: record)
    }
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
    try readView.contributions(of: field, inAny: record).map {
      CellHead(operation: $0.operation, timestamp: $0.timestamp, content: .contribution($0.payload))
    }
  }
}
