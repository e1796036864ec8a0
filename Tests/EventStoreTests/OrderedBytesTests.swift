import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Values as bytes in their order")
struct OrderedBytesTests {
  private let zone: ZoneID = "own"

  private func bytes(_ value: Value) -> [UInt8] {
    var writer = ByteWriter()
    OrderedBytes(zone: zone).append(value, to: &writer)
    return writer.bytes
  }

  private static func text(_ random: inout SeededRandom) -> String {
    let scalars = ["", "a", "b", "\0", "\u{1}", "é", "e\u{301}", "\u{ffff}", "\u{10ffff}"]
    return (0..<Int.random(in: 0..<4, using: &random)).map { _ in scalars.randomElement(using: &random)! }
      .joined()
  }

  private static func number(_ random: inout SeededRandom) -> Int64 {
    [0, 1, -1, 255, 256, -256, .max, .min, Int64.random(in: .min ... .max, using: &random)]
      .randomElement(using: &random)!
  }

  /// A value of any kind, often near others.
  static func value(_ random: inout SeededRandom, depth: Int = 2) -> Value {
    switch Int.random(in: 0..<(depth > 0 ? 13 : 11), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .int(number(&random))
    case 3:
      let special: [Double] = [
        0, -0.0, 1, -1, .infinity, -.infinity, .nan, .leastNonzeroMagnitude, -.greatestFiniteMagnitude,
      ]
      return .double(
        Bool.random(using: &random)
          ? special.randomElement(using: &random)!
          : Double(bitPattern: .random(in: 0 ... .max, using: &random)))
    case 4:
      let digits: [Int128] = [0, 1, -1, 10, 99, -99, 100, .max, .min, 123_456_789, -123_456_789]
      let number = DecimalNumber(
        coefficient: digits.randomElement(using: &random)!, exponent: Int.random(in: -38...38, using: &random)
      )
      return .decimal(number ?? DecimalNumber(coefficient: 5, exponent: -1)!)
    case 5: return .string(text(&random))
    case 6:
      return .bytes(
        (0..<Int.random(in: 0..<4, using: &random)).map { _ in [0, 1, 255].randomElement(using: &random)! })
    case 7: return .date(microseconds: number(&random))
    case 8: return .uuid(UniqueID(rawValue: .random(in: 0 ... .max, using: &random)))
    case 9: return .reference(Reference(zone: "own", record: Name(text(&random))))
    case 10:
      return .asset(
        AssetReference(
          hash: ContentHash(of: text(&random).utf8Span.span.bytes),
          byteCount: .random(in: 0...2, using: &random)))
    case 11:
      return .array((0..<Int.random(in: 0..<3, using: &random)).map { _ in value(&random, depth: depth - 1) })
    default:
      var entries: [Name: Value] = [:]
      for _ in 0..<Int.random(in: 0..<3, using: &random) {
        entries[Name(text(&random))] = value(&random, depth: depth - 1)
      }
      return .map(entries)
    }
  }

  @Test(
    "are ordered as the values are, also one behind another and inverted",
    arguments: 0..<8 as Range<UInt64>)
  func order(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let values = (0..<300).map { _ in Self.value(&random) }
    for a in values.prefix(60) {
      for b in values {
        let (first, second) = (bytes(a), bytes(b))
        #expect(first.lexicographicallyPrecedes(second) == a.precedes(b), "\(a), \(b)")
        #expect((first == second) == (a == b), "\(a), \(b)")
        if a != b { #expect(!second.starts(with: first), "\(a), \(b)") }
        let (turned, other) = (first.map { ~$0 }, second.map { ~$0 })
        #expect(turned.lexicographicallyPrecedes(other) == b.precedes(a), "\(a), \(b)")
      }
    }
  }

  @Test("are taken apart again, also inverted", arguments: 0..<8 as Range<UInt64>)
  func decoding(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<500 {
      let values = [Self.value(&random), Self.value(&random)]
      let all = bytes(values[0]) + bytes(values[1]).map { ~$0 }
      var reader = OrderedReader(all.span.bytes, in: zone)
      let first = reader.value()
      reader.mask = 255
      let found = [first, reader.value()]
      #expect(found == values && reader.position == all.count, "\(values)")
      // Cut anywhere, or changed, they are no value or another, and trap nothing.
      for end in 0..<all.count {
        var cut = OrderedReader(all.span.bytes.extracting(..<end), in: zone)
        if cut.value() != nil {
          cut.mask = 255
          #expect(cut.value() == nil)
        }
      }
      var damaged = all
      damaged[Int.random(in: 0..<all.count, using: &random)] = .random(in: 0...255, using: &random)
      var reading = OrderedReader(damaged.span.bytes, in: zone)
      _ = reading.value()
    }
  }
}
