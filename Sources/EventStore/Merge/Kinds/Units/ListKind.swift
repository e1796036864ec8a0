import OperationFormat

/// Elements in an order, each with the last writer's place and value.
///
/// Which place an element is at and what its value is are registers of their own: see ``ItemRow``. An element
/// that was removed has no row, and stays removed. The places are units in a ``UnitOrder``.
enum ListKind: FieldCellKind {
  enum Operation: UInt64, CaseIterable {
    case insertElements = 9
    case moveElement = 10
    case replaceElement = 11
    case removeElements = 12
  }

  static var layout: CellLayout { .units }
  static var showsGreatest: Bool { true }
  static var sumsHeads: Bool { false }
  static var identityIsValue: Bool { false }

  /// Two heads of a place or a value are none: their record's conflicts list them.
  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool { false }

  // MARK: Folding

  static func apply<Storage>(
    _ kind: OperationKind, _ operand: RawSpan, to field: NameNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    let cell = CellNumber(field, .list)
    var order = try fold.unitOrder(of: cell)
    var reader = ByteReader(operand)
    switch try operation(kind) {
    case .insertElements:
      try insert(operand, &reader, into: &order, of: cell, index: index, in: &fold)
    case .moveElement:
      var units = UnitReader()
      let element = try units.readUnit(&reader)
      let left = try units.readOrigin(&reader).flatMap { try UnitCell.unit($0, in: fold) }
      try move(element, to: left, in: &order, of: cell, index: index, in: &fold)
    case .replaceElement:
      var units = UnitReader()
      let element = try units.readUnit(&reader)
      let value = operand.extracting(reader.position...)
      if let item = try seen(element, in: order, at: index, in: fold) {
        try ListItems.replace(
          .value, of: item, cell, .seen(at: index), fold.step.head(at: index), value, in: &fold)
      }
    case .removeElements:
      for range in try UnitCell.readRuns(&reader, in: fold) {
        guard let seen = try UnitCell.seen(range, in: order, at: index, by: fold) else { continue }
        var end = seen.first
        end.number = seen.end
        let keys = try fold.storage.elementKeys(
          in: ListItems.key(seen.first, of: cell, in: fold)..<ListItems.key(end, of: cell, in: fold))
        try ListItems.remove(try keys.map { try $0.item }, of: cell, from: &order, in: &fold)
      }
    }
    try UnitCell.write(order.root, of: cell, in: &fold)
  }

  private static func insert<Storage>(
    _ operand: RawSpan, _ reader: inout ByteReader, into order: inout UnitOrder<Storage>,
    of cell: CellNumber, index: UInt32, in fold: inout Fold<Storage>
  ) throws {
    var units = UnitReader()
    let left = try units.readOrigin(&reader).flatMap { try UnitCell.unit($0, in: fold) }
    let count = try FieldChange.readCount(&reader)
    try UnitCell.lendView(to: &order, of: cell, in: &fold)
    var item = try order.insert(places: UInt64(count), by: fold.step.head(at: index).id, after: left) {
      try UnitCell.hasSeenInSearch($0, at: index, in: fold)
    }
    try UnitCell.takeView(from: &order, of: cell, in: &fold)
    for _ in 0..<count {
      let start = reader.position
      try validateValue(&reader)
      let (value, head) = (operand.extracting(start..<reader.position), fold.step.head(at: index))
      try ListItems.write(item, of: cell, at: item, by: head, value: value, by: head, in: &fold)
      item.number += 1
    }
  }

  private static func move<Storage>(
    _ element: UnitReference, to left: UnitID?, in order: inout UnitOrder<Storage>, of cell: CellNumber,
    index: UInt32, in fold: inout Fold<Storage>
  ) throws {
    let item = fold.takesEffect ? try seen(element, in: order, at: index, in: fold) : nil
    // The place is made in any case: the numbers of its maker's other units count it.
    let none = UnitID(replica: fold.context.replica, epoch: fold.context.epoch, number: 0)
    try UnitCell.lendView(to: &order, of: cell, in: &fold)
    let place = try order.insert(placeOf: item ?? none, by: fold.step.head(at: index).id, after: left) {
      try UnitCell.hasSeenInSearch($0, at: index, in: fold)
    }
    try UnitCell.takeView(from: &order, of: cell, in: &fold)
    var payload = ByteWriter()
    payload.append(place: place)
    try movePlace(of: item, cell, in: &order, alsoSeen: place, in: &fold) { fold, item in
      try ListItems.replace(
        .place, of: item, cell, .seen(at: index), fold.step.head(at: index), payload.span, in: &fold)
    }
  }

  private static func seen<Storage>(
    _ element: UnitReference, in order: borrowing UnitOrder<Storage>, at index: UInt32,
    in fold: borrowing Fold<Storage>
  ) throws -> UnitID? {
    guard let item = try UnitCell.unit(element, in: fold) else { return nil }
    return try UnitCell.seen(UnitRange(first: item, count: 1), in: order, at: index, by: fold)?.first
  }

  /// Does what may change the place that an element is at, and makes only the new place visible.
  ///
  /// - Parameters:
  ///   - item: the element; nil if it is not here.
  ///   - made: a place that was just made for it, and so is visible.
  private static func movePlace<Storage>(
    of item: UnitID?, _ cell: CellNumber, in order: inout UnitOrder<Storage>, alsoSeen made: UnitID? = nil,
    in fold: inout Fold<Storage>, _ body: (inout Fold<Storage>, UnitID) throws -> Void
  ) throws {
    let before = try item.flatMap { try ListItems.place(of: $0, cell, in: fold) }
    if let item { try body(&fold, item) }
    let after = try item.flatMap { try ListItems.place(of: $0, cell, in: fold) }
    for seen in [before, made] where seen != after {
      if let seen { try order.setVisible(false, UnitRange(first: seen, count: 1)) }
    }
    if let after, after != before, after != made {
      try order.setVisible(true, UnitRange(first: after, count: 1))
    }
  }

  /// Removes each element whose insertion the transaction has seen.
  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws {
    var order = try fold.unitOrder(of: cell)
    let prefix = ElementKey.items(of: fold.state, record: try fold.recordNumber, cell: cell)
    var next = fold.bound.firstKey(under: prefix)
    while let first = next {
      let rows = try fold.storage.someRows(
        under: prefix, from: first, atOnce: fold.bound.rowsAtOnce
      ) { key, _ in
        let item = try ElementKey.item(of: key)
        return try order.operation(making: item).flatMap { try fold.hasSeen($0, at: index) ? item : nil }
      }
      try fold.bound.count(looked: rows.looked)
      let removed = try ListItems.remove(
        rows.found, of: cell, from: &order, stopsIfSpent: true, in: &fold)
      try UnitCell.write(order.root, of: cell, in: &fold)
      next =
        try removed < rows.found.count ? ListItems.key(rows.found[removed], of: cell, in: fold) : rows.next
      if let next { try fold.bound.pauseIfSpent(at: next) }
    }
  }

  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>
  ) throws {
    let prefix = ElementKey.items(of: fold.state, record: try fold.recordNumber, cell: cell)
    try fold.compactRows(under: prefix) { key, _ in
      try ElementKey.item(of: key)
    } compact: { items, fold in
      if keeps {
        for item in items { try ListItems.compact(item, of: cell, in: &fold) }
      } else {
        // With their places: none may show an element that has gone.
        var order = try fold.unitOrder(of: cell)
        try ListItems.remove(items, of: cell, from: &order, in: &fold)
        try UnitCell.write(order.root, of: cell, in: &fold)
      }
    }
    try UnitCell.compact(cell, keepsVisible: keeps, in: &fold)
  }

  static func retime<Storage>(
    _ kind: OperationKind, _ operand: RawSpan, of field: NameNumber, by id: HeadID,
    to timestamp: Timestamp, in fold: inout Fold<Storage>
  ) throws -> Bool {
    let cell = CellNumber(field, .list)
    var order = try fold.unitOrder(of: cell)
    var items: [UnitID] = []
    switch try operation(kind) {
    case .insertElements:
      let made = try order.units(madeBy: id)
      items = (0..<(made?.count ?? 0)).compactMap { offset in
        made.map { UnitID($0.first.inserter, $0.first.number + offset) }
      }
    case .moveElement, .replaceElement:
      var reader = ByteReader(operand)
      var units = UnitReader()
      let element = try units.readUnit(&reader)
      let own = UnitID(replica: id.replica, epoch: id.epoch, number: element.number)
      if let item = try element.maker == nil ? own : UnitCell.unit(element, in: fold) { items = [item] }
    // What is removed leaves no head.
    case .removeElements: return false
    }
    var hasChanged = false
    for item in items {
      let before = try (
        place: winner(.place, of: item, cell, fold), value: winner(.value, of: item, cell, fold)
      )
      try movePlace(of: item, cell, in: &order, in: &fold) { fold, item in
        for register in ItemRegister.allCases {
          for owned in try fold.itemHeads(register, of: item, cell)
          where owned.head.id == id && owned.head.timestamp != timestamp {
            try ListItems.replace(
              register, of: item, cell, .head(id), Head(timestamp: timestamp, id: id),
              owned.payload.span.bytes, in: &fold)
          }
        }
      }
      let after = try (
        place: winner(.place, of: item, cell, fold), value: winner(.value, of: item, cell, fold)
      )
      if before != after { hasChanged = true }
    }
    try UnitCell.write(order.root, of: cell, in: &fold)
    return hasChanged
  }

  private static func winner<Storage>(
    _ register: ItemRegister, of item: UnitID, _ cell: CellNumber, _ fold: borrowing Fold<Storage>
  ) throws -> HeadID? {
    try fold.itemHeads(register, of: item, cell).first?.head.id
  }

  // MARK: Reading

  static func value<Rows>(of cell: CellReader<Rows>) throws -> Value? { .array(try list(of: cell)) }

  /// The values in their order. A reference that is nullified keeps its place, as null.
  static func list<Rows>(of cell: CellReader<Rows>) throws -> [Value] {
    try cell.items().map { try cell.shown($0.value) ?? .null }
  }

  static func count<Rows>(of cell: CellReader<Rows>) throws -> Int { try cell.unitOrder().count }

  /// The heads of the values of the elements, in their order.
  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead] {
    try cell.items().flatMap { try $0.heads(in: cell) }
  }

  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict] {
    try cell.items().compactMap { item in
      item.values.count > 1 ? CellConflict(heads: try item.heads(in: cell)) : nil
    }
  }

  static func changes<Rows>(showing cell: CellReader<Rows>) throws -> [FieldChange] {
    let values = try cell.items().map(\.value)
    return values.isEmpty ? [] : [.insertElements(values, after: nil)]
  }

  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws {
    try cell.appendParts(items: cell.itemsByUnit(), to: &digest)
  }

  // MARK: Explaining

  /// The log tells of elements by ``edit(by:)``.
  static func effect(of change: FieldChange) -> CellEffect? { nil }

  static func edit(by change: FieldChange) -> UnitEdit? {
    if case .insertElements = change { return .inserted(text: nil) }
    if case .removeElements(let runs) = change { return .removed(units: runs.reduce(0) { $0 &+ $1.count }) }
    if case .replaceElement = change { return .replaced }
    if case .moveElement = change { return .moved }
    return nil
  }

  static func change(restoring content: CellHead.Content) -> FieldChange? {
    guard case .item(let unit, let value) = content else { return nil }
    return .replaceElement(unit, value)
  }

  // MARK: Units

  /// A moved element gets a new place.
  static func insertedUnits(by change: FieldChange) -> UInt64 {
    if case .insertElements(let values, _) = change { return UInt64(values.count) }
    if case .moveElement = change { return 1 }
    return 0
  }

  static func namedUnits(in change: FieldChange) -> [UnitReference] {
    if case .insertElements(_, let origin) = change { return origin.map { [$0] } ?? [] }
    if case .moveElement(let element, let origin) = change {
      return origin.map { [element, $0] } ?? [element]
    }
    if case .replaceElement(let element, _) = change { return [element] }
    if case .removeElements(let runs) = change { return runs.map(\.first) }
    return []
  }

  static func change(_ change: FieldChange, renamed names: some UnitNames) -> FieldChange {
    if case .insertElements(let values, let origin) = change {
      return .insertElements(values, after: origin.map { names.renamed($0) })
    }
    if case .moveElement(let element, let origin) = change {
      return .moveElement(names.renamed(element), after: origin.map { names.renamed($0) })
    }
    if case .replaceElement(let element, let value) = change {
      return .replaceElement(names.renamed(element), value)
    }
    if case .removeElements(let runs) = change {
      return .removeElements(runs.flatMap { names.renamed($0) })
    }
    return change
  }
}
