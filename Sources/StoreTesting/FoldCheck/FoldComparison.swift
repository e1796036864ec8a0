import EventStore
import OperationFormat

/// Compares a storage's rows with the oracle's heads: all heads with their payloads, in their order, and each lying
/// where it belongs.
struct FoldComparison {
  let history: FoldHistory
  var expected: [OracleHead] = []
  private var existence: [Existence] = []

  init(_ history: FoldHistory) { self.history = history }

  /// Compares all records of the mask.
  ///
  /// - Throws: ``FoldMismatch`` for the first difference.
  mutating func compare(_ driver: FoldDriver, _ records: UInt8, at place: @autoclosure () -> String) throws {
    for record in 0..<history.records where records & 1 << UInt8(record) != 0 {
      do {
        try compare(driver, record: record)
      } catch let mismatch as FoldMismatch {
        throw FoldMismatch(
          place: "\(place()), \(mismatch.place)", expected: mismatch.expected, found: mismatch.found)
      }
    }
  }

  /// Compares what the fold reads with the oracle's heads, for all cells.
  mutating func compareReading(_ driver: FoldDriver, at place: @autoclosure () -> String) throws {
    for record in 0..<history.records {
      for field in -1..<history.cells.ofFields.upperBound {
        find(driver, record, field)
        let found = try driver.heads(of: record, field) ?? []
        let isAsExpected =
          found.count == expected.count
          && zip(found, expected).allSatisfy { found, expected in
            isSame(found.head, expected, driver) && payload(expected, field, driver) == found.payload
          }
        if isAsExpected { continue }
        throw FoldMismatch(
          place: "\(place()), \(Self.name(record, field)) as the fold reads it",
          expected: expected.map { describe($0, field) },
          found: found.map { describe($0.head, $0.payload, field, driver) })
      }
    }
  }

  // MARK: One record

  private mutating func compare(_ driver: FoldDriver, record: Int) throws {
    history.coverage.comparisons += 1
    let name = FoldNumbering.records[record]
    let row = try driver.storage.row(of: name.span.bytes, in: FoldNumbering.state)
    // The cells that the row must have: of those with elements, how many.
    var cells: [CellNumber: Int] = [:]
    var apart = 0
    for field in -1..<history.cells.ofFields.upperBound
    where field < 0 || history.oracle.isUsed(history.cell(record, field)) {
      find(driver, record, field)
      if expected.isEmpty && row == nil { continue }
      guard let row else { throw mismatch(driver, record, field, "no row") }
      let place = try place(driver, record, field, row)
      let inline = try RecordLayout.heads(of: place.body, in: place.row.span.bytes)
      guard inline.total == expected.count, place.body.isEmpty == expected.isEmpty else {
        throw mismatch(driver, record, field)
      }
      if expected.isEmpty { continue }
      let path = driver.path(field)
      cells[path.cell, default: 0] += 1
      if path.element != nil { apart += 1 }
      apart += try compareInline(driver, record, field, place, inline)
      if expected.count > inline.count {
        apart += try compareApart(driver, record, field, place, inline.count)
      }
      if history.cells.kind(of: field) == .counter {
        apart += try compareSum(driver, record, field, place, inline.count)
      }
      if history.cells.kind(of: field) == .contributions { try compareOrder(driver, record, field) }
      if field < 0 && (expected.count > 1 || history.coverage.comparisons.isMultiple(of: 8)) {
        try compareVisibility(driver, record)
      }
      count(driver.knowledge, record, field)
    }
    for place in history.sequences.indices where history.sequences[place].name.record == record {
      apart += try compareSequence(driver, at: place, &cells)
    }
    guard let row else { return }
    let found = try RecordLayout.cells(of: row.span.bytes)
    guard found == cells.keys.sorted() else {
      throw FoldMismatch(
        place: "record r\(record)", expected: ["cells \(cells.keys.sorted())"], found: ["cells \(found)"])
    }
    for (cell, count) in cells where cell.kind == .set || cell.kind == .map {
      let body = try RecordLayout.place(of: cell, in: row.span.bytes).body
      let found = try ElementRow.count(in: row.span.bytes.extracting(body))
      guard found == count else {
        throw FoldMismatch(
          place: "cell \(cell.rawValue) of r\(record)", expected: ["\(count) elements"],
          found: ["\(found) elements"])
      }
      history.coverage.elements += count
    }
    apart += try compareParts(driver, record, row)
    try compareElements(driver, record, row, expected: apart)
    try compareReferences(driver, record, row)
  }

  /// The parts of a list or a text, and those of its elements. Gives the number of the elements' rows.
  private func compareSequence(
    _ driver: FoldDriver, at place: Int, _ cells: inout [CellNumber: Int]
  ) throws -> Int {
    let name = history.sequences[place].name
    let expected = history.parts(
      at: place, folded: driver.folded, received: driver.knowledge.received)
    let found = try driver.parts(of: name)
    guard found == expected else {
      throw FoldMismatch(
        place: "the \(name.kind) of field \(name.field) of r\(name.record)",
        expected: expected.map(\.description), found: found.map(\.description))
    }
    if expected.isEmpty { return 0 }
    let problems = try driver.problems(of: name)
    guard problems.isEmpty else {
      throw FoldMismatch(
        place: "the rows of the \(name.kind) of field \(name.field) of r\(name.record)", expected: [],
        found: problems)
    }
    cells[driver.cell(name)] = 1
    history.coverage.units += expected.reduce(0) { $0 + Int($1.count) }
    let record = FoldNumbering.records[name.record]
    let row = try driver.storage.row(of: record.span.bytes, in: FoldNumbering.state) ?? []
    let number = try RecordLayout.recordNumber(of: row.span.bytes)
    var rows = 0
    for part in expected {
      for item in part.items {
        rows += 1
        let unit = driver.unit(part.first, item.number)
        for (register, heads) in [(ItemRegister.place, item.places), (.value, item.values)] {
          // What does not fit into an element's row lies apart.
          let apart = heads.dropFirst(Cell.inlineHeadsMax).map { driver.head($0) }
          guard !apart.isEmpty else { continue }
          let path = register.path(driver.cell(name), unit)
          rows += try apart.count + compareIndex(driver, number, path, apart)
        }
      }
    }
    return rows
  }

  /// Where a cell lies: in the record's row, or in that of an element.
  private struct Place {
    var row: [UInt8]
    var body: Range<Int>
    var record: UInt32
  }

  private func place(_ driver: FoldDriver, _ record: Int, _ field: Int, _ row: [UInt8]) throws -> Place {
    let path = driver.path(field)
    let number = try RecordLayout.recordNumber(of: row.span.bytes)
    guard let element = path.element else {
      let place = try RecordLayout.place(of: path.cell, in: row.span.bytes)
      return Place(row: row, body: place.body, record: number)
    }
    let key = ElementKey(state: FoldNumbering.state, record: number, cell: path.cell, element: element)
    guard let row = driver.storage.readElement(key) else {
      return Place(row: [], body: 0..<0, record: number)
    }
    let identity = try ElementRow.identity(of: row.span.bytes)
    guard Array(row[identity]) == FoldCells.identity(history.cells.kind(of: field)) else {
      throw mismatch(driver, record, field, "the row of another element")
    }
    return Place(row: row, body: identity.upperBound..<row.count, record: number)
  }

  mutating func find(_ driver: FoldDriver, _ record: Int, _ field: Int) {
    history.findHeads(
      of: field, in: record, folded: driver.folded, received: driver.knowledge.received, into: &expected)
  }

  /// The heads in the row: winner and losers up to four, a large payload apart. Gives the number of such payloads.
  private func compareInline(
    _ driver: FoldDriver, _ record: Int, _ field: Int, _ place: Place, _ inline: InlineHeads
  ) throws -> Int {
    var apart = 0
    for index in 0..<inline.count {
      let head = inline[index]
      let payload = payload(expected[index], field, driver)
      guard isSame(head.head, expected[index], driver),
        head.isApart == (payload.count > Cell.inlinePayloadBytesMax)
      else { throw mismatch(driver, record, field) }
      if head.isApart {
        apart += 1
        history.coverage.valuesApart += 1
        let element = driver.storage.readElement(key(driver, field, place, head.head.id))
        guard let element,
          try OwnedHead(apart: element.span.bytes) == OwnedHead(head: head.head, payload: payload)
        else { throw mismatch(driver, record, field) }
      } else if !equalBytes(place.row.span.bytes.extracting(head.payload), payload.span.bytes) {
        throw mismatch(driver, record, field)
      }
    }
    return apart
  }

  /// The heads that the row has no room for: each in a row of its own. Gives their number.
  private func compareApart(
    _ driver: FoldDriver, _ record: Int, _ field: Int, _ place: Place, _ inline: Int
  ) throws -> Int {
    history.coverage.headsBeyondFour += expected.count - inline
    for head in expected[inline...] {
      let id = headID(head, driver)
      guard let element = driver.storage.readElement(key(driver, field, place, id)) else {
        throw mismatch(driver, record, field, "no row for a head apart")
      }
      let found = try OwnedHead(apart: element.span.bytes)
      guard isSame(found.head, head, driver), found.payload == payload(head, field, driver) else {
        throw mismatch(driver, record, field, "another row for a head apart")
      }
    }
    let heads = expected[inline...].map { Head(timestamp: $0.timestamp, id: headID($0, driver)) }
    return try heads.count + compareIndex(driver, place.record, driver.path(field), heads)
  }

  /// The index of heads that lie apart: it is there where they are many, and holds each. Gives the number of its rows.
  private func compareIndex(
    _ driver: FoldDriver, _ record: UInt32, _ path: CellPath, _ apart: [Head]
  ) throws -> Int {
    func fail(_ what: String) -> FoldMismatch {
      FoldMismatch(
        place: "the index of heads of \(path)", expected: ["\(apart.count) heads apart"], found: [what])
    }
    let storage = driver.storage
    guard storage.readElement(.apartIndex(of: FoldNumbering.state, record: record, path)) != nil else {
      guard apart.count <= driver.history.scannedHeadsMax else { throw fail("no index") }
      return 0
    }
    let rows = storage.elements(under: .apartOrder(of: FoldNumbering.state, record: record, path))
    let keys = apart.map { head in
      ElementKey.apartOrder(
        of: FoldNumbering.state, record: record, path, head, by: storage.replicaID(head.id.replica))
    }
    guard !apart.isEmpty, rows.map(\.key) == keys else { throw fail("\(rows.count) heads in the index") }
    history.coverage.indexesOfHeads += 1
    return 1 + rows.count
  }

  /// A counter's contributions that the row has no room for have a row with their sum. Gives the number of such rows.
  private func compareSum(
    _ driver: FoldDriver, _ record: Int, _ field: Int, _ place: Place, _ inline: Int
  ) throws -> Int {
    let key = ElementKey.sum(of: FoldNumbering.state, record: place.record, cell: driver.path(field).cell)
    let apart = expected[inline...].reduce(0) { $0 + $1.content }
    guard let element = driver.storage.readElement(key) else {
      if expected.count == inline { return 0 }
      throw mismatch(driver, record, field, "no row for the sum of what lies apart")
    }
    guard try CounterSum(element.span.bytes).counter.value == .int(Int64(apart)), expected.count > inline
    else { throw mismatch(driver, record, field, "another sum of what lies apart") }
    history.coverage.sumsApart += 1
    return 1
  }

  /// Contributions come in the order that a search for the next one finds.
  private func compareOrder(_ driver: FoldDriver, _ record: Int, _ field: Int) throws {
    let wanted = history.oracle.contributionOrder(expected)
    let found = try driver.contributions(of: record, field)
    history.coverage.contributions += wanted.count
    if wanted != expected.reversed() { history.coverage.reordered += 1 }
    let isSame =
      found.count == wanted.count && zip(found, wanted).allSatisfy { self.isSame($0.head, $1, driver) }
    if isSame { return }
    throw FoldMismatch(
      place: "order of \(Self.name(record, field))", expected: wanted.map { describe($0, field) },
      found: found.map { describe($0.head, [], field, driver) })
  }

  /// Of a record that has more than registers, these lie apart if they take over 1,500 bytes; a wide one is in blocks. Gives the
  /// number of parts.
  private mutating func compareParts(_ driver: FoldDriver, _ record: Int, _ row: [UInt8]) throws -> Int {
    let row = row.span.bytes
    if let blocks = try compareBlocks(driver, record, row) { return blocks }
    let (cells, registers) = try (
      RecordLayout.cells(of: row).filter { $0 != .existence },
      RecordLayout.cells(of: row).filter { $0 != .existence && $0.kind == .register }
    )
    let registersBytes = try registers.reduce(0) { try $0 + RecordLayout.place(of: $1, in: row).entry.count }
    let isDivided = cells.count > registers.count && registersBytes > 1500
    let key = ElementKey.registers(of: FoldNumbering.state, record: try RecordLayout.recordNumber(of: row))
    guard isDivided == (driver.storage.readElement(key) != nil) else {
      throw FoldMismatch(
        place: "record r\(record)", expected: ["a row \(isDivided ? "in two parts" : "that is whole")"],
        found: ["another"])
    }
    if isDivided { history.coverage.rowsDivided += 1 }
    return isDivided ? 1 : 0
  }

  /// The blocks of a wide record are not empty, nor larger than they may be, unless of one cell. Gives their number, nil if it is
  /// not wide.
  private func compareBlocks(_ driver: FoldDriver, _ record: Int, _ row: RawSpan) throws -> Int? {
    let name = FoldNumbering.records[record]
    let key = TableKey.record(FoldNumbering.state, name.span.bytes)
    var stored: [UInt8] = []
    guard driver.storage.readRecord(key.span, into: &stored), WideRow.isBase(stored.span.bytes) else {
      return nil
    }
    let prefix = ElementKey.blocks(of: FoldNumbering.state, record: try RecordLayout.recordNumber(of: row))
    let blocks = driver.storage.elements(under: prefix)
    for (_, block) in blocks {
      let alone = Array(row.bytes.prefix(6)) + block.dropFirst()
      let cells = try RecordLayout.cells(of: alone.span.bytes)
      guard cells.count == 1 || !cells.isEmpty && block.count <= 1 + 60 else {
        throw FoldMismatch(
          place: "a block of r\(record)", expected: ["at most 60 bytes, or one cell"],
          found: ["\(block.count) bytes of \(cells.count) cells"])
      }
    }
    history.coverage.rowsInBlocks += 1
    return blocks.count
  }

  /// The element rows of a record are those that its heads need, and no others.
  private func compareElements(_ driver: FoldDriver, _ record: Int, _ row: [UInt8], expected: Int) throws {
    let elements = driver.storage.contents.elements
    if elements.isEmpty && expected == 0 { return }
    let number = try RecordLayout.recordNumber(of: row.span.bytes)
    let prefix = ElementKey(state: FoldNumbering.state, record: number, cell: .existence).bytes.prefix(8)
    let found = elements.count { $0.key.starts(with: prefix) }
    guard found == expected else {
      throw FoldMismatch(
        place: "record r\(record)", expected: ["\(expected) element rows"], found: ["\(found) element rows"])
    }
  }

  /// One of the three policies, or two that differ by type: another one each time.
  private mutating func compareVisibility(_ driver: FoldDriver, _ record: Int) throws {
    existence.removeAll(keepingCapacity: true)
    for head in expected { existence.append(Self.existence(head, driver.numbering)) }
    let (policies, numbers) = Self.policies[history.coverage.comparisons % Self.policies.count]
    let types = expected.map { FoldHistory.isDead($0.content) ? nil : $0.content }
    let wanted = Oracle.visibleType(types) { policies[$0] }
    let found = ExistencePolicy.visibleType(of: existence, numbers).map(driver.numbering.type(of:))
    guard wanted == found else {
      throw FoldMismatch(
        place: "visibility of record r\(record) under policies \(policies)",
        expected: [wanted.map { "type \($0)" } ?? "hidden"], found: [found.map { "type \($0)" } ?? "hidden"])
    }
  }

  /// The policies of the two types, and the same by a store's numbers.
  private static let policies: [([ExistencePolicy], [NameNumber: ExistencePolicy])] = {
    let pairs: [[ExistencePolicy]] = [
      [.latest, .latest], [.deleteWins, .deleteWins], [.updateWins, .updateWins], [.latest, .deleteWins],
      [.updateWins, .deleteWins],
    ]
    let numbering = FoldNumbering(turn: 0)
    return pairs.map { policies in
      var numbers: [NameNumber: ExistencePolicy] = [:]
      for (type, policy) in policies.enumerated() where policy != .latest {
        numbers[numbering.number(ofType: type)] = policy
      }
      return (policies, numbers)
    }
  }()

  // MARK: Helpers

  private func count(_ knowledge: FoldKnowledge, _ record: Int, _ field: Int) {
    history.coverage.headsMax = max(history.coverage.headsMax, expected.count)
    let cell = history.cell(record, field)
    if expected.count > Cell.inlineHeadsMax {
      knowledge.wideCells.insert(cell)
    } else if !knowledge.wideCells.isEmpty, knowledge.wideCells.remove(cell) != nil {
      history.coverage.cellsBackToFour += 1
    }
    switch history.cells.kind(of: field) {
    case .existence, .register, .mapKey: break
    case .counter, .setElement, .contributions: return
    }
    guard expected.count > 1 else { return }
    history.coverage.conflicts += 1
    guard field < 0 else { return }
    let dead = expected.count { FoldHistory.isDead($0.content) }
    if dead > 0 && dead < expected.count { history.coverage.deletesAgainstUpdates += 1 }
    let places = Set(expected.compactMap { FoldHistory.place($0.content) })
    if places.count > 1 { history.coverage.movesAgainstMoves += 1 }
  }

  private func headID(_ head: OracleHead, _ driver: FoldDriver) -> HeadID {
    let identity = history.identities.firstIndex { $0.rawValue == head.replica.rawValue }!
    return HeadID(
      replica: driver.numbering.number(ofIdentity: identity), epoch: head.epoch,
      sequence: UInt64(head.sequence), index: UInt32(head.index))
  }

  private func key(_ driver: FoldDriver, _ field: Int, _ place: Place, _ head: HeadID) -> ElementKey {
    ElementKey(state: FoldNumbering.state, record: place.record, driver.path(field), head: head)
  }

  private func isSame(_ found: Head, _ expected: OracleHead, _ driver: FoldDriver) -> Bool {
    found.timestamp == expected.timestamp && found.id.sequence == UInt64(expected.sequence)
      && found.id.index == UInt32(expected.index) && found.id.epoch == expected.epoch
      && history.identities[driver.numbering.identity(of: found.id.replica)].rawValue
        == expected.replica.rawValue
  }

  private static func existence(_ head: OracleHead, _ numbering: FoldNumbering) -> Existence {
    if let place = FoldHistory.place(head.content) { return .moved(to: FoldOperation.places[place]) }
    return head.content == FoldHistory.dead ? .dead : .alive(type: numbering.number(ofType: head.content))
  }

  /// What a head's payload must be. That of an existence: 0; 1 and the type's number, which is below 128; or 2 and the place.
  func payload(_ head: OracleHead, _ field: Int, _ driver: FoldDriver) -> [UInt8] {
    switch history.cells.kind(of: field) {
    case .counter: return Self.encodedInteger(head.content)
    case .register, .mapKey: return FoldValue(rawValue: UInt8(head.content)).payload
    case .contributions:
      let base = history.transactions[head.transaction].base
      let seen: [UInt8] = base == 0 ? [0] : [1, UInt8(FoldNumbering.incarnation.rawValue), UInt8(base)]
      return seen + FoldValue(rawValue: UInt8(head.content)).payload
    case .setElement: return []
    case .existence: break
    }
    if head.content == FoldHistory.dead { return Self.dead }
    if let place = FoldHistory.place(head.content) { return Self.moved[place] }
    return Self.alive[Int(driver.numbering.number(ofType: head.content).rawValue)]
  }

  /// An integer below 64 as a value: its tag, and the number in zigzag form (the table of values).
  private static func encodedInteger(_ number: Int) -> [UInt8] {
    precondition(0..<64 ~= number, "a sum of \(number)")
    return [3, UInt8(2 * number)]
  }

  private static let dead: [UInt8] = [0]
  private static let moved: [[UInt8]] = [
    [2, 0, 1] + Array("x".utf8) + [2] + Array("p0".utf8),
    [2, 1] + Array("o".utf8) + [1] + Array("y".utf8) + [2] + Array("p1".utf8),
  ]
  private static let alive: [[UInt8]] = (0..<8).map { [1, $0] }
}
