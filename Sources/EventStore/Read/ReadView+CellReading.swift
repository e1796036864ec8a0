import LMDB
import OperationFormat

/// Rows and names as the reader of cells needs them: see ``CellReading``.
extension ReadView: CellReading {
  func withElement<R>(_ key: ElementKey, _ body: (RawSpan) throws -> R) throws -> R? {
    try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements, body)
  }

  func forEachElement(
    under prefix: ElementKey, from key: ElementKey, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    try rows.forEachElement(under: prefix, from: key, body)
  }

  func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    try transaction.withValue(of: key, in: tables.runs, body)
  }

  func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    try rows.withLastRun(atMost: key, prefixBytes: prefixBytes, body)
  }

  func shown(_ value: Value, in row: StoredRow, _ state: StateNumber) throws -> Value? {
    guard value.mayNameRecords, row.flags.contains(.refers) else { return value }
    return try ReferenceReader(self).shown(value, state)
  }

  func sight(in state: StateNumber) throws -> ReadViewSight {
    ReadViewSight(self, zone: try states.storedRow(of: state).zone)
  }
}
