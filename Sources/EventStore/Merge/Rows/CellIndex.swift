import OperationFormat

/// The cells of a record's row, but its creation, and where they are.
///
/// A cell is found from the row's start on. Who reads all cells of a wide row, one after the other, does it
/// through this: each from its own row, in time linear in the bytes of all.
struct CellIndex {
  struct Entry {
    var cell: CellNumber
    /// Where its number, its length and its body are.
    var bytes: Range<Int>
    var body: Range<Int>
  }

  /// From so many bytes on, each cell is read from its own row.
  private static let wideBytes = 4096

  /// In ascending order of the cells.
  let entries: [Entry]
  /// Where the header and the cell of existence end.
  private let start: Int

  /// - Throws: `FormatError` if the cells are not whole, or not in ascending order.
  init(_ row: RawSpan) throws(FormatError) {
    var entries: [Entry] = []
    var reader = try RecordRow.cellReader(of: row)
    var existenceEnd = reader.position
    var last: CellNumber?
    while reader.remaining > 0 {
      let start = reader.position
      let (cell, body) = try RecordRow.nextCell(&reader)
      if let last, last >= cell {
        throw FormatError(
          .damaged, at: start, in: "record row", expected: "cells in ascending order",
          found: "\(cell.rawValue) after \(last.rawValue)")
      }
      last = cell
      if cell == .existence { existenceEnd = body.upperBound }
      if cell == .creation { continue }
      entries.append(Entry(cell: cell, bytes: start..<body.upperBound, body: body))
    }
    (self.entries, start) = (entries, existenceEnd)
  }

  /// Where a cell is; an empty place if the row does not have it.
  func entry(of cell: CellNumber) -> Entry {
    let index = entries.prefixCount { $0.cell < cell }
    return index < entries.count && entries[index].cell == cell
      ? entries[index] : Entry(cell: cell, bytes: start..<start, body: start..<start)
  }

  /// Calls a closure with a row that has a cell, and existence: all of the row, or, of a wide one, nothing
  /// else.
  func withRow<R>(of entry: Entry, in row: RawSpan, _ body: (RawSpan) throws -> R) throws -> R {
    guard row.byteCount > Self.wideBytes else { return try body(row) }
    var bytes = row.extracting(..<start).bytes
    if entry.cell != .existence { bytes += row.extracting(entry.bytes).bytes }
    return try body(bytes.span.bytes)
  }
}
