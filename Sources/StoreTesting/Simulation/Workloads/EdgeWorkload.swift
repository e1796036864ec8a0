public import EventStore
public import OperationFormat

/// Names and values at the limits: empty, of one byte, of about a page, of the greatest length. Sometimes one
/// is a byte longer: the store refuses it, and the write continues.
public struct EdgeWorkload: SimulationWorkload {
  public let name = "edges"
  public let zones: [ZoneID] = [ZoneID(owner: "an/owner", name: Self.longName(Limits.nameBytesMax))]
  public let allowsRestoring = true

  private static let records: [Name] = [
    "r", longName(Limits.recordNameBytesMax), longName(Limits.recordNameBytesMax - 1), "../\u{0}%2F",
  ]
  private static let fields: [Name] = ["f", longName(Limits.nameBytesMax)]
  /// Bytes of values: about where a count takes another byte, a value moves out of its record's row, and one,
  /// two and many pages of LMDB are full.
  private static let sizes = [0, 127, 1024, 2048, 4096, 8192, 65_536]
  /// How far the sizes are from those: the rest of a value's row takes some tens of bytes.
  private static let spread = 80

  /// Creates the workload.
  public init() {}

  public func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    for _ in 0..<choices.next(in: 1...3) {
      let record = RecordID(zone: zones[0], name: choices.pick(Self.records))
      let isThere = try transaction.contains(record)
      if isThere, choices.next(below: 8) == 7 {
        try transaction.delete(record)
        continue
      }
      if !isThere { try transaction.create(record, type: choices.pick(Self.fields)) }
      let field = choices.pick(Self.fields)
      let value = Self.value(&choices)
      try transaction.set(field, of: record, to: value)
      if choices.next(below: 8) == 7 { try overstep(field, of: record, &transaction, &choices) }
      guard try transaction.reads(value, of: field, in: record) else {
        throw SimulationFailure(.transactionsAreAtomic, "a write does not read what it wrote to \(record)")
      }
    }
  }

  /// Does what the store must refuse.
  private func overstep(
    _ field: Name, of record: RecordID, _ transaction: inout WriteTransaction,
    _ choices: inout SimulationChoices
  ) throws {
    let kind = choices.next(below: 4)
    do {
      switch kind {
      case 0: try transaction.set(Self.longName(Limits.nameBytesMax + 1), of: record, to: .null)
      case 1: try transaction.set("", of: record, to: .null)
      case 2:
        let name = Self.longName(Limits.recordNameBytesMax + 1)
        try transaction.create(RecordID(zone: zones[0], name: name), type: "t")
      default:
        // With its tag and its count it is longer than a value may be.
        let bytes = [UInt8](repeating: 0, count: Limits.inlineValueBytesMax)
        try transaction.set(field, of: record, to: .bytes(bytes))
      }
    } catch let error as StoreError {
      if error.code == (kind == 3 ? .valueInvalid : .nameInvalid) { return }
      throw error
    }
    throw SimulationFailure(.noSurprise, "a store took what is longer than it may be (\(kind))")
  }

  /// Bytes that cannot be packed.
  private static func value(_ choices: inout SimulationChoices) -> Value {
    let size = choices.pick(sizes)
    // Every second number is negative: 0, 1, −1, 2 …
    let step = choices.next(in: 0...2 * spread)
    let count = max(0, size + (step.isMultiple(of: 2) ? -step / 2 : step / 2 + 1))
    var random = SeededRandom(seed: UInt64(choices.next(below: 1 << 16)))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      withUnsafeBytes(of: random.next().littleEndian) { bytes.append(contentsOf: $0) }
    }
    return .bytes(Array(bytes[..<count]))
  }

  private static func longName(_ bytes: Int) -> Name {
    Name(rawValue: String(repeating: "n", count: bytes))
  }
}
