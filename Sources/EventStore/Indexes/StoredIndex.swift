import OperationFormat
import Synchronization

/// The number of an index in its store, from 1. No other index gets it.
typealias IndexNumber = UInt16

/// An index as the store keeps it.
///
/// Its row, under state 0 and its number, ends with a checksum:
///
/// | bytes | what |
/// |---|---|
/// | 1 | version, 1 |
/// | 1 | 0 it is built; 1 it is being built; 2 it is removed: its entries go in steps |
/// | 1 | one bit for each part that has, or had, references, from the lowest |
/// | varint, counted | up to where it is built: a state, and a record's name |
/// | rest | ``IndexDefinition``, as a value |
struct StoredIndex: Hashable, Sendable {
  enum Status: UInt8, Sendable {
    case built = 0
    case building = 1
    case removed = 2
  }

  let number: IndexNumber
  let definition: IndexDefinition
  var status = Status.building
  /// The parts that have, or had, references, one bit for each. What they read as may change with other records, so
  /// only a search for one may use them.
  var referenceParts: UInt8 = 0
  /// Up to where it is built.
  var mark = IndexMark()

  init(_ number: IndexNumber, _ definition: IndexDefinition) {
    (self.number, self.definition) = (number, definition)
  }

  func append(to writer: inout ByteWriter) throws {
    writer.append(1)
    writer.append(status.rawValue)
    writer.append(referenceParts)
    writer.append(varint: UInt64(mark.state.rawValue))
    writer.append(text: mark.name.rawValue)
    try writer.append(definition.stored.encoded())
  }

  init(_ row: RawSpan, _ number: IndexNumber) throws(FormatError) {
    var reader = ByteReader(row)
    try reader.expectVersion("index row")
    let byte = try reader.readUInt8("index.status")
    guard let status = Status(rawValue: byte) else {
      throw FormatError(.unknownTag, at: 1, in: "index.status", expected: "0 to 2", found: "\(byte)")
    }
    let referenceParts = try reader.readUInt8("index.references")
    let state = StateNumber(rawValue: try reader.readUInt32Varint("index.state"))
    let count = try reader.readCount("index.name")
    let name = reader.string(in: try reader.readBytes(count, "index.name"))
    let stored = try Value(decoding: row.extracting(reader.position...))
    guard let definition = IndexDefinition(stored: stored) else {
      throw FormatError(
        .damaged, at: reader.position, in: "index.definition", expected: "a definition of this version",
        found: "another")
    }
    self.init(number, definition)
    (self.status, self.referenceParts) = (status, referenceParts)
    mark = IndexMark(state: state, name: Name(name))
  }
}

/// A record up to which an index is built: of the states in the order of their numbers, of the records in the order of
/// their names.
struct IndexMark: Hashable, Comparable, Sendable {
  var state = StateNumber.none
  var name: Name = ""

  static func < (left: IndexMark, right: IndexMark) -> Bool {
    (left.state, left.name) < (right.state, right.name)
  }
}

/// The indexes as their rows said when they were last read: each transaction asks for all, and they hardly ever change.
final class ReadIndexes: Sendable {
  private let known = Mutex<[IndexNumber: (row: [UInt8], index: StoredIndex)]>([:])

  /// The index of a row; read from it unless the last row of that number had the same bytes.
  func index(_ number: IndexNumber, of row: RawSpan, read: () throws -> StoredIndex) throws -> StoredIndex {
    let found = known.withLock { $0[number] }
    if let found, equalBytes(found.row.span.bytes, row) { return found.index }
    let index = try read()
    known.withLock { $0[number] = (row.bytes, index) }
    return index
  }
}
