import OperationFormat

/// A run to encode: what its container says about it, and the canonical bytes of its transactions.
struct RunExample {
  var context: RunContext
  var transactions: [[UInt8]] = []
  var delays: [Int64] = []

  /// Bytes of all transactions.
  var byteCount: Int { transactions.reduce(0) { $0 + $1.count } }

  mutating func append(_ transaction: LogTransaction, delay: Int64 = 0) throws {
    transactions.append(try transaction.encoded())
    delays.append(delay)
  }

  /// The run of the transactions from `first` on, as an encoder writes it.
  func encoded(_ layout: RunLayout, _ range: Range<Int>? = nil) -> [UInt8] {
    let range = range ?? 0..<transactions.count
    var context = context
    context.firstSequence += UInt64(range.lowerBound)
    var encoder = RunEncoder(context, layout: layout)
    for index in range {
      let transaction = transactions[index]
      let span = transaction.span
      encoder.append(span.bytes, arrivalDelay: delays[index])
    }
    var writer = ByteWriter()
    switch layout {
    case .rows:
      let rows = encoder.rows
      writer.append(rows)
    case .columns: _ = encoder.appendColumns(to: &writer)
    }
    return writer.bytes
  }

  /// What a decoder makes of bytes.
  static func decoded(
    _ bytes: [UInt8], _ layout: RunLayout, _ context: RunContext, bytesMax: Int
  ) throws(FormatError) -> (transactions: [[UInt8]], delays: [Int64]) {
    let span = bytes.span
    var decoder =
      switch layout {
      case .rows: RunDecoder(rows: span.bytes, context, bytesMax: bytesMax)
      case .columns: try RunDecoder(columns: span.bytes, context, bytesMax: bytesMax)
      }
    var transactions: [[UInt8]] = []
    var delays: [Int64] = []
    var writer = ByteWriter()
    while !decoder.isAtEnd {
      writer.removeAll()
      delays.append(try decoder.next(into: &writer))
      transactions.append(writer.bytes)
    }
    try decoder.finish()
    return (transactions, delays)
  }

  static let context = RunContext(
    replica: ReplicaID(rawValue: 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210), epoch: 3, firstSequence: 7,
    zone: ZoneID(name: "notes"), incarnation: IncarnationID(rawValue: 99))
}

extension SeededGenerator {
  /// A run of transactions that are alike, now and then, and have every kind of operation. Some are what only
  /// plain bytes can express.
  mutating func run(_ count: Int) throws -> RunExample {
    var example = RunExample(context: RunExample.context)
    example.context.firstSequence = 1 + number() >> 1
    example.context.epoch = UInt32(truncatingIfNeeded: number())
    var last = transaction()
    for index in 0..<count {
      var next = below(3) == 0 ? last : transaction(allowsUnknown: below(8) == 0)
      next.replica = example.context.replica
      next.epoch = example.context.epoch
      next.sequence = example.context.firstSequence + UInt64(index)
      (next.zone, next.statesOwner) = (example.context.zone, false)
      if below(10) > 0 { next.parent = nil }
      switch below(20) {
      case 0:
        next.zone = zone()
        next.statesOwner = next.zone.owner.byteCount > 0
      case 1: next.sequence = max(1, number())
      case 2..<8: next.base = last.base
      case 8..<12: next.base?.incarnation = example.context.incarnation
      default: break
      }
      if below(2) == 0 {
        next.timestamp = Timestamp(rawValue: last.timestamp.rawValue &+ UInt64(below(1 << 24)))
      }
      if below(2) == 0 { next.operations += last.operations.prefix(3).filter { $0.isKnown } }
      if below(4) == 0 {
        next.operations.append(.set(record: "r", type: "T", field: "date", value: date(near: next)))
      }
      if below(4) == 0 {
        next.operations.append(
          .set(record: digits(), type: "T", field: "text", value: .string(digits().rawValue)))
      }
      try example.append(next, delay: below(3) == 0 ? Int64(truncatingIfNeeded: number()) : 0)
      last = next
    }
    return example
  }

  private mutating func date(near transaction: LogTransaction) -> Value {
    .date(microseconds: Int64(transaction.timestamp.milliseconds) * 1000 + Int64(below(2000)) - 1000)
  }

  /// Texts of hexadecimal digits, and such as are nearly.
  private mutating func digits() -> Name {
    let id = UniqueID(rawValue: replica().rawValue).description
    let texts = [
      id, id.uppercased(), String(id.prefix(8)), String(id.filter { $0 != "-" }), "g" + id.dropFirst(),
      "Ab" + id.dropFirst(2),
    ]
    return Name(texts[below(texts.count)])
  }
}

extension LogOperation {
  fileprivate var isKnown: Bool { if case .unknown = self { false } else { true } }
}
