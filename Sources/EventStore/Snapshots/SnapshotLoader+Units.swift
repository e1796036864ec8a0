import OperationFormat

/// Loading lists and texts: who made their units, the units in their order, and what elements have besides.
extension SnapshotLoader {
  /// A longer text is written part by part, so that it does not have to be in memory whole.
  private static let textAtOnceBytesMax = 64 << 20

  func beginMakers(_ left: UInt64, _ store: StoreTransaction) throws {
    guard left > 0 else {
      stage = .parts
      let order = try store.fold.unitOrder(of: cell)
      compacted = try hasFloor && order.isText && order.hasOnlyCompactedMakers() ? CompactedUnits() : nil
      return
    }
    try decoder.mayCut()
    let lane = try decoder.readLane()
    makerLane = lane
    lastMaker.sequence = 0
    stage = .makerRuns(
      Inserter(replica: replicas[lane], epoch: lanes[lane].id.epoch),
      left: try decoder.readNumber(1 ... .max),
      lanesLeft: left - 1)
  }

  func loadMakers(of inserter: Inserter, _ store: StoreTransaction) throws {
    try decoder.mayCut()
    let more = try decoder.readNumber()
    let index = UInt32(try decoder.readNumber(0...UInt64(UInt32.max)))
    let unitsEach = try decoder.readNumber(1...UnitOrderLimits.unitsMax)
    let operations = try decoder.readNumber(1...UnitOrderLimits.unitsMax)
    let (sequence, overflows) = lastMaker.sequence.addingReportingOverflow(more)
    let (units, isTooMany) = unitsEach.multipliedReportingOverflow(by: operations)
    guard !overflows, !isTooMany, sequence > 0 || hasFloor,
      units <= UnitOrderLimits.unitsMax - lastMaker.units,
      sequence <= .max - operations
    else { throw decoder.bad("at most \(UnitOrderLimits.unitsMax) units", "more") }
    guard sequence + operations - 1 <= lanes[makerLane].last else {
      throw decoder.bad(
        "a sequence of at most \(lanes[makerLane].last)", "\(sequence) and \(operations) more")
    }
    var order = try store.fold.unitOrder(of: cell)
    try order.tree.addMakers(
      MakerRow.Entry(sequence: sequence, index: index, unitsEach: unitsEach, operations: operations),
      of: inserter)
    if sequence == 0 {
      // Compacted units are in no leaf until a part has them.
      guard try order.compactedEnd(of: inserter) == unitsEach else {
        throw decoder.bad("one compacted run", "another")
      }
      try order.tree.dropAll(of: inserter)
      order.tree.root.dropped += unitsEach
      try UnitCell.write(order.root, of: cell, in: &store.fold)
    }
    lastMaker = (sequence + operations - 1, lastMaker.units + units)
  }

  private func readUnit() throws -> UnitID {
    let lane = try decoder.readLane()
    return UnitID(
      replica: replicas[lane], epoch: lanes[lane].id.epoch,
      number: try decoder.readNumber(0...UnitOrderLimits.unitsMax - 1))
  }

  func loadPart(_ store: StoreTransaction) throws {
    try decoder.mayCut()
    var order = try store.fold.unitOrder(of: cell)
    let tag = try decoder.readByte()
    guard tag == 1 else {
      guard tag == 0 else { throw decoder.bad("0 or 1", "\(tag)") }
      try write(compacted, to: &order, store)
      let problems = try order.verify()
      guard problems.isEmpty, order.root.made == lastMaker.units else {
        throw decoder.bad("\(lastMaker.units) units in an order", problems.first ?? "\(order.root.made)")
      }
      if hasFloor, !order.isText, try order.isCompacted() {
        // Its rows are as those of an order that grew: more, and in emptier pages.
        try order.compact(keepsVisible: true)
        try UnitCell.write(order.root, of: cell, in: &store.fold)
        store.fold.nodes.removeAll()
      }
      compacted = nil
      return endCell()
    }
    let first = try readUnit()
    let count = try decoder.readNumber(1...SnapshotContent.unitsMax)
    let byte = try decoder.readByte()
    guard byte < 16 else { throw decoder.bad("flags of a part", "\(byte)") }
    let flags = SnapshotContent.PartFlags(rawValue: byte)
    var piece = Piece(
      first: first, count: count, left: nil, right: nil, isVisible: flags.contains(.isVisible), element: nil,
      text: 0..<0, level: Level(depth: 0, rightDepth: 0))
    if flags.contains(.hasLeft) { piece.left = try readUnit() }
    if flags.contains(.hasRight) { piece.right = try readUnit() }
    if flags.contains(.hasElement) { piece.element = try readUnit() }
    piece.level.depth = try decoder.readNumber(0...UnitOrderLimits.unitsMax)
    piece.level.rightDepth = try decoder.readNumber(0...UnitOrderLimits.unitsMax)
    let range = try decoder.readPayload()
    let text = decoder.bytes(range)
    let hasText = order.isText && piece.isVisible
    guard isUTF8(text.span.bytes), hasText ? scalarCount(of: text.span.bytes) == count : text.isEmpty,
      piece.element == nil || count == 1 && !order.isText, count <= lastMaker.units,
      compacted?.count ?? order.root.units <= lastMaker.units - count
    else { throw decoder.bad("a part of \(count) units", "another") }
    let bytes = compacted?.whole.bytes.count ?? 0
    if compacted?.next(piece) == piece, piece.isVisible, bytes + text.count <= Self.textAtOnceBytesMax {
      compacted?.append(piece, text: text[...])
      _ = try decoder.readNumber(0...0)
      return
    }
    try write(compacted, to: &order, store)
    compacted = nil
    let compactedEnd = hasFloor ? try order.compactedEnd(of: first.inserter) : 0
    let placed = min(piece.end, compactedEnd) - min(first.number, compactedEnd)
    guard placed <= order.root.dropped else { throw decoder.bad("each unit once", "one twice") }
    order.tree.root.dropped -= placed
    try order.append(piece, text: text)
    try UnitCell.write(order.root, of: cell, in: &store.fold)
    let items = try decoder.readNumber(0...(order.isText ? 0 : count))
    stage = .items(piece, left: items)
  }

  /// Writes the parts that were read so far, if they were kept, once and in the order of their rows.
  private func write(
    _ compacted: CompactedUnits?, to order: inout UnitOrder<TableStorage>, _ store: StoreTransaction
  ) throws {
    guard let compacted else { return }
    try order.rewrite(as: compacted)
    try UnitCell.write(order.root, of: cell, in: &store.fold)
    store.fold.nodes.removeAll()
  }

  func loadItem(in piece: Piece, _ store: StoreTransaction) throws {
    try decoder.mayCut()
    let number = piece.first.number + (try decoder.readNumber(0...piece.count - 1))
    let item =
      hasFloor ? piece.element ?? UnitID(piece.first.inserter, number) : UnitID(piece.first.inserter, number)
    var places: [(head: Head, unit: UnitID)] = []
    for _ in 0..<(try decoder.readNumber(1 ... .max)) {
      try decoder.mayCut()
      let head = try head(decoder.readHead())
      let number = try decoder.readNumber(0...UnitOrderLimits.unitsMax - 1)
      places.append((head, UnitID(replica: head.id.replica, epoch: head.id.epoch, number: number)))
    }
    var isWritten = false
    try decoder.mayCut()
    for _ in 0..<(try decoder.readNumber(1 ... .max)) {
      try decoder.mayCut()
      try readHead(store) { head, payload in
        if isWritten {
          return try ListItems.replace(.value, of: item, cell, .nothing, head, payload, in: &store.fold)
        }
        isWritten = true
        let (placed, unit) = places.removeFirst()
        try ListItems.write(
          item, of: cell, at: unit, by: placed, value: payload, by: head, in: &store.fold)
      }
    }
    for (head, unit) in places {
      var payload = ByteWriter()
      payload.append(place: unit)
      try ListItems.replace(.place, of: item, cell, .nothing, head, payload.span, in: &store.fold)
    }
  }
}
