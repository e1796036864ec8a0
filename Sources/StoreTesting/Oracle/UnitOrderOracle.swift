import EventStore
import OperationFormat

/// A list or a text by the page *Merge rules* of EventStore. It keeps every change. To find the result of
/// those that a store has folded, it inserts all units into a new ``UnitOrderModel``.
struct UnitOrderOracle {
  /// What an operation does, with its units resolved.
  private enum Action {
    case insertText(String, after: UnitID?)
    /// The oracle's cells of the places and values of each.
    case insertItems([Item], after: UnitID?)
    case move(UnitID?, after: UnitID?)
    case remove([UnitRange])
    /// A `create`: removes all that it has seen.
    case clear

    var isClear: Bool { if case .clear = self { true } else { false } }

    var inserts: Bool {
      switch self {
      case .insertText, .insertItems, .move: true
      case .remove, .clear: false
      }
    }
  }

  /// An element of a list: the oracle's cells of its place and its value.
  struct Item {
    var places: Int
    var values: Int
  }

  private struct Event {
    var transaction: Int
    var operation: HeadID
    var action: Action
  }

  /// Replicas by the numbers that units have here, from 1.
  private var replicas: [ReplicaID] = []
  private var events: [Event] = []
  private var numbers: [Inserter: UInt64] = [:]
  private var items: [UnitID: Item] = [:]

  // MARK: What happened

  /// Adds an operation of the last transaction.
  ///
  /// - Parameters:
  ///   - change: what it does.
  ///   - transaction: the oracle's number of the transaction, and its identity.
  ///   - index: its place in the transaction.
  ///   - oracle: gets the cells of a list's elements, and what happens to them.
  ///   - content: numbers what heads say.
  mutating func append(
    _ change: UnitChange, of transaction: Int, _ id: TransactionID, index: Int, _ oracle: inout Oracle,
    content: (CellHead.Content) -> Int
  ) {
    let own = number(of: id.replica)
    let operation = HeadID(
      replica: own, epoch: id.epoch, sequence: id.sequence, index: UInt32(index))
    func unit(_ reference: UnitReference) -> UnitID {
      let maker = reference.maker ?? UnitMaker(replica: id.replica, epoch: id.epoch)
      return UnitID(replica: number(of: maker.replica), epoch: maker.epoch, number: reference.number)
    }
    var action: Action?
    switch change {
    case .clear: action = .clear
    case .insertText(let text, let origin):
      action = .insertText(text, after: origin.map { unit($0) })
      _ = makeUnits(text.unicodeScalars.count, by: operation)
    case .insertItems(let values, let origin):
      let origin = origin.map { unit($0) }
      let first = makeUnits(values.count, by: operation)
      var made: [Item] = []
      for (offset, value) in values.enumerated() {
        let item = Item(places: oracle.addCell(), values: oracle.addCell())
        let unit = UnitID(Inserter(operation), first + UInt64(offset))
        items[unit] = item
        made.append(item)
        let name = reference(unit)
        oracle.addOperation(to: item.places, index: index, content: content(.item(name, .null)))
        oracle.addOperation(to: item.values, index: index, content: content(.item(name, value)))
      }
      action = .insertItems(made, after: origin)
    case .moveItem(let element, let origin):
      let element = unit(element)
      let place = UnitID(Inserter(operation), makeUnits(1, by: operation))
      let isSeen = items[element] != nil && isSeen(element, by: transaction, index, oracle)
      if isSeen, let item = items[element] {
        oracle.addOperation(
          to: item.places, index: index, content: content(.item(reference(place), .null)))
      }
      action = .move(isSeen ? element : nil, after: origin.map { unit($0) })
    case .replaceItem(let element, let value):
      let element = unit(element)
      if let item = items[element], isSeen(element, by: transaction, index, oracle) {
        oracle.addOperation(
          to: item.values, index: index, content: content(.item(reference(element), value)))
      }
    case .remove(let runs):
      action = .remove(runs.map { UnitRange(first: unit($0.first), count: $0.count) })
    }
    if let action { events.append(Event(transaction: transaction, operation: operation, action: action)) }
  }

  private mutating func number(of replica: ReplicaID) -> ReplicaNumber {
    if !replicas.contains(replica) { replicas.append(replica) }
    return ReplicaNumber(rawValue: UInt32(replicas.firstIndex(of: replica)! + 1))
  }

  private mutating func makeUnits(_ count: Int, by operation: HeadID) -> UInt64 {
    defer { numbers[Inserter(operation), default: 0] += UInt64(count) }
    return numbers[Inserter(operation), default: 0]
  }

  /// Whether a transaction has seen the insertion of an element when it comes to one of its operations.
  private func isSeen(_ element: UnitID, by transaction: Int, _ index: Int, _ oracle: Oracle) -> Bool {
    for event in events {
      guard case .insertItems(let made, _) = event.action, let item = items[element],
        made.contains(where: { $0.places == item.places })
      else { continue }
      return event.transaction == transaction
        ? event.operation.index < UInt32(index) : oracle.seen(by: transaction).contains(event.transaction)
    }
    return false
  }

  private func reference(_ unit: UnitID) -> UnitReference {
    UnitReference(
      maker: UnitMaker(replica: replicas[Int(unit.replica.rawValue) - 1], epoch: unit.epoch),
      number: unit.number)
  }

  // MARK: Results

  /// Whether any operation has inserted anything.
  var isEmpty: Bool { numbers.isEmpty }

  /// The parts of the sequence, once certain transactions were folded.
  ///
  /// - Parameters:
  ///   - effects: what each floor did to the record.
  ///   - heads: the heads of one of the oracle's cells, greatest first.
  func parts(
    _ view: OracleView, _ oracle: Oracle, _ effects: [Oracle.FloorEffect] = [],
    heads: (Int, OracleView) -> [CellHead]
  ) -> [UnitOrderPart] {
    let replicas = replicas
    var model = UnitOrderModel { replicas[Int($0.rawValue) - 1] }
    var transactions: [HeadID: Int] = [:]
    for event in events {
      var id = event.operation
      id.index = 0
      transactions[id] = event.transaction
    }
    // The elements that are in the list.
    var alive: Set<UnitID> = []
    func fold(_ event: Event, _ floor: OracleFloor?) {
      let seen = oracle.seen(by: event.transaction)
      // Who names a unit has seen what is compacted. A `create` names none.
      let seesCompacted = event.action.isClear ? oracle.reaches(event.transaction, floor) : true
      func hasSeen(_ head: HeadID) -> Bool {
        if head.sequence == 0 { return seesCompacted }
        var id = head
        id.index = 0
        guard let other = transactions[id] else { return false }
        return other == event.transaction ? head.index < event.operation.index : seen.contains(other)
      }
      switch event.action {
      case .insertText(let text, let origin):
        model.insert(
          text.unicodeScalars.map { .scalar($0) }, by: event.operation, after: origin, hasSeen: hasSeen)
      case .insertItems(let made, let origin):
        let contents = made.map { _ in UnitOrderModel.Content.place(element: nil) }
        let first = model.insert(contents, by: event.operation, after: origin, hasSeen: hasSeen)
        for offset in 0..<UInt64(made.count) { alive.insert(UnitID(first.inserter, first.number + offset)) }
      case .move(let element, let origin):
        let none = UnitID(Inserter(event.operation), 0)
        let place = model.insert(
          [.place(element: element ?? none)], by: event.operation, after: origin, hasSeen: hasSeen)
        model.setVisible(false, UnitRange(first: place, count: 1))
      case .remove(let runs):
        for run in runs {
          remove { $0.inserter == run.first.inserter && run.first.number..<run.end ~= $0.number }
        }
      case .clear: remove { _ in true }
      }
      func remove(_ isNamed: (UnitID) -> Bool) {
        // In a list the elements: a place that one was moved to is none.
        for id in items.isEmpty ? model.listing : Array(alive) where isNamed(id) {
          guard let maker = model.operation(making: id), hasSeen(maker) else { continue }
          alive.remove(id)
          model.setVisible(false, UnitRange(first: id, count: 1))
        }
      }
    }
    for part in 0...view.floors.count {
      for event in events
      where view.folded.contains(event.transaction) && oracle.part(of: event.transaction, view.floors) == part
      {
        fold(event, part > 0 ? view.floors[part - 1] : nil)
      }
      guard part < view.floors.count, effects[part] != .none else { continue }
      if effects[part] == .dropped { alive = [] }
      let before = oracle.view(view, atFloor: part)
      if !items.isEmpty { _ = show(alive, in: &model) { heads($0, before) } }
      model.compact(keeps: effects[part] == .compacted)
    }
    let places = items.isEmpty ? [:] : show(alive, in: &model) { heads($0, view) }
    return model.runs.map { part($0, model, places) { heads($0, view) } }
  }

  /// Whether any of certain transactions has inserted anything.
  func isUsed(by folded: TransactionSet) -> Bool {
    events.contains { event in folded.contains(event.transaction) && event.action.inserts }
  }

  /// Shows each element of the list at one place, that of its greatest head, and returns the heads of its
  /// places.
  private func show(
    _ alive: Set<UnitID>, in model: inout UnitOrderModel, _ heads: (Int) -> [CellHead]
  ) -> [UnitID: [CellHead]] {
    for id in model.listing { model.setVisible(false, UnitRange(first: id, count: 1)) }
    var places: [UnitID: [CellHead]] = [:]
    for id in alive {
      guard let item = items[id] else { continue }
      let found = heads(item.places)
      places[id] = found
      guard case .item(let place, _)? = found.first?.content, let maker = place.maker,
        let replica = replicas.firstIndex(of: maker.replica)
      else { continue }
      let unit = UnitID(
        replica: ReplicaNumber(rawValue: UInt32(replica + 1)), epoch: maker.epoch, number: place.number)
      model.setVisible(true, UnitRange(first: unit, count: 1))
    }
    return places
  }

  private func part(
    _ run: UnitRun, _ model: UnitOrderModel, _ places: [UnitID: [CellHead]], _ heads: (Int) -> [CellHead]
  ) -> UnitOrderPart {
    var makers: [UnitOrderPart.Maker] = []
    var found: [UnitOrderPart.Item] = []
    var last: HeadID?
    for number in run.units.first.number..<run.units.end {
      let unit = UnitID(run.units.first.inserter, number)
      guard let operation = model.operation(making: unit) else { continue }
      if operation == last {
        makers[makers.count - 1].units += 1
      } else {
        makers.append(UnitOrderPart.Maker(sequence: operation.sequence, index: operation.index, units: 1))
      }
      last = operation
      // Where the unit that an element was inserted as was dropped, its place stands for it.
      let moved = run.isVisible ? run.element.flatMap { model.isDropped($0) ? $0 : nil } : nil
      let element = moved ?? unit
      if let places = places[element], let item = items[element] {
        found.append(UnitOrderPart.Item(number: number, places: places, values: heads(item.values)))
      }
    }
    return UnitOrderPart(
      first: reference(run.units.first), count: run.units.count, left: run.left.map { reference($0) },
      right: run.right.map { reference($0) }, isVisible: run.isVisible,
      element: run.element.map { reference($0) }, text: run.text, makers: makers, items: found)
  }
}
