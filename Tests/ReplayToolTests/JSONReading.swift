import EventStore
import Testing

@testable import ReplayTool

@Suite("Reading JSON")
struct JSONReading {
  static let good: [(String, JSON)] = [
    ("null", .null), (" true\t", .bool(true)), ("false", .bool(false)), ("0", .integer(0)),
    ("-1", .integer(-1)),
    ("9223372036854775807", .integer(Int128(Int64.max))),
    ("18446744073709551615", .integer(Int128(UInt64.max))),
    ("-0", .fraction("-0")), ("1.50", .fraction("1.50")), ("1e-7", .fraction("1e-7")), ("\"\"", .string("")),
    (#""\u00e9\n\/\ud83d\ude00""#, .string("é\n/😀")), ("[]", .array([])),
    ("[1, 2 ]", .array([.integer(1), .integer(2)])),
    ("{}", .object([:])), (#"{"a":{"b":[]}}"#, .object(["a": .object(["b": .array([])])])),
    ("{\"\u{e9}\":1,\"e\u{301}\":2}", .object(["\u{e9}": .integer(1), "e\u{301}": .integer(2)])),
  ]

  @Test("valid JSON is read", arguments: good)
  func readsJSON(_ text: String, _ expected: JSON) throws {
    let found = try JSONScanner.read(Array(text.utf8))
    #expect(found == expected)
    let again = try JSONScanner.read(Array(found.line.utf8))
    #expect(again == expected)
  }

  static let bad = [
    "", " ", "nul", "tru", "nulll", "01", "-", "+1", "1.", ".5", "1e", "0x1", "\"", "\"\\x\"", "\"\\u12\"",
    "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "[", "[1", "[1,]", "[,]", "[1 2]", "{",
    "{1:2}",
    "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1 \"b\":2}", #"{"a":1,"a":2}"#, "1 2", "{}x", "'a'", "NaN",
    "//", "\u{feff}1",
    String(repeating: "[", count: 100_000),
  ]

  @Test("invalid JSON is an error with a byte offset", arguments: bad)
  func refusesOther(_ text: String) {
    let error = #expect(throws: JSONError.self) { try JSONScanner.read(Array(text.utf8)) }
    #expect(error?.place.hasPrefix("byte ") == true)
  }

  @Test("bytes that are not UTF-8 are an error everywhere")
  func refusesOtherBytes() {
    for bytes: [UInt8] in [
      [0xff], [0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0],
    ] {
      #expect(throws: JSONError.self) { try JSONScanner.read(bytes) }
    }
  }

  @Test("any bytes give a document or an error")
  func survivesNoise() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var random = RandomContent(seed: seed)
    for _ in 0..<500 {
      var bytes = Array(random.value().json.line.utf8)
      for _ in 0...random.below(3) where !bytes.isEmpty {
        bytes[random.below(bytes.count)] = UInt8(random.below(256))
      }
      do { _ = try Value(try JSONScanner.read(bytes), in: "") } catch {}
    }
  }
}

@Suite("Values in JSON")
struct ValuesInJSON {
  @Test("every value is read again unchanged")
  func comesBack() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    for seed in [1, seed] {
      var random = RandomContent(seed: seed)
      for _ in 0..<2000 {
        let value = random.value()
        let line = value.json.line
        let found = try Value(try JSONScanner.read(Array(line.utf8)), in: "")
        #expect(found == value, "\(line)")
      }
    }
  }

  @Test("the deepest value is read again, a deeper document is refused")
  func boundsDepth() throws {
    var value: Value = 1
    for level in 1..<Limits.valueDepthMax { value = level % 2 == 0 ? .array([value]) : .map(["k": value]) }
    _ = try value.encoded()
    let operation = LogOperation.set(record: "r", type: "t", field: "f", value: value).json
    let line = JSON.object(["transaction": .object(["operations": .array([operation])])]).line
    let found = try JSONScanner.read(Array(line.utf8))
    #expect(found.line == line)
    let deep = String(repeating: "[", count: 81) + String(repeating: "]", count: 81)
    #expect(throws: JSONError.self) { try JSONScanner.read(Array(deep.utf8)) }
  }

  @Test("the forms are those of the documentation")
  func hasForms() throws {
    let forms: [(Value, String)] = [
      (.null, "null"), (5, "5"), ("text", #""text""#), (.double(1.5), #"{"double":1.5}"#),
      (.double(.nan), #"{"double":"nan"}"#), (.double(-.infinity), #"{"double":"-inf"}"#),
      (.decimal(DecimalNumber("1.50")!), #"{"decimal":"1.5"}"#), (.bytes([1, 2, 255]), #"{"bytes":"AQL/"}"#),
      (.date(microseconds: 1), #"{"date":"1970-01-01T00:00:00.000001Z"}"#),
      (.reference(Reference(record: "milk")), #"{"reference":{"record":"milk"}}"#),
      (
        .reference(Reference(zone: ZoneID(owner: "ann", name: "a/b"), record: "milk", rule: .cascade)),
        #"{"reference":{"record":"milk","rule":"cascade","zone":"ann/a%2Fb"}}"#
      ),
      ([1, .null], #"{"array":[1,null]}"#), (["b": 1, "a": true], #"{"map":{"a":true,"b":1}}"#),
    ]
    for (value, expected) in forms {
      let line = value.json.line
      #expect(line == expected)
    }
  }

  @Test(
    "JSON that is not a value is an error",
    arguments: [
      "1.5", "-0", "9223372036854775808", "[1]", "{}", #"{"a":1,"b":2}"#, #"{"thing":1}"#,
      #"{"double":"one"}"#,
      #"{"double":1e999}"#, #"{"decimal":1.5}"#, #"{"decimal":"1e99"}"#, #"{"bytes":"?"}"#,
      #"{"date":"yesterday"}"#,
      #"{"uuid":"1"}"#, #"{"reference":"milk"}"#, #"{"reference":{"record":"a","rule":"x"}}"#,
      #"{"reference":{"record":"a","other":1}}"#, #"{"asset":{"bytes":-1,"sha256":"00"}}"#, #"{"array":{}}"#,
      #"{"map":[]}"#,
      #"{"map":{"a":1.5}}"#,
    ])
  func refuses(_ text: String) throws {
    let json = try JSONScanner.read(Array(text.utf8))
    #expect(throws: JSONError.self) { try Value(json, in: "") }
  }
}

@Suite("Times")
struct Times {
  @Test("every count of microseconds has one text")
  func roundTrips() {
    var generator = SeededGenerator(seed: 5)
    let random = (0..<2000).map { _ in
      Int64(bitPattern: generator.next()) >> Int64.random(in: 0..<40, using: &generator)
    }
    for microseconds in [.min, .min + 1, -1, 0, 1, .max, 951_782_400_000_000, -62_135_596_800_000_001]
      + random
    {
      let found = CalendarTime.microseconds(CalendarTime.text(microseconds: microseconds))
      #expect(found == microseconds)
    }
  }

  @Test("days are those of the calendar")
  func knowsCalendar() {
    let known: [(Int64, String)] = [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (-1, "1969-12-31T23:59:59.999Z"), (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
      (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
    ]
    for (milliseconds, text) in known {
      let found = CalendarTime.text(milliseconds: milliseconds)
      #expect(found == text)
    }
  }

  @Test("people may leave out parts, and give a time zone")
  func readsShortForms() {
    let day = CalendarTime.microseconds("2026-01-31")
    let minute = CalendarTime.microseconds("2026-01-31T02:00+02:00")
    let second = CalendarTime.microseconds("2026-01-30 22:00:00.0-0200")
    #expect(day == 1_769_817_600_000_000)
    #expect(minute == day)
    #expect(second == day)
    for text in [
      "", "2026", "2026-02-29", "2026-13-01", "2026-01-31T24:00", "2026-01-31T10", "2026-01-31T10:00:61",
      "2026-01-31T10:00:00.1234567", "2026-01-31x",
    ] {
      let found = CalendarTime.microseconds(text)
      #expect(found == nil, "\(text)")
    }
  }
}
