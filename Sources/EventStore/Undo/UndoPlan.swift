import OperationFormat

/// What takes a transaction back: found by comparing what its records have now with what they would have without it.
struct UndoPlan {
  /// One change.
  struct Step {
    enum Content {
      case revive(type: Name)
      case delete
      case change(Name, FieldChange)
    }

    let record: RecordID
    let content: Content

    /// Nil for whether the record exists.
    var field: Name? { if case .change(let field, _) = content { field } else { nil } }

    /// The element of a set or the key of a map.
    var element: Value? { if case .cell(let cell, _)? = expected { cell.element } else { nil } }

    /// What must be the same when it is written; nil if what it does needs no such care.
    var expected: Expectation?
  }

  /// What was there of a place when an undo was planned.
  enum Expectation {
    case existence([OperationID])
    case cell(UndoneCell, [OperationID])
    /// Of an element of a list.
    case item(UnitReference, UndoneUnits.Item?)
  }

  /// A record that is alive afterwards, and since when.
  struct Alive: Hashable {
    let record: RecordID
    let type: Name
    let timestamp: Timestamp
  }

  private(set) var steps: [Step] = []
  private(set) var kept: [UndoReport.Kept] = []
  /// The time of what it brings back, and of the transaction at most: a write of another store that has not seen it
  /// wins, as if what is taken back had never been.
  private(set) var timestamp: Timestamp
  /// The records that it changes, and when they were changed last without the transaction. A deletion that has not seen
  /// the undo wins if it is later than that, as if what is taken back had never been.
  private(set) var alive: [Alive] = []

  /// The records that were there when the transaction created them again.
  private var createdAgain: Set<RecordID> = []

  /// The transaction that is taken back.
  let undone: LogTransaction
  /// The authors of transactions.
  private let author: (OperationID) throws -> String?
  /// Where elements of lists were that it has moved, by the elements.
  private var formerPlaces: [PlacedElement: UnitReference] = [:]

  private struct PlacedElement: Hashable {
    let record: RecordID
    let field: Name
    let element: UnitReference
  }

  init(_ undone: LogTransaction, author: @escaping (OperationID) throws -> String?) {
    (self.undone, self.author) = (undone, author)
    timestamp = undone.timestamp
  }

  /// The operations on each record, in the order of the records' names.
  var operations: [(record: RecordID, operations: [LogOperation])] {
    var found: [Name: [LogOperation]] = [:]
    for operation in undone.operations {
      if let record = operation.record { found[record, default: []].append(operation) }
    }
    return found.sorted { $0.key < $1.key }.map { (RecordID(zone: undone.zone, name: $0.key), $0.value) }
  }

  // MARK: Before

  /// Notes which records were there that it has created again, and where the elements of lists were that it has moved.
  mutating func note(_ before: RecordReader) throws {
    for (record, operations) in operations {
      if operations.contains(where: \.makesRecord), try before.aliveType(of: record) != nil {
        createdAgain.insert(record)
      }
      var lists: [Name: UndoneUnits] = [:]
      for case .update(_, _, let field, .moveElement(let element, _)) in operations {
        let named = named(element)
        let list = try lists[field] ?? UndoneUnits(field, .list, of: record, in: before)
        lists[field] = list
        formerPlaces[PlacedElement(record: record, field: field, element: named)] = list.items[named]?.place
      }
    }
  }

  /// A unit as others name it.
  func named(_ unit: UnitReference) -> UnitReference {
    unit.maker == nil
      ? UnitReference(maker: UnitMaker(replica: undone.replica, epoch: undone.epoch), number: unit.number)
      : unit
  }

  // MARK: Comparing

  /// Compares what there is now with what there would be without the transaction.
  mutating func compare(_ now: RecordReader, _ without: RecordReader) throws {
    for (record, operations) in operations {
      let stepsBefore = steps.count
      guard try compareExistence(of: record, operations, now, without) else { continue }
      defer { if steps.count > stepsBefore { noteAlive(record, without) } }
      var (cells, units) = (Set<UndoneCell>(), Set<Name>())
      let isCreatedAgain = createdAgain.contains(record)
      var others: Set<UndoneCell> = []
      if isCreatedAgain { (others, units) = try all(of: record, now, without) }
      for case .update(_, _, let field, let change) in operations {
        switch change {
        case .set: cells.insert(UndoneCell(field, .register))
        case .add: cells.insert(UndoneCell(field, .counter))
        case .insert(let element), .remove(let element): cells.insert(UndoneCell(field, .set, element))
        case .put(let key, _), .removeKey(let key):
          cells.insert(UndoneCell(field, .map, .string(key.rawValue)))
        case .insertText, .removeText: units.insert(field)
        case .insertElements, .removeElements, .moveElement, .replaceElement: units.insert(field)
        case .contribute: keep(record, field, .lasting)
        }
      }
      var (nowHeads, otherHeads) = (CellHeads(record, now), CellHeads(record, without))
      for cell in cells.union(others).sorted(by: <) {
        let (heads, former) = try (nowHeads.heads(of: cell), otherHeads.heads(of: cell))
        // What came later is no matter of a transaction that says nothing of it.
        if !cells.contains(cell), heads.first?.operation == former.first?.operation, cell.kind != .counter {
          continue
        }
        if cell.kind == .counter, isCreatedAgain {
          addBack(cell.field, of: record, heads, former)
        } else {
          try compare(
            cell, of: record, operations, heads, former, createdAt: { try without.creation(of: record) })
        }
      }
      for field in units.sorted() {
        try compareUnits(of: field, of: record, isCreatedAgain ? nil : operations, now, without)
      }
    }
  }

  /// The cells that a record has or would have, and its fields with lists and texts.
  private mutating func all(
    of record: RecordID, _ now: RecordReader, _ without: RecordReader
  ) throws -> (cells: Set<UndoneCell>, units: Set<Name>) {
    var (cells, units) = (Set<UndoneCell>(), Set<Name>())
    let all = try now.kinds(of: record).merging(without.kinds(of: record)) { $0.union($1) }
    for (field, kinds) in all.sorted(by: { $0.key < $1.key }) {
      for kind in kinds { try add(kind, field) }
    }
    return (cells, units)
    func add(_ kind: FieldKind, _ field: Name) throws {
      let cell = UndoneCell(field, kind)
      switch kind {
      case .register, .counter: cells.insert(cell)
      case .set, .map:
        for head in try now.heads(of: field, kind, record) + without.heads(of: field, kind, record) {
          cells.insert(UndoneCell(field, kind, head.content.element))
        }
      case .list, .text: units.insert(field)
      case .contributions:
        let heads = try (now.heads(of: field, kind, record), without.heads(of: field, kind, record))
        if heads.0.map(\.operation) != heads.1.map(\.operation) { keep(record, field, .lasting) }
      }
    }
  }

  /// Gives a counter back what went when its record was created again, and takes what came.
  private mutating func addBack(
    _ field: Name, of record: RecordID, _ heads: [CellHead], _ former: [CellHead]
  ) {
    let (known, made) = (Set(heads.map(\.operation)), heads.filter { $0.operation.transaction == undone.id })
    for head in former where !known.contains(head.operation) {
      if case .addend(let amount) = head.content {
        steps.append(Step(record: record, content: .change(field, .add(amount))))
      }
    }
    for head in made {
      if case .addend(let amount) = head.content {
        steps.append(Step(record: record, content: .change(field, .add(amount.negated))))
      }
    }
  }

  /// Returns whether the fields of the record are to be compared too.
  private mutating func compareExistence(
    of record: RecordID, _ operations: [LogOperation], _ now: RecordReader, _ without: RecordReader
  ) throws -> Bool {
    let heads = try now.heads(of: .existence, record)
    let expected = Expectation.existence(heads.map(\.operation))
    let (nowType, other) = try (now.aliveType(of: record), without.aliveType(of: record))
    let makes = operations.contains { $0.makesRecord || $0.isRevival }
    let deletes = operations.contains {
      if case .delete = $0 { true } else if case .moveAway = $0 { true } else { false }
    }
    switch (nowType != nil, other) {
    case (true, nil) where makes:
      steps.append(Step(record: record, content: .delete, expected: expected))
      return false
    case (false, let type?) where deletes:
      steps.append(Step(record: record, content: .revive(type: type), expected: expected))
      if let alive = try without.heads(of: .existence, record).first { bringsBack(alive.timestamp) }
      return true
    case (true, let type?) where makes && heads.first?.operation.transaction == undone.id && type != nowType:
      steps.append(Step(record: record, content: .revive(type: type), expected: expected))
      return true
    case (true, _?) where createdAgain.contains(record): return true
    case (true, _?) where makes:
      // Others have changed it: it stays, and so does what they have seen.
      keep(record, nil, .changedSince, heads.first)
      return false
    case (true, _): return true
    case (false, _):
      keep(record, nil, .changedSince, heads.first)
      return false
    }
  }

  private mutating func compare(
    _ cell: UndoneCell, of record: RecordID, _ operations: [LogOperation], _ heads: [CellHead],
    _ others: [CellHead], createdAt: () throws -> Timestamp?
  ) throws {
    if cell.kind == .counter {
      let isCounted = heads.contains { $0.operation.transaction == undone.id }
      guard isCounted else { return keep(record, cell.field, .changedSince) }
      for case .update(_, _, cell.field, .add(let amount)) in operations {
        steps.append(Step(record: record, content: .change(cell.field, .add(amount.negated))))
      }
      return
    }
    let (value, other) = (heads.first?.content.value, others.first?.content.value)
    // Null in a register is no value.
    let isSame = cell.kind == .register ? (value ?? .null) == (other ?? .null) : value == other
    if isSame {
      if let winner = heads.first, winner.operation.transaction != undone.id {
        keep(record, cell.field, .changedSince, winner, element: cell.element)
      }
      return
    }
    if let timestamp = try others.first?.timestamp ?? createdAt() { bringsBack(timestamp) }
    steps.append(
      Step(
        record: record, content: .change(cell.field, cell.change(to: other)),
        expected: .cell(cell, heads.map(\.operation))))
  }

  private mutating func compareUnits(
    of field: Name, of record: RecordID, _ operations: [LogOperation]?, _ now: RecordReader,
    _ without: RecordReader
  ) throws {
    for kind in [FieldKind.text, .list] {
      var changes = operations?.compactMap { operation -> FieldChange? in
        guard case .update(_, _, field, let change) = operation, change.kind.unitKind == kind else { return nil }
        return change
      }
      if let changes, changes.isEmpty { continue }
      let now = try UndoneUnits(field, kind, of: record, in: now)
      let without = try UndoneUnits(field, kind, of: record, in: without)
      let own = without.units(madeBy: undone)
      // Creating a record again has removed all of them.
      changes = changes ?? [kind == .text ? .removeText(without.all) : .removeElements(without.all)]
      for change in changes! {
        switch change {
        case .removeText(let spans):
          for (text, last) in without.texts(in: spans.map(named), besides: own, absentIn: now) {
            steps.append(Step(record: record, content: .change(field, .insertText(text, after: last))))
          }
        case .removeElements(let spans):
          for (values, last) in without.elements(in: spans.map(named), besides: own, absentIn: now) {
            steps.append(Step(record: record, content: .change(field, .insertElements(values, after: last))))
          }
        // What was done to an element that it has inserted itself goes with it.
        case .replaceElement(let element, _) where !own.contains(named(element)):
          compareValue(of: named(element), field, of: record, now, without)
        case .moveElement(let element, _) where !own.contains(named(element)):
          moveBack(named(element), field, of: record, now)
        default: break
        }
      }
      try removeMade(field, kind, of: record, now)
    }
  }

  /// Removes what the transaction has inserted and is there. An element that others have changed stays.
  private mutating func removeMade(_ field: Name, _ kind: FieldKind, of record: RecordID, _ now: UndoneUnits)
    throws
  {
    let made = now.there(madeBy: undone)
    if kind == .text {
      for some in made.inGroups {
        steps.append(Step(record: record, content: .change(field, .removeText(some))))
      }
      return
    }
    for span in made {
      guard let item = now.items[span.first] else { continue }
      if let other = (item.values + item.places).first(where: { $0.transaction.replica != undone.replica }) {
        keep(record, field, .changedSince, author: try author(other))
      } else {
        steps.append(
          Step(
            record: record, content: .change(field, .removeElements([span])),
            expected: .item(span.first, item)))
      }
    }
  }

  private mutating func compareValue(
    of element: UnitReference, _ field: Name, of record: RecordID, _ now: UndoneUnits, _ without: UndoneUnits
  ) {
    guard let item = now.items[element], let other = without.items[element],
      let value = other.value, item.value != value
    else { return keep(record, field, .changedSince) }
    if let valued = other.valued { bringsBack(valued) }
    steps.append(
      Step(
        record: record, content: .change(field, .replaceElement(element, value)),
        expected: .item(element, item)))
  }

  private mutating func moveBack(
    _ element: UnitReference, _ field: Name, of record: RecordID, _ now: UndoneUnits
  ) {
    let former = formerPlaces[PlacedElement(record: record, field: field, element: element)]
    guard let former, let item = now.items[element], item.places.first?.transaction == undone.id else {
      return keep(record, field, .changedSince)
    }
    steps.append(
      Step(
        record: record, content: .change(field, .moveElement(element, after: former)),
        expected: .item(element, item)))
  }

  private mutating func noteAlive(_ record: RecordID, _ without: RecordReader) {
    guard let head = try? without.heads(of: .existence, record).first, case .alive(let type) = head.content
    else {
      return
    }
    alive.append(Alive(record: record, type: type, timestamp: head.timestamp))
  }

  private mutating func bringsBack(_ former: Timestamp) { timestamp = min(timestamp, former) }

  private func named(_ span: UnitSpan) -> UnitSpan { UnitSpan(first: named(span.first), count: span.count) }

  // MARK: What stays

  private mutating func keep(
    _ record: RecordID, _ field: Name?, _ reason: UndoReport.Kept.Reason, _ winner: CellHead? = nil,
    element: Value? = nil, author known: String? = nil
  ) {
    let kept = UndoReport.Kept(
      record: record, field: field, element: element, reason: reason,
      author: known ?? winner.flatMap { try? author($0.operation) ?? nil })
    if !self.kept.contains(kept) { self.kept.append(kept) }
  }
}

extension OperationKind {
  /// The kind of the field whose units it works on.
  fileprivate var unitKind: FieldKind? {
    switch self {
    case .insertText, .removeText: .text
    case .insertElements, .removeElements, .moveElement, .replaceElement: .list
    default: nil
    }
  }
}

extension RecordReader {
  /// When a record was created; nil if that is not known.
  fileprivate func creation(of record: RecordID) throws -> Timestamp? {
    try view.withRow(of: record) { row, _ in try row.creation().stamp?.head(0).timestamp }
  }

  /// The type of a record that is not deleted, even if a cascade hides it.
  fileprivate func aliveType(of record: RecordID) throws -> Name? {
    try view.withStoredRow(of: record) { row, state in
      try view.alive(row, state).map { try view.name($0.type) }
    }
  }
}
