import EventStore
import OperationFormat

/// The oracle of one incarnation of a zone, by names. It keeps all transactions that any store made in the
/// zone, and finds the state that a store must have after it folded some of them.
///
/// Transactions are numbered from 0 in the order in which they were made. Add each as it is
/// made, so that it comes after all that it has seen.
struct ZoneModel: Sendable {
  let zone: ZoneID
  /// The incarnation of the zone's remote log; nil before it has one.
  private(set) var incarnation: IncarnationID?
  private(set) var transactions: [LogTransaction] = []
  private var oracle = Oracle()
  private var numbers: [TransactionID: Int] = [:]
  private var lanes: [Identity: Int] = [:]
  private var records: [Name: Cells] = [:]
  /// The contents of heads, by the oracle's numbers.
  private var contents: [CellHead.Content] = []

  /// A store's identity.
  private struct Identity: Hashable {
    var replica: ReplicaID
    var epoch: UInt32
  }

  /// The oracle's numbers of a record's cells.
  private struct Cells {
    var existence: Int
    /// All operations that created the record: none of them removes another.
    var creations: Int
    /// In the order of the fields' names, then their kinds, then the elements.
    var fields: [FieldCell] = []
    /// In the same order.
    var sequences: [(name: Name, kind: FieldKind, oracle: UnitOrderOracle)] = []
  }

  /// A cell of a field, or that of one element of a set or a map.
  private struct FieldCell {
    var name: Name
    var kind: FieldKind
    var element: ModelElement?
    var cell: Int

    /// Whether it is the cell.
    func isOf(_ name: Name, _ kind: FieldKind, _ element: ModelElement?) -> Bool {
      self.name == name && self.kind == kind && self.element == element
    }

    /// Whether it is ordered before the cell.
    func isBefore(_ name: Name, _ kind: FieldKind, _ element: ModelElement?) -> Bool {
      if self.name != name { return self.name < name }
      if self.kind != kind { return self.kind.rawValue < kind.rawValue }
      guard let own = self.element, let element else { return false }
      return own < element
    }
  }

  /// Creates the model of a new zone.
  init(zone: ZoneID) { self.zone = zone }

  // MARK: What happened

  /// Adds a transaction that a store has made. Returns its number, also if it is known.
  ///
  /// - Throws: ``OracleMismatch`` if it breaks a rule: its base is in another life of the log or past its
  ///   end, or another transaction has its identity.
  mutating func append(_ transaction: LogTransaction) throws(OracleMismatch) -> Int {
    precondition(transaction.zone == zone, "a transaction of \(transaction.zone) for \(zone)")
    if let known = numbers[transaction.id] {
      guard transactions[known] == transaction else {
        throw OracleMismatch(
          "transaction \(transaction.id)", expected: "\(transactions[known])", found: "\(transaction)")
      }
      return known
    }
    try check(transaction.base, of: transaction.id)
    let lane = lane(of: transaction)
    let number = oracle.append(
      OracleTransaction(
        lane: lane, sequence: Int(clamping: transaction.sequence),
        base: Int(clamping: transaction.base?.offset ?? 0), timestamp: transaction.timestamp))
    transactions.append(transaction)
    numbers[transaction.id] = number
    for (index, operation) in transaction.operations.enumerated() { add(operation, index) }
    return number
  }

  /// Notes that the remote has a transaction at an offset of its log. Offsets come in ascending order. The
  /// first offset of a transaction counts.
  mutating func place(_ number: Int, at offset: UInt64, in incarnation: IncarnationID) {
    precondition(self.incarnation ?? incarnation == incarnation, "another life of the log of \(zone)")
    self.incarnation = incarnation
    oracle.place(number, at: Int(clamping: offset))
  }

  private func check(_ base: Base?, of id: TransactionID) throws(OracleMismatch) {
    guard let base else { return }
    guard base.incarnation == incarnation, base.offset <= lastOffset else {
      throw OracleMismatch(
        "base of transaction \(id)",
        expected: "at most offset \(lastOffset) of \(incarnation.map(String.init) ?? "no remote log")",
        found: "offset \(base.offset) of \(base.incarnation)")
    }
  }

  private mutating func lane(of transaction: LogTransaction) -> Int {
    let identity = Identity(replica: transaction.replica, epoch: transaction.epoch)
    if let lane = lanes[identity] { return lane }
    var parent: OracleLane.Parent?
    if let id = transaction.parent, let lane = lanes[Identity(replica: id.replica, epoch: id.epoch)] {
      parent = OracleLane.Parent(lane: lane, through: Int(clamping: id.sequence))
    }
    let lane = oracle.openLane(
      OracleLane(replica: transaction.replica, epoch: transaction.epoch, parent: parent))
    lanes[identity] = lane
    return lane
  }

  /// Adds an operation of the last transaction to each cell that it works on.
  private mutating func add(_ operation: LogOperation, _ index: Int) {
    switch operation {
    case .create(let record, let type), .moveHere(let record, let type, _):
      addExistence(of: record, .alive(type: type), index)
      let cells = cells(of: record)
      oracle.addOperation(to: cells.creations, index: index, content: 0, isContribution: true)
      // A field that no operation has changed yet has nothing to clear.
      for field in cells.fields { oracle.addOperation(to: field.cell, index: index, content: nil) }
      for place in cells.sequences.indices { change(.clear, at: place, of: record, index) }
    case .update(let record, let type, let field, let change):
      addExistence(of: record, .alive(type: type), index)
      switch ModelChange(of: change) {
      case .cell(let effect):
        oracle.addOperation(
          to: cell(of: field, effect.kind, effect.element, in: record), index: index,
          content: effect.content.map { number(of: $0) }, isContribution: effect.isContribution)
      case .units(let units, let kind): self.change(units, of: field, kind, in: record, index)
      }
    case .delete(let record): addExistence(of: record, .dead, index)
    case .moveAway(let record, let place): addExistence(of: record, .moved(to: place), index)
    // Floors are no matter of this oracle: it keeps what they would take away.
    case .compact, .unknown: break
    }
  }

  private mutating func addExistence(of record: Name, _ content: CellHead.Content, _ index: Int) {
    oracle.addOperation(to: cells(of: record).existence, index: index, content: number(of: content))
  }

  private mutating func number(of content: CellHead.Content) -> Int {
    contents.append(content)
    return contents.count - 1
  }

  private mutating func cells(of record: Name) -> Cells {
    if let cells = records[record] { return cells }
    let cells = Cells(existence: oracle.addCell(), creations: oracle.addCell())
    records[record] = cells
    return cells
  }

  private mutating func cell(
    of field: Name, _ kind: FieldKind, _ element: ModelElement?, in record: Name
  ) -> Int {
    var cells = cells(of: record)
    let place = cells.fields.firstIndex { !$0.isBefore(field, kind, element) } ?? cells.fields.count
    if place < cells.fields.count, cells.fields[place].isOf(field, kind, element) {
      return cells.fields[place].cell
    }
    let cell = oracle.addCell()
    cells.fields.insert(FieldCell(name: field, kind: kind, element: element, cell: cell), at: place)
    records[record] = cells
    return cell
  }

  /// Adds an operation of the last transaction to a list or a text.
  private mutating func change(
    _ change: UnitChange, of field: Name, _ kind: FieldKind, in record: Name, _ index: Int
  ) {
    var cells = cells(of: record)
    let order: (Name, FieldKind) -> (Name, UInt32) = { ($0, $1.rawValue) }
    let place = cells.sequences.firstIndex { order($0.name, $0.kind) >= order(field, kind) }
    if place == nil || cells.sequences[place!].name != field || cells.sequences[place!].kind != kind {
      cells.sequences.insert((field, kind, UnitOrderOracle()), at: place ?? cells.sequences.count)
      records[record] = cells
    }
    self.change(change, at: place ?? cells.sequences.count - 1, of: record, index)
  }

  private mutating func change(_ change: UnitChange, at place: Int, of record: Name, _ index: Int) {
    // Both are taken out meanwhile: what has a second owner is copied when it changes.
    guard var cells = records.removeValue(forKey: record) else { return }
    var contents: [CellHead.Content] = []
    swap(&contents, &self.contents)
    cells.sequences[place].oracle.append(
      change, of: transactions.count - 1, transactions[transactions.count - 1].id, index: index, &oracle
    ) { content in
      contents.append(content)
      return contents.count - 1
    }
    swap(&contents, &self.contents)
    records[record] = cells
  }

  // MARK: Questions

  /// The last offset of the remote log.
  var lastOffset: UInt64 { UInt64(oracle.lastOffset) }

  /// The number of a transaction, nil if none was made under this identity.
  func number(of id: TransactionID) -> Int? { numbers[id] }

  /// The first offset of a transaction in the remote log, nil while it has none.
  func place(of number: Int) -> UInt64? {
    oracle.place(of: number) > 0 ? UInt64(oracle.place(of: number)) : nil
  }

  /// The transactions that one has seen.
  func seen(by number: Int) -> TransactionSet { oracle.seen(by: number) }

  /// The records that a transaction works on, each once, in its order.
  func records(touchedBy number: Int) -> [Name] {
    var touched: [Name] = []
    for case let record? in transactions[number].operations.map(\.record) where !touched.contains(record) {
      touched.append(record)
    }
    return touched
  }

  /// The records that any transaction works on, in order.
  var recordNames: [Name] { records.keys.sorted() }

  /// The heads of a cell as a store must have them, greatest first.
  ///
  /// - Parameters:
  ///   - field: the field, nil for the record's existence.
  ///   - record: the record.
  ///   - view: what the store has.
  ///   - kind: which of the field's cells.
  func heads(
    of field: Name?, in record: Name, _ view: ZoneView, as kind: FieldKind = .register
  ) -> [CellHead] {
    guard let cells = records[record] else { return [] }
    guard let field else { return heads(of: cells.existence, view) }
    return cells.fields.filter { $0.name == field && $0.kind == kind }
      .flatMap { heads(of: $0.cell, view, kind) }
  }

  /// All heads of a record as a store must have them.
  func heads(of record: Name, _ view: ZoneView) -> RecordHeads {
    var heads = RecordHeads(name: record, existence: [], fields: [])
    guard let cells = records[record] else { return heads }
    heads.existence = self.heads(of: cells.existence, view)
    heads.creation = creation(of: cells, heads.existence, view)
    for field in cells.fields {
      let found = self.heads(of: field.cell, view, field.kind)
      if found.isEmpty { continue }
      if let last = heads.fields.last, last.name == field.name, last.kind == field.kind {
        heads.fields[heads.fields.count - 1].heads += found
      } else {
        heads.fields.append(RecordHeads.Field(name: field.name, kind: field.kind, heads: found))
      }
      switch field.kind.model.reading {
      case .heads, .sums: break
      case .payloads:
        heads.fields[heads.fields.count - 1].payloads = contributions(of: field.cell, view).compactMap(
          \.content.value)
      }
    }
    for (name, kind, sequence) in cells.sequences where !sequence.isEmpty {
      let seen = OracleView(folded: view.folded, received: view.received)
      let parts = sequence.parts(seen, oracle) { cell, _ in self.heads(of: cell, view) }
      if parts.isEmpty { continue }
      var field = RecordHeads.Field(name: name, kind: kind, heads: [], parts: parts)
      field.heads = field.items.flatMap(\.self)
      heads.fields.append(field)
    }
    heads.fields.sort { ($0.name, $0.kind.rawValue) < ($1.name, $1.kind.rawValue) }
    return heads
  }

  /// The first creation of a record by the clocks of those that made them, not after its last change.
  private func creation(of cells: Cells, _ existence: [CellHead], _ view: ZoneView) -> CellHead? {
    var found: [OracleHead] = []
    oracle.findHeads(of: cells.creations, folded: view.folded, received: view.received, into: &found)
    for index in found.indices { found[index].timestamp = transactions[found[index].transaction].timestamp }
    guard var first = found.min(by: { OracleHead.isGreater($1, $0) }) else { return nil }
    if let last = existence.first { first.timestamp = min(first.timestamp, last.timestamp) }
    return head(first, contents)
  }

  /// The contributions of a cell, in the order in which a store must return them.
  private func contributions(of cell: Int, _ view: ZoneView) -> [CellHead] {
    var found: [OracleHead] = []
    oracle.findHeads(of: cell, folded: view.folded, received: view.received, into: &found)
    return oracle.contributionOrder(found).map { self.head($0, contents) }
  }

  private func head(_ head: OracleHead, _ contents: [CellHead.Content]) -> CellHead {
    CellHead(
      operation: OperationID(transaction: transactions[head.transaction].id, index: UInt32(head.index)),
      timestamp: head.timestamp, content: contents[head.content])
  }

  private func heads(of cell: Int, _ view: ZoneView, _ kind: FieldKind = .register) -> [CellHead] {
    var found: [OracleHead] = []
    oracle.findHeads(of: cell, folded: view.folded, received: view.received, into: &found)
    // Sums get the numbers after those of the addends.
    var contents = contents
    switch kind.model.reading {
    case .heads, .payloads: break
    case .sums:
      found.mergeContributions { earlier, later in
        guard case .addend(let a) = contents[earlier], case .addend(let b) = contents[later],
          let sum = NaiveSum.sum(a, b)
        else { return nil }
        contents.append(.addend(sum))
        return contents.count - 1
      }
    }
    return found.map { head($0, contents) }
  }
}
