import OperationFormat
import StoreTesting

@testable import EventStore

/// Makes rows of version 1 with cells of all kinds, whose heads are of few transactions or of many.
struct RandomRow {
  private var random: SeededRandom
  private let stamps: [Head]
  private var index: UInt32

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let isLarge = random.next(below: 4) == 0
    var stamps: [Head] = []
    for _ in 0..<[1, 1, 2, 4, 7, 45][random.next(below: 6)] {
      let milliseconds = UInt64(random.next(in: 0...3_000_000)) + (isLarge ? 0 : 1_700_000_000_000)
      let timestamp = Timestamp(
        milliseconds: isLarge && random.next(below: 3) == 0 ? Timestamp.millisecondsMax : milliseconds,
        counter: random.next(below: 3) == 0
          ? UInt16(random.next(in: 0...65_535)) : UInt16(random.next(in: 0...40)))
      stamps.append(
        Head(
          timestamp: timestamp,
          id: HeadID(
            replica: ReplicaNumber(rawValue: isLarge ? UInt32(random.next(in: 0...4_000_000_000)) : 1),
            epoch: random.next(below: 3) == 0 ? UInt32(random.next(in: 0...700)) : 0,
            sequence: isLarge ? UInt64(random.next(in: 0...(1 << 62))) : UInt64(random.next(in: 1...40_000)),
            index: 0)))
    }
    self.stamps = stamps
    index = UInt32(random.next(below: 3) == 0 ? random.next(in: 0...70_000) : 0)
    self.random = random
  }

  /// One row.
  mutating func make() throws -> [UInt8] {
    var row = ByteWriter()
    row.append(1)
    row.append(UInt8(random.next(below: 4)))
    row.append(
      littleEndian: UInt32(
        random.next(below: 2) == 0 ? random.next(in: 1...200) : random.next(in: 1...4_000_000_000)))
    let type = UInt32(random.next(below: 3) == 0 ? random.next(in: 1...100_000) : random.next(in: 1...5))
    let fields = random.next(in: 0...12)
    switch random.next(below: 12) {
    case 0: break
    case 1: append(.existence, try heads(random.next(in: 1...6)) { _ in [0] }, to: &row)
    case 2:
      append(
        .existence, try heads(1) { _ in [Existence.movedTag, 1, 0x61, 1, 0x62, 1, 0x63] }, to: &row)
    default:
      var payload = ByteWriter()
      Existence.alive(type: NameNumber(rawValue: type)).append(to: &payload)
      let bytes = payload.bytes
      if random.next(below: 3) != 0 { index += UInt32(fields) }
      let isContested = random.next(below: 8) == 0
      append(.existence, try heads(isContested ? 2 : 1) { _ in bytes }, to: &row)
      if random.next(below: 2) == 0 { index = index > UInt32(fields) ? index - UInt32(fields) : 1 }
    }
    var name = random.next(below: 4) == 0 ? UInt32(random.next(in: 1...2000)) : type + 1
    for _ in 0..<fields {
      let kind = FieldKind.allCases[random.next(below: 3) == 0 ? random.next(below: 7) : 0]
      let cell = CellNumber(NameNumber(rawValue: name), kind)
      let isOther = random.next(below: 30) == 0
      let body =
        cell.isOfHeads && !isOther
        ? try heads(random.next(below: 6) == 0 ? random.next(in: 2...6) : 1) { try $0.value() } : content()
      append(isOther ? CellNumber(rawValue: name << 4 | 15) : cell, body, to: &row)
      name += random.next(below: 4) == 0 ? UInt32(random.next(in: 1...300)) : 1
    }
    return row.bytes
  }

  private func append(_ cell: CellNumber, _ body: [UInt8], to row: inout ByteWriter) {
    row.append(varint: UInt64(cell.rawValue))
    row.append(count: body.count)
    row.append(body)
  }

  /// What a cell has that is not of heads.
  private mutating func content() -> [UInt8] {
    (0..<random.next(in: 1...200)).map { _ in UInt8(random.next(in: 0...255)) }
  }

  /// The body of a cell with heads.
  private mutating func heads(
    _ total: Int, _ payload: (inout RandomRow) throws -> [UInt8]
  ) throws -> [UInt8] {
    var body = ByteWriter()
    body.append(count: total)
    for _ in 0..<min(total, Cell.inlineHeadsMax) {
      var head = stamps[random.next(below: 5) == 0 ? random.next(below: stamps.count) : 0]
      head.id.index = index
      index += random.next(below: 6) == 0 ? 3 : 1
      let payload = try payload(&self)
      body.append(head)
      body.append(count: payload.count)
      body.append(payload)
    }
    return body.bytes
  }

  /// An encoded value, or the mark of one that is kept apart.
  private mutating func value() throws -> [UInt8] {
    let number = Int64(random.next(in: -1000...1000))
    let value: Value =
      switch random.next(below: 16) {
      case 0: .null
      case 1: .bool(number > 0)
      case 2: .int(number == 0 ? .min : number)
      case 3: .double(Double(number) / 3)
      case 4: .decimal(DecimalNumber(coefficient: Int128(number) &* 1_000_000_007, exponent: -3)!)
      case 5: .bytes([UInt8](repeating: 7, count: random.next(in: 0...400)))
      case 6: .date(microseconds: number)
      case 7: .uuid(UniqueID(rawValue: UInt128(number.magnitude)))
      case 8: .asset(AssetReference(hash: ContentHash(of: [1].span.bytes), byteCount: number.magnitude))
      case 9: .reference(Reference(record: "other", rule: .cascade))
      case 10: .array([.int(number), .string("one")])
      case 11: .map(["key": .int(number)])
      default: .string(String(repeating: "text ", count: random.next(in: 0...30)))
      }
    return random.next(below: 20) == 0 ? Cell.mark(random.next(in: 1025...1_000_000)) : try value.encoded()
  }
}
