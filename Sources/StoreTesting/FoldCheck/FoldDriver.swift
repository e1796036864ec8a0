import EventStore
import OperationFormat

/// Drives one fold over generated transactions, as a store's write batch does.
final class FoldDriver {
  let history: FoldHistory
  let knowledge: FoldKnowledge
  let storage: MemoryFoldStorage
  private(set) var fold: Fold<MemoryFoldStorage>
  /// The transactions that were folded.
  var folded = TransactionSet()

  init(_ knowledge: FoldKnowledge, tiesByNumber: Bool = false) {
    history = knowledge.history
    self.knowledge = knowledge
    storage = knowledge.makeStorage(tiesByNumber: tiesByNumber)
    fold = Fold(storage: storage)
  }

  var numbering: FoldNumbering { knowledge.numbering }

  // MARK: Verbs

  /// Folds a transaction.
  ///
  /// - Parameters:
  ///   - base: the offset that it is said to have seen; its own if nil.
  ///   - seesAll: whether it is known to have seen all that is there.
  ///   - firstIndex: the index of its first operation.
  func fold(
    _ number: Int, effective: Timestamp, base: Int? = nil, seesAll: Bool = false, firstIndex: Int = 0,
    fault: FoldCheckFault? = nil
  ) throws {
    let transaction = history.transactions[number]
    fold.viewpoint = viewpoint(of: transaction, base: base ?? transaction.base, fault)
    fold.viewpoint.seesAllPlaced = seesAll
    fold.timestamp = effective
    if effective != transaction.timestamp { history.coverage.capped += 1 }
    history.coverage.folds += 1
    for (offset, operation) in transaction.operations.enumerated() {
      try apply(operation, UInt32(firstIndex + offset))
    }
    folded.insert(number)
  }

  /// Gives the heads of a transaction another timestamp.
  ///
  /// - Returns: whether a winner changed.
  func retime(_ number: Int, to effective: Timestamp) throws -> Bool {
    let transaction = history.transactions[number]
    let viewpoint = viewpoint(of: transaction, base: transaction.base, nil)
    history.coverage.retimed += 1
    var hasChanged = false
    for (index, operation) in transaction.operations.enumerated() {
      let name = FoldNumbering.records[Int(operation.record)]
      var operand = ByteWriter()
      var (kind, field) = (operation.kind == .create ? OperationKind.create : .delete, NameNumber.none)
      if operation.kind.hasField {
        try operation.change.encode(into: &operand)
        (kind, field) = (operation.change.kind, numbering.number(ofField: Int(operation.field)))
      }
      let moved = try fold.retime(
        kind, field, operand: operand.span, index: UInt32(index), of: name.span.bytes,
        in: FoldNumbering.state, transaction: viewpoint, to: effective)
      hasChanged = hasChanged || moved
    }
    return hasChanged
  }

  /// Writes what changed.
  func flush() throws { try fold.flush() }

  /// Writes what changed and forgets the row at hand, as from one LMDB transaction to the next.
  func restart() throws {
    try fold.flush()
    fold.reset()
  }

  /// Puts other rows in the place of the storage's.
  func replace(_ contents: MemoryFoldStorage.Contents, folded: TransactionSet) {
    fold.reset()
    storage.contents = contents
    self.folded = folded
  }

  /// Writes again the element rows that were there before and are no longer.
  func bringBack(_ before: MemoryFoldStorage.Contents) {
    for element in before.elements where storage.readElement(ElementKey(bytes: element.key)) == nil {
      storage.writeElement(element.row.span.bytes, ElementKey(bytes: element.key))
    }
  }

  /// The heads of a cell by the fold's own reading, nil if there is no such record.
  func heads(of record: Int, _ field: Int) throws -> [OwnedHead]? {
    let name = FoldNumbering.records[record]
    guard try fold.find(name.span.bytes, in: FoldNumbering.state) else { return nil }
    return try fold.heads(of: path(field))
  }

  func path(_ cell: Int) -> CellPath { numbering.path(cell, history.cells) }

  // MARK: Helpers

  private func apply(_ operation: FoldOperation, _ index: UInt32) throws {
    let name = FoldNumbering.records[Int(operation.record)]
    let state = FoldNumbering.state
    switch operation.kind {
    case .create:
      try fold.createInMemory(
        name.span.bytes, in: state, type: numbering.number(ofType: Int(operation.type)), index: index)
    case .delete:
      try fold.deleteInMemory(name.span.bytes, in: state, index: index)
    default:
      var operand = ByteWriter()
      try operation.change.encode(into: &operand)
      try fold.changeInMemory(
        operation.change.kind, numbering.number(ofField: Int(operation.field)), of: name.span.bytes,
        in: state,
        type: numbering.number(ofType: Int(operation.type)), operand: operand.span, index: index)
    }
  }

  private func viewpoint(of transaction: FoldTransaction, base: Int, _ fault: FoldCheckFault?) -> Viewpoint {
    let lane = history.lanes[transaction.lane]
    var viewpoint = Viewpoint(
      zone: FoldNumbering.zone, replica: numbering.number(ofIdentity: lane.identity), epoch: lane.epoch,
      sequence: UInt64(transaction.sequence),
      base: base == 0 ? nil : (FoldNumbering.incarnation, UInt64(base)))
    var at = lane
    while let parent = at.parent, fault != .lineageDropped {
      at = history.lanes[parent.lane]
      let through = parent.through + (fault == .lineageTooLong ? 1 : 0)
      viewpoint.lineage.append((numbering.number(ofIdentity: at.identity), at.epoch, UInt64(through)))
    }
    return viewpoint
  }
}
