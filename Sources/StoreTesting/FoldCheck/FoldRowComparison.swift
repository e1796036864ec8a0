import EventStore
import OperationFormat

/// Compares how the rows of one record are divided with the rules for that.
struct FoldRowComparison {
  let driver: FoldDriver
  let record: Int
  /// The whole row, put together from its parts.
  let row: [UInt8]

  /// The registers of a record that has other cells too have a row of their own if they take over 1,500
  /// bytes. A wide record is in blocks.
  ///
  /// - Returns: the number of rows beside the record's own.
  func compareParts() throws -> Int {
    let row = row.span.bytes
    if let blocks = try compareBlocks(row) { return blocks }
    let (cells, registers) = try (
      RecordRow.cells(of: row).filter { $0 != .existence },
      RecordRow.cells(of: row).filter { $0 != .existence && Self.isRegister($0) }
    )
    let registersBytes = try registers.reduce(0) { try $0 + RecordRow.place(of: $1, in: row).entry.count }
    let isDivided = cells.count > registers.count && registersBytes > 1500
    let key = ElementKey.registers(of: FoldNumbering.state, record: try RecordRow.recordNumber(of: row))
    guard isDivided == (driver.storage.readElement(key) != nil) else {
      throw FoldMismatch(
        place: "record r\(record)", expected: ["a row \(isDivided ? "in two parts" : "that is whole")"],
        found: ["another"])
    }
    if isDivided { driver.history.coverage.rowsDivided += 1 }
    return isDivided ? 1 : 0
  }

  /// The blocks of a wide record are not empty, and only a block of one cell is larger than the limit.
  ///
  /// - Returns: the number of blocks; nil if the record is not wide.
  private func compareBlocks(_ row: RawSpan) throws -> Int? {
    let name = FoldNumbering.records[record]
    let key = TableKey.record(FoldNumbering.state, name.span.bytes)
    guard driver.storage.withRecord(key.span, { $0.isWideBase }) ?? false else { return nil }
    let prefix = ElementKey.blocks(of: FoldNumbering.state, record: try RecordRow.recordNumber(of: row))
    let blocks = driver.storage.elements(under: prefix)
    for (_, block) in blocks {
      let asRow = Array(row.bytes.prefix(6)) + block.dropFirst()
      let count = try RecordRow.cells(of: asRow.span.bytes).count
      guard count == 1 || count > 0 && block.count <= 1 + 60 else {
        throw FoldMismatch(
          place: "a block of r\(record)", expected: ["at most 60 bytes, or one cell"],
          found: ["\(block.count) bytes of \(count) cells"])
      }
    }
    driver.history.coverage.rowsInBlocks += 1
    return blocks.count
  }

  /// The element rows of a record are those that its heads need, and no others.
  func compareElements(expected: Int) throws {
    let elements = driver.storage.contents.elements
    if elements.isEmpty && expected == 0 { return }
    let number = try RecordRow.recordNumber(of: row.span.bytes)
    let prefix = ElementKey(state: FoldNumbering.state, record: number, cell: .existence).bytes.prefix(8)
    let found = elements.count { $0.key.starts(with: prefix) }
    guard found == expected else {
      throw FoldMismatch(
        place: "record r\(record)", expected: ["\(expected) element rows"], found: ["\(found) element rows"])
    }
  }

  private static func isRegister(_ cell: CellNumber) -> Bool {
    cell.kind?.foldCells?.traits.contains(.isRegister) ?? false
  }
}
