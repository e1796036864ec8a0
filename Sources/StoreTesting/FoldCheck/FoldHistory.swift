import EventStore
import OperationFormat

/// Everything that happened in one sequence: the lanes, their transactions and the remote log.
final class FoldHistory {
  let identities: [ReplicaID]
  let records: Int
  let cells: FoldCells
  /// How many heads of a cell may have their own rows before they need an index. In many sequences it is 0,
  /// so that few heads get an index.
  let scannedHeadsMax: Int
  /// The size in bytes from which a row is divided into blocks. In many sequences it is small.
  let wholeRowBytesMax: Int
  /// The largest size of the nodes of lists and texts, in bytes. In half of the sequences it is small, so
  /// that there are many nodes.
  let nodeBytesMax: Int
  /// After how many steps of an operation the fold writes its rows and continues; nil for no bound.
  let foldStepsMax: Int?
  /// What the fold adds to the sequences of the history, so that some addends of a lane share a row, and others
  /// do not.
  let sequencesBefore: UInt64
  private(set) var lanes: [FoldLane] = []
  private(set) var transactions: [FoldTransaction] = []
  /// The remote log; the first has offset 1.
  private(set) var segments: [FoldSegment] = []
  /// Its lanes and transactions have the same numbers as here.
  private(set) var oracle = Oracle()
  /// The oracle's cell of each record's creations, which no operation removes.
  private var creations: [Int] = []
  var coverage = FoldCheckCoverage()
  /// The lists and texts, in the order in which they were first changed.
  private(set) var sequences: [(name: FoldSequence, oracle: UnitOrderOracle)] = []
  /// What the heads of lists' elements say, by the oracle's numbers.
  private var contents: [CellHead.Content] = []

  init(_ schedule: FoldSchedule) {
    identities = schedule.makeIdentities()
    records = schedule.records
    scannedHeadsMax = [0, 1, 8][Int(schedule.seed % 3)]
    wholeRowBytesMax = [WideRow.wholeBytesMax, WideRow.wholeBytesMax, 0, 80][Int(schedule.seed / 3 % 4)]
    foldStepsMax = [nil, 1, 24][Int(schedule.seed / 12 % 3)]
    nodeBytesMax = [UnitOrderLimits().nodeBytesMax, 64][Int(schedule.seed / 36 % 2)]
    sequencesBefore = [0, 61, 126][Int(schedule.seed / 72 % 3)]
    cells = FoldCells(fields: schedule.fields)
    for _ in 0..<records * (1 + cells.ofFields.count) { _ = oracle.addCell() }
    for _ in 0..<records { creations.append(oracle.addCell()) }
    transactions.reserveCapacity(16)
  }

  /// The oracle's number of a record's cell.
  func cell(_ record: Int, _ cell: Int) -> Int { record * (1 + cells.ofFields.count) + 1 + cell }

  /// Finds the heads of a cell as the oracle does. All that one transaction adds to a counter is one head.
  func findHeads(of cell: Int, in record: Int, _ view: OracleView, into heads: inout [OracleHead]) {
    if view.floors.isEmpty {
      oracle.findHeads(
        of: self.cell(record, cell), folded: view.folded, received: view.received, into: &heads)
    } else {
      let floored = flooredRecord(record, view)
      heads =
        cell < 0
        ? floored.existence
        : oracle.heads(of: self.cell(record, cell), view, floored.effects) { keep($0, of: cell) }
    }
    if cells.traits(of: cell).contains(.isSum) { heads.mergeContributions { $0 + $1 } }
  }

  /// What a floor leaves of the heads of a cell.
  private func keep(_ heads: [OracleHead], of cell: Int) -> [OracleHead] {
    let traits = cells.traits(of: cell)
    if traits.contains(.isOrdered) { return oracle.compactedContributions(heads) }
    var greatest = heads[0]
    if traits.contains(.isSum) { greatest.content = heads.reduce(0) { $0 + $1.content } }
    return [greatest]
  }

  /// What floors did to a record.
  func flooredRecord(_ record: Int, _ view: OracleView) -> Oracle.FlooredRecord {
    oracle.record(existence: cell(record, -1), creations: creations[record], view) { content in
      FoldExistence.place(content) != nil ? .moved : FoldExistence.isDead(content) ? .dead : .alive
    }
  }

  private func effects(on record: Int, _ view: OracleView) -> [Oracle.FloorEffect] {
    view.floors.isEmpty ? [] : flooredRecord(record, view).effects
  }

  /// The operation that created a record first, since it was last dropped; nil if none did.
  func creation(of record: Int, _ view: OracleView) -> OracleHead? {
    var view = view
    if let drop = effects(on: record, view).lastIndex(of: .dropped) {
      view.folded = TransactionSet(view.folded.filter { oracle.part(of: $0, view.floors) > drop })
    }
    var heads: [OracleHead] = []
    oracle.findHeads(of: creations[record], folded: view.folded, received: view.received, into: &heads)
    for index in heads.indices { heads[index].timestamp = transactions[heads[index].transaction].timestamp }
    return heads.min { OracleHead.isGreater($1, $0) }
  }

  // MARK: Verbs

  /// Opens a lane in the first epoch of an identity that is not used yet.
  func openLane(identity: Int, parent: OracleLane.Parent?) -> Int {
    let epoch = 1 + (lanes.lazy.filter { $0.identity == identity }.map(\.epoch).max() ?? 0)
    lanes.append(FoldLane(identity: identity, epoch: epoch, parent: parent))
    return oracle.openLane(OracleLane(replica: identities[identity], epoch: epoch, parent: parent))
  }

  /// Adds a transaction to a lane and gives its number; nil if there are too many.
  ///
  /// - Parameter floor: the floor that it names; nil for none.
  func append(
    _ operations: [FoldOperation], lane: Int, base: Int, timestamp: Timestamp, floor: Int? = nil
  ) -> Int? {
    guard transactions.count < FoldSchedule.transactionsMax else { return nil }
    let number = transactions.count
    lanes[lane].transactions.append(number)
    let made = OracleTransaction(
      lane: lane, sequence: lanes[lane].transactions.count, base: base, timestamp: timestamp, floor: floor)
    transactions.append(FoldTransaction(made: made, operations: operations))
    coverage.recreates += operations.count { operation in
      operation.action.isCreate && oracle.isUsed(cell(Int(operation.record), -1))
    }
    _ = oracle.append(made)
    for (index, operation) in operations.enumerated() { add(operation, index) }
    coverage.transactions += 1
    coverage.operations += operations.count
    return number
  }

  /// Adds an operation of the last transaction to each of the oracle's cells that it works on.
  private func add(_ operation: FoldOperation, _ index: Int) {
    let record = Int(operation.record)
    let existence = cell(record, -1)
    switch operation.action {
    case .create:
      oracle.addOperation(to: existence, index: index, content: Int(operation.type))
      oracle.addOperation(to: creations[record], index: index, content: 0, isContribution: true)
      for field in cells.ofFields { oracle.addOperation(to: cell(record, field), index: index, content: nil) }
    case .end(let place):
      let content = place.map { FoldExistence.moved(to: $0) } ?? FoldExistence.dead
      oracle.addOperation(to: existence, index: index, content: content)
    case .change, .edit:
      oracle.addOperation(to: existence, index: index, content: Int(operation.type))
      guard let cell = cells.cell(of: operation).map({ self.cell(record, $0) }) else { return }
      let content = Int(operation.value.rawValue)
      switch operation.kind.row.effect {
      case .replaces: oracle.addOperation(to: cell, index: index, content: content)
      case .removes: oracle.addOperation(to: cell, index: index, content: nil)
      case .adds: oracle.addOperation(to: cell, index: index, content: content, isContribution: true)
      case .edits: preconditionFailure("a cell of units has no number: \(operation)")
      }
    }
  }

  /// Adds the change that the next operation of the last transaction makes, when the replica that made it
  /// applies it.
  func didApply(_ operation: FoldOperation, _ change: FieldChange?) {
    let number = transactions.count - 1
    let index = transactions[number].changes.count
    transactions[number].changes.append(change)
    let transaction = transactions[number]
    let lane = lanes[transaction.lane]
    let id = TransactionID(
      replica: identities[lane.identity], epoch: lane.epoch,
      sequence: sequencesBefore + UInt64(transaction.sequence))
    func append(_ change: UnitChange, to place: Int) {
      sequences[place].oracle.append(change, of: number, id, index: index, &oracle) { content in
        contents.append(content)
        return contents.count - 1
      }
    }
    if operation.action.isCreate {
      for place in sequences.indices where sequences[place].name.record == Int(operation.record) {
        append(.clear, to: place)
      }
    }
    guard let name = FoldSequence(operation), let change,
      case .units(let units, _) = ModelChange(of: change)
    else { return }
    if !sequences.contains(where: { $0.name == name }) { sequences.append((name, UnitOrderOracle())) }
    for place in sequences.indices where sequences[place].name == name { append(units, to: place) }
  }

  /// The parts of a list or a text, as a view has it.
  func parts(at place: Int, _ view: OracleView) -> [UnitOrderPart] {
    let effects = effects(on: sequences[place].name.record, view)
    return sequences[place].oracle.parts(view, oracle, effects) { cell, view in
      oracle.heads(of: cell, view, effects) { [$0[0]] }.map { head in
        let id = TransactionID(replica: head.replica, epoch: head.epoch, sequence: sequence(of: head))
        return CellHead(
          operation: OperationID(transaction: id, index: UInt32(head.index)), timestamp: head.timestamp,
          content: contents[head.content])
      }
    }
  }

  /// The sequence that a head has in rows.
  func sequence(of head: OracleHead) -> UInt64 {
    head.isCompacted ? 0 : sequencesBefore + UInt64(head.sequence)
  }

  /// Appends a segment to the remote log and gives its offset.
  func append(_ segment: FoldSegment) -> Int {
    segments.append(segment)
    for sequence in segment.sequences {
      oracle.place(lanes[segment.lane].transactions[sequence - 1], at: segments.count)
    }
    return segments.count
  }

  // MARK: Questions

  /// The number of a lane's transaction.
  func number(of sequence: Int, in lane: Int) -> Int { lanes[lane].transactions[sequence - 1] }

  /// When each transaction was received at its first place in the remote log.
  var received: [Int64] {
    var received = [Int64](repeating: .max, count: transactions.count)
    for (index, segment) in segments.enumerated() {
      for sequence in segment.sequences {
        let number = number(of: sequence, in: segment.lane)
        if oracle.place(of: number) == index + 1 { received[number] = segment.receivedMilliseconds ?? .max }
      }
    }
    return received
  }

  /// Everything.
  var whole: OracleView {
    OracleView(folded: all, received: received, floors: oracle.floors(through: segments.count))
  }

  /// All transactions.
  var all: TransactionSet { TransactionSet(below: transactions.count) }
}
