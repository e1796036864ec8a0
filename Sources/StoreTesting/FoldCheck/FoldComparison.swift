import EventStore
import OperationFormat

/// Compares a storage's rows with the oracle's heads: all heads with their payloads, in their order, each in
/// the row where it belongs.
struct FoldComparison {
  let history: FoldHistory
  let words: FoldWords
  var expected: [OracleHead] = []

  init(_ history: FoldHistory) {
    self.history = history
    words = FoldWords(history: history)
  }

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
          place: "\(place()), \(FoldWords.name(record, field)) as the fold reads it",
          expected: expected.map { words.describe($0, field) },
          found: found.map { words.describe($0.head, $0.payload, field, driver) })
      }
    }
  }

  // MARK: One record

  private mutating func compare(_ driver: FoldDriver, record: Int) throws {
    history.coverage.comparisons += 1
    let name = FoldNumbering.records[record]
    let row = try driver.storage.row(of: name.span.bytes, in: FoldNumbering.state)
    // The cells that the row must have, and the number of elements of those that have elements.
    var cells: Set<CellNumber> = []
    var elements: [CellNumber: Int] = [:]
    var apart = 0
    for field in -1..<history.cells.ofFields.upperBound
    where field < 0 || history.oracle.isUsed(history.cell(record, field)) {
      find(driver, record, field)
      if expected.isEmpty && row == nil { continue }
      guard let row else { throw mismatch(driver, record, field, "no row") }
      let place = try place(driver, record, field, row)
      let inline = try RecordRow.heads(of: place.body, in: place.row.span.bytes)
      guard inline.total == expected.count, place.body.isEmpty == expected.isEmpty else {
        throw mismatch(driver, record, field)
      }
      if expected.isEmpty { continue }
      let path = driver.path(field)
      cells.insert(path.cell)
      if path.element != nil {
        elements[path.cell, default: 0] += 1
        apart += 1
      }
      apart += try compareInline(driver, record, field, place, inline)
      if expected.count > inline.count {
        apart += try compareApart(driver, record, field, place, inline.count)
      }
      let traits = history.cells.traits(of: field)
      if traits.contains(.isSum) {
        apart += try compareSum(driver, record, field, place, inline.count)
      }
      if traits.contains(.isOrdered) { try compareOrder(driver, record, field) }
      if field < 0 && (expected.count > 1 || history.coverage.comparisons.isMultiple(of: 8)) {
        try FoldVisibility.compare(expected, driver, record)
      }
      count(driver.knowledge, record, field)
    }
    for place in history.sequences.indices where history.sequences[place].name.record == record {
      apart += try compareSequence(driver, at: place, &cells)
    }
    if !driver.floors.isEmpty, history.flooredRecord(record, driver.view).effects.contains(.dropped) {
      history.coverage.recordsDropped += 1
    }
    guard let row else { return }
    try compareCreation(driver, record, row)
    let found = try RecordRow.cells(of: row.span.bytes)
    guard !cells.isEmpty, found == cells.sorted() else {
      throw FoldMismatch(
        place: "record r\(record)", expected: ["cells \(cells.sorted())"], found: ["cells \(found)"])
    }
    for (cell, count) in elements {
      let body = try RecordRow.place(of: cell, in: row.span.bytes).body
      let found = try ElementRow.count(in: row.span.bytes.extracting(body))
      guard found == count else {
        throw FoldMismatch(
          place: "cell \(cell.rawValue) of r\(record)", expected: ["\(count) elements"],
          found: ["\(found) elements"])
      }
      history.coverage.elements += count
    }
    let rows = FoldRowComparison(driver: driver, record: record, row: row)
    apart += try rows.compareParts()
    try rows.compareElements(expected: apart)
    try compareReferences(driver, record, row)
  }

  /// The row says which of the operations that created the record came first.
  private func compareCreation(_ driver: FoldDriver, _ record: Int, _ row: [UInt8]) throws {
    let expected = history.creation(of: record, driver.view)
    let body = try RecordRow.place(of: .creation, in: row.span.bytes).body
    let found = try RecordRow.creation(in: row.span.bytes)
    if let found, let expected, isSame(found, expected, driver, anyIndex: true) { return }
    if Array(row[body]) == [0] && expected == nil { return }
    throw FoldMismatch(
      place: "creation of r\(record)", expected: [expected.map { words.describe($0, -1) } ?? "none"],
      found: [found.map { "\($0)" } ?? "\(row[body])"])
  }

  /// The row that a cell is in: the record's, or that of an element.
  private struct Place {
    var row: [UInt8]
    var body: Range<Int>
    var record: UInt32
  }

  private func place(_ driver: FoldDriver, _ record: Int, _ field: Int, _ row: [UInt8]) throws -> Place {
    let path = driver.path(field)
    let number = try RecordRow.recordNumber(of: row.span.bytes)
    guard let element = path.element else {
      let place = try RecordRow.place(of: path.cell, in: row.span.bytes)
      return Place(row: row, body: place.body, record: number)
    }
    let key = ElementKey(state: FoldNumbering.state, record: number, cell: path.cell, element: element)
    guard let row = driver.storage.readElement(key) else {
      return Place(row: [], body: 0..<0, record: number)
    }
    let identity = try ElementRow.identity(of: row.span.bytes)
    guard Array(row[identity]) == history.cells.identity(of: field) else {
      throw mismatch(driver, record, field, "the row of another element")
    }
    return Place(row: row, body: identity.upperBound..<row.count, record: number)
  }

  mutating func find(_ driver: FoldDriver, _ record: Int, _ field: Int) {
    history.findHeads(of: field, in: record, driver.view, into: &expected)
  }

  /// The heads in the row: at most four, the winner first. A large payload has its own row. Returns the
  /// number of such payloads.
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

  /// The heads that the row has no room for: each has its own row, but for addends, which share some. Returns
  /// the number of rows.
  private func compareApart(
    _ driver: FoldDriver, _ record: Int, _ field: Int, _ place: Place, _ inline: Int
  ) throws -> Int {
    history.coverage.headsBeyondFour += expected.count - inline
    var rows: [ElementKey: [OracleHead]] = [:]
    // Of each row the greatest, and the greatest of these first.
    var greatest: [Head] = []
    for head in expected[inline...] {
      let id = headID(head, driver)
      let key = key(driver, field, place, id)
      if rows[key] == nil { greatest.append(Head(timestamp: head.timestamp, id: id)) }
      rows[key, default: []].append(head)
    }
    for (key, heads) in rows {
      guard let element = driver.storage.readElement(key) else {
        throw mismatch(driver, record, field, "no row for a head apart")
      }
      let found = try ApartRow(element.span.bytes).heads
      let wanted = heads.sorted { ($0.sequence, $0.index) < ($1.sequence, $1.index) }
      guard found.count == wanted.count,
        zip(found, wanted).allSatisfy({
          isSame($0.head, $1, driver) && $0.payload == payload($1, field, driver)
        })
      else { throw mismatch(driver, record, field, "another row for a head apart") }
      if found.count > 1 { history.coverage.sharedRows += 1 }
    }
    return try rows.count
      + compareIndex(driver, place.record, driver.path(field), greatest, of: expected.count - inline)
  }

  /// Many heads that are stored apart have an index, which has the greatest of each row. Returns the number of
  /// its rows.
  func compareIndex(
    _ driver: FoldDriver, _ record: UInt32, _ path: CellPath, _ apart: [Head], of count: Int
  ) throws -> Int {
    func fail(_ what: String) -> FoldMismatch {
      FoldMismatch(
        place: "the index of heads of \(path)", expected: ["\(apart.count) rows of heads apart"],
        found: [what])
    }
    let storage = driver.storage
    guard storage.readElement(.apartIndex(of: FoldNumbering.state, record: record, path)) != nil else {
      guard count <= driver.history.scannedHeadsMax else { throw fail("no index") }
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

  /// The contributions of a counter that the row has no room for have a row with their sum. Returns the
  /// number of such rows.
  private func compareSum(
    _ driver: FoldDriver, _ record: Int, _ field: Int, _ place: Place, _ inline: Int
  ) throws -> Int {
    let key = ElementKey.sum(of: FoldNumbering.state, record: place.record, cell: driver.path(field).cell)
    let apart = expected[inline...].reduce(0) { $0 + $1.content }
    guard let element = driver.storage.readElement(key) else {
      if expected.count == inline { return 0 }
      throw mismatch(driver, record, field, "no row for the sum of the heads outside the row")
    }
    guard try CounterSum(element.span.bytes).counter.value == .int(Int64(apart)), expected.count > inline
    else { throw mismatch(driver, record, field, "another sum of the heads outside the row") }
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
    guard isSame else {
      throw FoldMismatch(
        place: "order of \(FoldWords.name(record, field))",
        expected: wanted.map { words.describe($0, field) },
        found: found.map { words.describe($0.head, [], field, driver) })
    }
    try compareWithoutFloors(wanted, driver, record, field)
  }

  /// Where no change of a record came too late for a floor, and none dropped it, floors change nothing of an order.
  private func compareWithoutFloors(
    _ found: [OracleHead], _ driver: FoldDriver, _ record: Int, _ field: Int
  ) throws {
    var view = driver.view
    guard !view.floors.isEmpty, !history.oracle.hasLateTransactions(on: history.cell(record, -1), view),
      !history.flooredRecord(record, view).effects.contains(.dropped)
    else { return }
    view.floors = []
    var heads: [OracleHead] = []
    history.findHeads(of: field, in: record, view, into: &heads)
    let wanted = history.oracle.contributionOrder(heads)
    if wanted.map(\.content) == found.map(\.content) {
      if found.contains(where: \.isCompacted), found.count > 1 { history.coverage.ordersBelowFloors += 1 }
      return
    }
    throw FoldMismatch(
      place: "order of \(FoldWords.name(record, field)) without floors",
      expected: wanted.map { words.describe($0, field) }, found: found.map { words.describe($0, field) })
  }

  // MARK: Helpers

  private func count(_ knowledge: FoldKnowledge, _ record: Int, _ field: Int) {
    history.coverage.headsMax = max(history.coverage.headsMax, expected.count)
    history.coverage.compactedHeads += expected.count(where: \.isCompacted)
    let cell = history.cell(record, field)
    if expected.count > Cell.inlineHeadsMax {
      knowledge.wideCells.insert(cell)
    } else if !knowledge.wideCells.isEmpty, knowledge.wideCells.remove(cell) != nil {
      history.coverage.cellsBackToFour += 1
    }
    guard expected.count > 1, history.cells.traits(of: field).contains(.hasWinner) else { return }
    history.coverage.conflicts += 1
    guard field < 0 else { return }
    let dead = expected.count { FoldExistence.isDead($0.content) }
    if dead > 0 && dead < expected.count { history.coverage.deletesAgainstUpdates += 1 }
    let places = Set(expected.compactMap { FoldExistence.place($0.content) })
    if places.count > 1 { history.coverage.movesAgainstMoves += 1 }
  }

  private func headID(_ head: OracleHead, _ driver: FoldDriver) -> HeadID {
    let identity = history.identities.firstIndex { $0.rawValue == head.replica.rawValue }!
    return HeadID(
      replica: driver.numbering.number(ofIdentity: identity), epoch: head.epoch,
      sequence: history.sequence(of: head), index: UInt32(head.index))
  }

  private func key(_ driver: FoldDriver, _ field: Int, _ place: Place, _ head: HeadID) -> ElementKey {
    ElementKey(state: FoldNumbering.state, record: place.record, driver.path(field), head: head)
  }

  private func isSame(
    _ found: Head, _ expected: OracleHead, _ driver: FoldDriver, anyIndex: Bool = false
  ) -> Bool {
    found.timestamp == expected.timestamp
      && found.id.sequence == history.sequence(of: expected)
      && (anyIndex || found.id.index == UInt32(expected.index)) && found.id.epoch == expected.epoch
      && history.identities[driver.numbering.identity(of: found.id.replica)].rawValue
        == expected.replica.rawValue
  }

  /// The payload that a head must have.
  func payload(_ head: OracleHead, _ field: Int, _ driver: FoldDriver) -> [UInt8] {
    let base = head.isCompacted ? head.lastPlace : history.transactions[head.transaction].base
    return history.cells.kind(of: field).payload(
      head.content, FoldPayloadNumbers(numbering: driver.numbering, base: base))
  }

  /// A mismatch with the expected heads of the compared cell, and those in the storage.
  func mismatch(_ driver: FoldDriver, _ record: Int, _ field: Int, _ note: String? = nil) -> FoldMismatch {
    var found: [String]
    do {
      found = try (driver.heads(of: record, field) ?? []).map {
        words.describe($0.head, $0.payload, field, driver)
      }
    } catch {
      found = ["an error: \(error)"]
    }
    if let note { found.append("(\(note))") }
    return FoldMismatch(
      place: FoldWords.name(record, field), expected: expected.map { words.describe($0, field) }, found: found
    )
  }
}
