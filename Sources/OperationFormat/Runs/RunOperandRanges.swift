/// The parts of the operand of an operation in a transaction, as ranges of its bytes.
struct RunOperandRanges: OperandVisitor {
  private(set) var key = 0..<0
  private(set) var units: [UnitReference] = []
  private(set) var origin: UnitReference?
  private(set) var values: [Range<Int>] = []
  private(set) var runs: [UnitSpan] = []
  private(set) var text = 0..<0
  /// The texts of the other place of a record that moves.
  private(set) var texts: [Range<Int>] = []

  /// Reads the operand of an operation. Only a ``BodyDecoder`` checks the last value of one.
  mutating func read(_ operation: OperationLayout, _ body: RawSpan) throws(FormatError) {
    units.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
    runs.removeAll(keepingCapacity: true)
    var reader = ByteReader(
      body.extracting(..<operation.operand.upperBound), at: operation.operand.lowerBound)
    switch operation.kind.payload {
    case .change: try FieldChange.read(operation.kind, from: &reader, into: &self)
    case .recordAndPlace, .recordTypeAndPlace: try readPlace(&reader)
    case .record, .recordAndType, .floor, .opaque: break
    }
    try reader.finish("operation.operand")
  }

  private mutating func readPlace(_ reader: inout ByteReader) throws(FormatError) {
    texts.removeAll(keepingCapacity: true)
    for _ in 0..<3 {
      let count = try reader.readCount("operation.place")
      texts.append(try reader.readBytes(count, "operation.place"))
    }
  }

  /// The number of the origin if it is an own unit.
  var ownOrigin: UInt64? { origin.flatMap { $0.maker == nil ? $0.number : nil } }

  mutating func key(_ text: Range<Int>, _ reader: borrowing ByteReader) { key = text }
  mutating func unit(_ unit: UnitReference) { units.append(unit) }
  mutating func origin(_ unit: UnitReference?) { origin = unit }
  mutating func count(ofValues count: Int) {}
  mutating func value(_ reader: inout ByteReader) throws(FormatError) {
    let start = reader.position
    try validateValue(&reader)
    values.append(start..<reader.position)
  }
  mutating func lastValue(_ reader: inout ByteReader) throws(FormatError) {
    values.append(try reader.readBytes(reader.remaining, "operation.value"))
  }
  mutating func run(_ run: UnitSpan) { runs.append(run) }
  mutating func text(_ text: Range<Int>, _ reader: borrowing ByteReader) { self.text = text }
}

extension UnitCursor {
  /// Whether it expects the first unit of an operand.
  func expects(_ operand: borrowing RunOperandRanges, _ parts: RunOperand) -> Bool {
    if parts.tail == .runs {
      return operand.runs.count == 1
        && operand.runs[0].first == UnitReference(number: removal(of: operand.runs[0].count))
    }
    return parts.hasOrigin && !parts.hasUnit && operand.origin == unit.map { UnitReference(number: $0) }
  }
}

extension RunValueForm {
  /// The shortest form of an encoded value.
  init(of value: RawSpan) {
    switch ValueTag(rawValue: value.unsafeLoad(fromByteOffset: 0, as: UInt8.self)) {
    case .int: self = .int
    case .string: self = .string
    case .date: self = .date
    case .uuid: self = .uuid
    case .reference where value.unsafeLoad(fromByteOffset: 2, as: UInt8.self) == 0:
      self =
        switch value.unsafeLoad(fromByteOffset: 1, as: UInt8.self) {
        case ReferenceRule.none.rawValue: .reference
        case ReferenceRule.cascade.rawValue: .cascade
        default: .nullify
        }
    default: self = .plain
    }
  }
}

/// How many Unicode scalars UTF-8 has; of other bytes, how many do not continue one.
func scalarCount(_ text: RawSpan) -> UInt64 {
  var count: UInt64 = 0
  for offset in 0..<text.byteCount
  where text.unsafeLoad(fromByteOffset: offset, as: UInt8.self) & 0xc0 != 0x80 {
    count += 1
  }
  return count
}
