// The bytes of units: see ``TransactionFormat``. ``UnitWriter`` and ``UnitReader`` are twins. Use a new one
// for each operation, because a maker is written in full only once in an operation.

/// The codes before a unit. A greater code is the index, from 0, of a maker that was written before.
enum UnitCode {
  static let none: UInt64 = 0
  static let ownMaker: UInt64 = 1
  static let newMaker: UInt64 = 2
  static let firstKnownMaker: UInt64 = 3
}

/// Writes the units of one operation.
struct UnitWriter {
  private var makers: [UnitMaker] = []

  /// Appends the unit after which something is inserted; nil for the start.
  mutating func appendOrigin(_ unit: UnitReference?, to writer: inout ByteWriter) {
    guard let unit else { return writer.append(varint: UnitCode.none) }
    appendUnit(unit, to: &writer)
  }

  mutating func appendUnit(_ unit: UnitReference, to writer: inout ByteWriter) {
    if let maker = unit.maker {
      appendMaker(maker, to: &writer)
    } else {
      writer.append(varint: UnitCode.ownMaker)
    }
    writer.append(varint: unit.number)
  }

  mutating func appendRun(_ run: UnitSpan, to writer: inout ByteWriter) {
    appendUnit(run.first, to: &writer)
    writer.append(varint: run.count)
  }

  private mutating func appendMaker(_ maker: UnitMaker, to writer: inout ByteWriter) {
    if let index = makers.firstIndex(of: maker) {
      return writer.append(varint: UnitCode.firstKnownMaker + UInt64(index))
    }
    makers.append(maker)
    writer.append(varint: UnitCode.newMaker)
    writer.append(bigEndian: maker.replica.rawValue)
    writer.append(varint: UInt64(maker.epoch))
  }
}

/// Reads the units of one operation.
package struct UnitReader {
  private var makers: [UnitMaker] = []

  package init() {}

  /// Reads the unit after which something is inserted; nil for the start.
  package mutating func readOrigin(_ reader: inout ByteReader) throws(FormatError) -> UnitReference? {
    let start = reader.position
    let code = try reader.readVarint("operation.unit")
    return code == UnitCode.none ? nil : try readUnit(code, at: start, &reader)
  }

  package mutating func readUnit(_ reader: inout ByteReader) throws(FormatError) -> UnitReference {
    let start = reader.position
    return try readUnit(try reader.readVarint("operation.unit", in: 1 ... .max), at: start, &reader)
  }

  package mutating func readRun(_ reader: inout ByteReader) throws(FormatError) -> UnitSpan {
    let start = reader.position
    let first = try readUnit(&reader)
    let count = try reader.readVarint("operation.run", in: 1 ... .max)
    guard !first.number.addingReportingOverflow(count).overflow else {
      throw reader.fail(
        .invalid, at: start, "operation.run", expected: "numbers of 64 bits", found: "greater ones")
    }
    return UnitSpan(first: first, count: count)
  }

  /// Reads the rest of a unit after its code, which is at `start`.
  private mutating func readUnit(
    _ code: UInt64, at start: Int, _ reader: inout ByteReader
  ) throws(FormatError) -> UnitReference {
    let maker = code == UnitCode.ownMaker ? nil : try readMaker(code, at: start, &reader)
    return UnitReference(maker: maker, number: try reader.readVarint("operation.unit.number"))
  }

  private mutating func readMaker(
    _ code: UInt64, at start: Int, _ reader: inout ByteReader
  ) throws(FormatError) -> UnitMaker {
    if code >= UnitCode.firstKnownMaker {
      let index = code - UnitCode.firstKnownMaker
      guard index < UInt64(makers.count) else {
        throw reader.fail(
          .invalid, at: start, "operation.unit", expected: "one of \(makers.count) makers",
          found: "number \(index)")
      }
      return makers[Int(index)]
    }
    let replica = try ReplicaID.read(from: &reader, "operation.unit.replica")
    let epoch = UInt32(try reader.readVarint("operation.unit.epoch", in: 0...UInt64(UInt32.max)))
    let maker = UnitMaker(replica: replica, epoch: epoch)
    guard !makers.contains(maker) else {
      throw reader.fail(
        .nonCanonical, at: start, "operation.unit", expected: "the number of a maker that was written before",
        found: "the maker again")
    }
    guard makers.count < Limits.operationMakersMax else {
      throw reader.fail(
        .limitExceeded, at: start, "operation.unit",
        expected: "at most \(Limits.operationMakersMax) makers",
        found: "more")
    }
    makers.append(maker)
    return maker
  }
}
