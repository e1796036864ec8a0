import EventStore
import OperationFormat

/// Drives one fold over generated transactions, as a store's write batch does.
final class FoldDriver {
  let history: FoldHistory
  let knowledge: FoldKnowledge
  let storage: MemoryFoldStorage
  var fold: Fold<MemoryFoldStorage>
  /// The transactions that were folded.
  var folded = TransactionSet()
  /// The last floor that it has taken.
  var floor: CompactionFloor?
  /// The floors that count in what was folded.
  var floors: [OracleFloor] = []
  /// How many records the job has compacted since the last floor, in the order of their names.
  var compacted = 0

  init(_ knowledge: FoldKnowledge, tiesByNumber: Bool = false) {
    history = knowledge.history
    self.knowledge = knowledge
    storage = knowledge.makeStorage(tiesByNumber: tiesByNumber)
    fold = Fold(storage: storage)
    fold.scannedHeadsMax = history.scannedHeadsMax
    fold.orderLimits.nodeBytesMax = history.nodeBytesMax
    fold.wholeRowBytesMax = history.wholeRowBytesMax
    if history.wholeRowBytesMax < WideRow.wholeBytesMax { fold.blockBytesMax = 60 }
    if let steps = history.foldStepsMax {
      fold.bound.stepsMax = steps
      fold.bound.rowsAtOnce = 1
    }
  }

  var numbering: FoldNumbering { knowledge.numbering }

  /// What it has, for the oracle.
  var view: OracleView { OracleView(folded: folded, received: knowledge.received, floors: floors) }

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
    fold.context = context(of: transaction, base: base ?? transaction.base, fault)
    fold.context.seesAllPlaced = seesAll
    fold.timestamp = effective
    fold.claimedTimestamp = transaction.timestamp
    if effective != transaction.timestamp { history.coverage.capped += 1 }
    history.coverage.folds += 1
    if transaction.base < floors.last?.offset ?? 0 { history.coverage.lateTransactions += 1 }
    for (offset, operation) in transaction.operations.enumerated() {
      let index = UInt32(firstIndex + offset)
      // Its maker is the first to apply it.
      if history.transactions[number].changes.count == offset {
        history.didApply(operation, try resolve(operation, transaction, index))
      }
      try applyInParts(operation, history.transactions[number].changes[offset], index)
    }
    folded.insert(number)
  }

  /// Gives the heads of a transaction another timestamp.
  ///
  /// - Returns: whether a winner changed.
  func retime(_ number: Int, to effective: Timestamp) throws -> Bool {
    let transaction = history.transactions[number]
    let context = context(of: transaction, base: transaction.base, nil)
    history.coverage.retimed += 1
    var hasChanged = false
    for (index, operation) in transaction.operations.enumerated() {
      let name = FoldNumbering.records[Int(operation.record)]
      var operand = ByteWriter()
      // For the existence of a record, any kind of operation will do here.
      var (kind, field) = (OperationKind.create, NameNumber.none)
      if let change = transaction.changes[index] {
        try change.encode(into: &operand)
        (kind, field) = (change.kind, numbering.number(ofField: Int(operation.field)))
      }
      let moved = try fold.retime(
        kind, field, operand: operand.span, index: UInt32(index), of: name.span.bytes,
        in: FoldNumbering.state, transaction: context, to: effective)
      hasChanged = hasChanged || moved
    }
    return hasChanged
  }

  /// Writes what changed.
  func flush() throws { try fold.flush() }

  /// Writes what changed and drops the loaded row, as between two LMDB transactions.
  func restart() throws {
    try fold.flush()
    fold.reset()
  }

  /// Replaces the storage's rows, and what else is known of what was folded.
  func replace(_ contents: MemoryFoldStorage.Contents, as other: FoldDriver) {
    replace(contents, folded: other.folded, floors: other.floors)
    (floor, compacted) = (other.floor, other.compacted)
  }

  /// Replaces the storage's rows.
  ///
  /// - Parameter floors: those that count; the job has not begun with the last one.
  func replace(_ contents: MemoryFoldStorage.Contents, folded: TransactionSet, floors: [OracleFloor]) {
    fold.reset()
    storage.contents = contents
    self.folded = folded
    self.floors = floors
    (floor, compacted) = (floors.last.map(\.compactionFloor), 0)
  }

  /// Writes the element rows again that existed before and no longer exist.
  func bringBack(_ before: MemoryFoldStorage.Contents) {
    for element in before.elements where storage.readElement(ElementKey(bytes: element.key)) == nil {
      storage.writeElement(element.row.span.bytes, ElementKey(bytes: element.key))
    }
  }

  /// The heads of a cell as the fold reads them; nil if there is no such record.
  func heads(of record: Int, _ field: Int) throws -> [OwnedHead]? {
    let name = FoldNumbering.records[record]
    guard try fold.load(name.span.bytes, in: FoldNumbering.state) else { return nil }
    return try fold.heads(of: path(field))
  }

  func path(_ cell: Int) -> CellPath { numbering.path(cell, history.cells) }

  // MARK: Helpers

  /// Applies an operation in as many commits as it needs, like a store that folds its log again.
  private func applyInParts(_ operation: FoldOperation, _ change: FieldChange?, _ index: UInt32) throws {
    guard history.foldStepsMax != nil else { return try apply(operation, change, index) }
    fold.bound.begin(.pauses)
    defer { fold.bound.end() }
    while true {
      do {
        return try apply(operation, change, index)
      } catch is FoldBoundReached {
        history.coverage.pauses += 1
        let next = fold.bound.next
        try restart()
        fold.bound.begin(.pauses, at: next)
      }
    }
  }

  private func apply(_ operation: FoldOperation, _ change: FieldChange?, _ index: UInt32) throws {
    let name = FoldNumbering.records[Int(operation.record)]
    let state = FoldNumbering.state
    switch operation.action {
    case .create:
      try fold.createInMemory(
        name.span.bytes, in: state, type: numbering.number(ofType: Int(operation.type)), index: index)
    case .end(let number):
      var place = ByteWriter()
      if let number { try FoldExistence.places[number].encodeOtherPlace(into: &place) }
      try fold.deleteInMemory(name.span.bytes, in: state, movedTo: place.span, index: index)
    case .change, .edit:
      var operand = ByteWriter()
      guard let change else { preconditionFailure("\(operation) says nothing") }
      try change.encode(into: &operand)
      try fold.changeInMemory(
        change.kind, numbering.number(ofField: Int(operation.field)), of: name.span.bytes, in: state,
        type: numbering.number(ofType: Int(operation.type)), operand: operand.span, index: index)
    }
  }

  /// The change that an operation makes to its field, as its maker sees that field.
  private func resolve(
    _ operation: FoldOperation, _ transaction: FoldTransaction, _ index: UInt32
  ) throws -> FieldChange? {
    switch operation.action {
    case .create, .end: return nil
    case .change(let change): return change
    case .edit(let edit): return try resolve(edit, of: operation, transaction, index)
    }
  }

  private func resolve(
    _ edit: FoldEdit, of operation: FoldOperation, _ transaction: FoldTransaction, _ index: UInt32
  ) throws -> FieldChange {
    guard let name = FoldSequence(operation) else { preconditionFailure("\(operation) edits nothing") }
    let record = FoldNumbering.records[name.record]
    let isThere = try fold.load(record.span.bytes, in: FoldNumbering.state)
    let sequence = isThere ? try fold.unitOrder(of: cell(name)) : nil
    let own = fold.context
    func reference(_ unit: UnitID) -> UnitReference {
      let isOwn = unit.replica == own.replica && unit.epoch == own.epoch
      return isOwn ? UnitReference(number: unit.number) : self.reference(unit)
    }
    return try operation.change(
      edit, count: sequence?.count ?? 0, number: transaction.sequence * 8 + transaction.lane * 3 + Int(index),
      origin: { place in
        try sequence?.leftOrigin(ofVisible: place) { try fold.hasSeen($0, at: index) }.map { reference($0) }
      },
      units: { range in
        var runs: [UnitSpan] = []
        if edit.hasItems {
          try sequence?.forEachElement(in: range) { runs.append(UnitSpan(first: reference($0), count: 1)) }
        } else {
          for units in try sequence?.units(range) ?? [] {
            runs.append(UnitSpan(first: reference(units.first), count: units.count))
          }
        }
        return runs
      })
  }

  func cell(_ name: FoldSequence) -> CellNumber {
    CellNumber(numbering.number(ofField: name.field), name.kind)
  }

  /// The parts of a list or a text as the fold reads them.
  func parts(of name: FoldSequence) throws -> [UnitOrderPart] {
    let record = FoldNumbering.records[name.record]
    guard try fold.load(record.span.bytes, in: FoldNumbering.state) else { return [] }
    let cell = cell(name)
    let sequence = try fold.unitOrder(of: cell)
    let row = try storage.row(of: record.span.bytes, in: FoldNumbering.state) ?? []
    let prefix = ElementKey.items(
      of: FoldNumbering.state, record: try RecordRow.recordNumber(of: row.span.bytes), cell: cell)
    let items = try Set(storage.elements(under: prefix).map { try $0.key.item })
    var parts: [UnitOrderPart] = []
    try sequence.forEachRun { run in
      var part = UnitOrderPart(
        first: reference(run.units.first), count: run.units.count, left: run.left.map { reference($0) },
        right: run.right.map { reference($0) }, isVisible: run.isVisible,
        element: run.element.map { reference($0) }, text: run.text,
        makers: try sequence.operations(making: run.units).map {
          UnitOrderPart.Maker(sequence: $0.sequence, index: $0.index, units: $0.units.count)
        }, items: [])
      for number in run.units.first.number..<run.units.end {
        // Where the unit that an element was inserted as was dropped, its place stands for it.
        let moved = try run.isVisible ? run.element.flatMap { try sequence.isDropped($0) ? $0 : nil } : nil
        let unit = moved ?? UnitID(run.units.first.inserter, number)
        guard items.contains(unit) else { continue }
        part.items.append(
          UnitOrderPart.Item(
            number: number,
            places: try fold.itemHeads(.place, of: unit, cell).map { owned in
              head(owned, .item(reference(try ItemRow.unit(owned.head, owned.payload.span.bytes)), .null))
            },
            values: try fold.itemHeads(.value, of: unit, cell).map { owned in
              head(owned, .item(reference(unit), try Value(decoding: owned.payload.span.bytes)))
            }))
      }
      parts.append(part)
    }
    return parts
  }

  private func reference(_ unit: UnitID) -> UnitReference {
    let replica = history.identities[numbering.identity(of: unit.replica)]
    return UnitReference(maker: UnitMaker(replica: replica, epoch: unit.epoch), number: unit.number)
  }

  /// A unit of an identity, in this driver's numbers.
  func unit(_ reference: UnitReference) -> UnitID {
    guard let maker = reference.maker, let identity = history.identities.firstIndex(of: maker.replica) else {
      preconditionFailure("a unit without a maker")
    }
    return UnitID(
      replica: numbering.number(ofIdentity: identity), epoch: maker.epoch, number: reference.number)
  }

  /// A head in this driver's numbers.
  func head(_ head: CellHead) -> Head {
    let made = head.operation.transaction
    guard let identity = history.identities.firstIndex(of: made.replica) else {
      preconditionFailure("a head of nobody")
    }
    return Head(
      timestamp: head.timestamp,
      id: HeadID(
        replica: numbering.number(ofIdentity: identity), epoch: made.epoch, sequence: made.sequence,
        index: head.operation.index))
  }

  private func head(_ owned: OwnedHead, _ content: CellHead.Content) -> CellHead {
    let id = owned.head.id
    let transaction = TransactionID(
      replica: history.identities[numbering.identity(of: id.replica)], epoch: id.epoch, sequence: id.sequence)
    return CellHead(
      operation: OperationID(transaction: transaction, index: id.index), timestamp: owned.head.timestamp,
      content: content)
  }

  /// What is wrong with the rows of a list or a text.
  func problems(of name: FoldSequence) throws -> [String] {
    let record = FoldNumbering.records[name.record]
    guard try fold.load(record.span.bytes, in: FoldNumbering.state) else { return [] }
    return try fold.unitOrder(of: cell(name)).verify()
  }

  /// The contributions to a field in their order, as the fold reads them.
  func contributions(of record: Int, _ cell: Int) throws -> [ContributionKey] {
    var keys = try (heads(of: record, cell) ?? []).map {
      try ContributionKey($0.head, payload: $0.payload.span.bytes)
    }
    _ = try ContributionOrder(FoldSight(driver: self)).sort(&keys)
    return keys
  }

  /// The identities that a lane continues.
  private func lineage(
    of lane: FoldLane, _ fault: FoldCheckFault? = nil
  ) -> [LaneParent] {
    var lineage: [LaneParent] = []
    var at = lane
    while let parent = at.parent, fault != .lineageDropped {
      at = history.lanes[parent.lane]
      let through = parent.through + (fault == .lineageTooLong ? 1 : 0)
      lineage.append(
        (numbering.number(ofIdentity: at.identity), at.epoch, history.sequencesBefore + UInt64(through)))
    }
    return lineage
  }

  /// What a driver's fold knows of a zone.
  private struct FoldSight: ContributionSight {
    let driver: FoldDriver

    func replicaID(_ number: ReplicaNumber) -> ReplicaID { driver.storage.replicaID(number) }

    func lineage(
      of replica: ReplicaNumber, _ epoch: UInt32
    ) -> [LaneParent] {
      let identity = driver.numbering.identity(of: replica)
      let lane = driver.history.lanes.first { $0.identity == identity && $0.epoch == epoch }
      return lane.map { driver.lineage(of: $0) } ?? []
    }

    func offset(of head: HeadID, in incarnation: IncarnationNumber) throws -> UInt64? {
      driver.storage.offset(
        of: head.replica, head.epoch, head.sequence, in: FoldNumbering.zone, incarnation)
    }

    func hasPlaces(in incarnation: IncarnationNumber) -> Bool { !driver.history.segments.isEmpty }
  }

  private func context(of transaction: FoldTransaction, base: Int, _ fault: FoldCheckFault?) -> CausalContext
  {
    let lane = history.lanes[transaction.lane]
    var context = CausalContext(
      zone: FoldNumbering.zone, replica: numbering.number(ofIdentity: lane.identity), epoch: lane.epoch,
      sequence: history.sequencesBefore + UInt64(transaction.sequence),
      base: base == 0 ? nil : (FoldNumbering.incarnation, UInt64(base)))
    context.lineage = lineage(of: lane, fault)
    context.floor = floor
    return context
  }
}
