/// Names a unit of a list or a text: the place of an element, or a Unicode scalar.
///
/// A replica's epoch counts the units that it inserts in a cell, from 0. Text form: the number, or `replica.epoch.number` where
/// the maker is named.
public struct UnitReference: Hashable, Sendable, LosslessStringConvertible {
  /// Who inserted it; nil for the replica and epoch of the transaction that says so.
  public var maker: UnitMaker?
  /// Its number among those that its maker inserted in the cell, from 0.
  public var number: UInt64

  /// Creates a reference.
  public init(maker: UnitMaker? = nil, number: UInt64) {
    self.maker = maker
    self.number = number
  }

  /// Parses the text form; nil for anything else.
  public init?(_ text: String) {
    var scanner = TextScanner(text)
    if let number = scanner.decimal(), scanner.isAtEnd {
      self.init(number: number)
      return
    }
    scanner = TextScanner(text)
    guard let replica = scanner.hexadecimal(digits: 32), scanner.skip("."),
      let epoch = scanner.decimal(max: UInt64(UInt32.max)), scanner.skip("."),
      let number = scanner.decimal(), scanner.isAtEnd
    else { return nil }
    self.init(
      maker: UnitMaker(replica: ReplicaID(rawValue: replica), epoch: UInt32(epoch)), number: number)
  }

  /// The number, or `replica.epoch.number`.
  public var description: String { (maker.map { "\($0.replica).\($0.epoch)." } ?? "") + "\(number)" }
}

/// A replica in one of its epochs, as the maker of units.
public struct UnitMaker: Hashable, Sendable {
  public var replica: ReplicaID
  public var epoch: UInt32

  /// Creates the name of a maker.
  public init(replica: ReplicaID, epoch: UInt32) {
    self.replica = replica
    self.epoch = epoch
  }
}

/// Units of one maker with consecutive numbers.
public struct UnitSpan: Hashable, Sendable {
  public var first: UnitReference
  /// How many, from 1. The last one's number must be one of 64 bits.
  public var count: UInt64

  /// Creates a run.
  public init(first: UnitReference, count: UInt64) {
    self.first = first
    self.count = count
  }
}

/// Reads the units that one operation names.
///
/// A unit:
///
/// | bytes | what |
/// |---|---|
/// | varint | 0 for none (of an origin alone: the start); 1 for the transaction's own replica and epoch; 2 for another maker, who follows; from 3 on, those who followed so far in this operation |
/// | 16, varint | with 2: replica (big-endian) and epoch |
/// | varint | but for none: the number |
///
/// A run is a unit, then a count (varint, from 1). One who followed already does not follow again.
package struct UnitReader {
  private var makers: [UnitMaker] = []

  package init() {}

  /// Reads an origin; nil for the start.
  package mutating func readOrigin(_ reader: inout ByteReader) throws(FormatError) -> UnitReference? {
    let start = reader.position
    let code = try reader.readVarint("operation.unit")
    return code == 0 ? nil : try read(code, at: start, &reader)
  }

  /// Reads a unit.
  package mutating func readUnit(_ reader: inout ByteReader) throws(FormatError) -> UnitReference {
    let start = reader.position
    return try read(try reader.readVarint("operation.unit", in: 1 ... .max), at: start, &reader)
  }

  /// Reads a run.
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

  private mutating func read(
    _ code: UInt64, at start: Int, _ reader: inout ByteReader
  ) throws(FormatError) -> UnitReference {
    var maker: UnitMaker?
    if code == 2 {
      let replica = try ReplicaID.read(from: &reader, "operation.unit.replica")
      let epoch = UInt32(try reader.readVarint("operation.unit.epoch", in: 0...UInt64(UInt32.max)))
      let found = UnitMaker(replica: replica, epoch: epoch)
      guard !makers.contains(found) else {
        throw reader.fail(
          .nonCanonical, at: start, "operation.unit", expected: "the number of a maker who was named",
          found: "the maker again")
      }
      guard makers.count < Limits.operationMakersMax else {
        throw reader.fail(
          .limitExceeded, at: start, "operation.unit",
          expected: "at most \(Limits.operationMakersMax) makers",
          found: "more")
      }
      makers.append(found)
      maker = found
    } else if code > 2 {
      guard code - 3 < UInt64(makers.count) else {
        throw reader.fail(
          .invalid, at: start, "operation.unit", expected: "one of \(makers.count) makers",
          found: "number \(code - 3)")
      }
      maker = makers[Int(code - 3)]
    }
    return UnitReference(maker: maker, number: try reader.readVarint("operation.unit.number"))
  }
}

/// Writes the units that one operation names: see ``UnitReader``.
package struct UnitWriter {
  private var makers: [UnitMaker] = []

  package init() {}

  package mutating func append(_ unit: UnitReference?, to writer: inout ByteWriter) {
    guard let unit else { return writer.append(0) }
    if let maker = unit.maker {
      if let index = makers.firstIndex(of: maker) {
        writer.append(count: index + 3)
      } else {
        makers.append(maker)
        writer.append(2)
        writer.append(bigEndian: maker.replica.rawValue)
        writer.append(varint: UInt64(maker.epoch))
      }
    } else {
      writer.append(1)
    }
    writer.append(varint: unit.number)
  }

  package mutating func append(_ run: UnitSpan, to writer: inout ByteWriter) {
    append(run.first, to: &writer)
    writer.append(varint: run.count)
  }
}
