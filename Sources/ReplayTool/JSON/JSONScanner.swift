import EventStore

/// Parses one JSON document (RFC 8259) strictly: nothing may follow it, no key may occur twice, and strings
/// must be valid Unicode.
struct JSONScanner {
  /// The greatest depth: of the deepest value, which takes two levels for each of its own, in a transaction.
  static let depthMax = 80

  private let bytes: [UInt8]
  private var place = 0

  /// Reads a document.
  static func read(_ bytes: [UInt8]) throws(JSONError) -> JSON {
    var scanner = JSONScanner(bytes: bytes)
    scanner.skipSpace()
    let document = try scanner.value(depth: 1)
    scanner.skipSpace()
    guard scanner.place == bytes.count else { throw scanner.fail("the end was expected") }
    return document
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private func fail(_ message: String) -> JSONError { JSONError(at: place, message) }

  private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: scalar) else { return false }
    place += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { place += 1 }
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSON {
    guard depth <= Self.depthMax else { throw fail("the document is deeper than \(Self.depthMax)") }
    guard let next else { throw fail("the document ends too early") }
    switch next {
    case UInt8(ascii: "{"): return try object(depth)
    case UInt8(ascii: "["): return try array(depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw fail("a JSON value was expected")
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
    let count = word.utf8CodeUnitCount
    guard place + count <= bytes.count,
      bytes[place..<place + count].elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: count))
    else { throw fail("a JSON value was expected") }
    place += count
    return value
  }

  private mutating func array(_ depth: Int) throws(JSONError) -> JSON {
    place += 1
    var elements: [JSON] = []
    skipSpace()
    if skip("]") { return .array(elements) }
    while true {
      skipSpace()
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if skip("]") { return .array(elements) }
      guard skip(",") else { throw fail("“,” or “]” was expected") }
    }
  }

  private mutating func object(_ depth: Int) throws(JSONError) -> JSON {
    place += 1
    var members: [Name: JSON] = [:]
    skipSpace()
    if skip("}") { return .object(members) }
    while true {
      skipSpace()
      let start = place
      guard next == UInt8(ascii: "\"") else { throw fail("a key in quotes was expected") }
      let key = Name(try string())
      skipSpace()
      guard skip(":") else { throw fail("“:” was expected") }
      skipSpace()
      let value = try value(depth: depth + 1)
      guard members.updateValue(value, forKey: key) == nil else {
        throw JSONError(at: start, "the key “\(Display.plain(key.rawValue, limit: 40))” occurs twice")
      }
      skipSpace()
      if skip("}") { return .object(members) }
      guard skip(",") else { throw fail("“,” or “}” was expected") }
    }
  }

  private mutating func number() throws(JSONError) -> JSON {
    let start = place
    let isNegative = skip("-")
    let isZero = next == UInt8(ascii: "0")
    guard skipDigits() > 0 else { throw fail("a digit was expected") }
    if isZero, place - start > (isNegative ? 2 : 1) { throw fail("a number has leading zeros") }
    var isInteger = true
    if skip(".") {
      isInteger = false
      guard skipDigits() > 0 else { throw fail("a digit was expected") }
    }
    if skip("e") || skip("E") {
      isInteger = false
      if !skip("+") { _ = skip("-") }
      guard skipDigits() > 0 else { throw fail("a digit was expected") }
    }
    let text = String(decoding: bytes[start..<place], as: UTF8.self)
    // −0 is not an integer: it keeps its sign.
    guard isInteger, !(isZero && isNegative), let value = Int128(text) else { return .fraction(text) }
    return .integer(value)
  }

  private mutating func skipDigits() -> Int {
    let start = place
    while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { place += 1 }
    return place - start
  }

  private mutating func string() throws(JSONError) -> String {
    let start = place
    place += 1
    var text: [UInt8] = []
    while true {
      guard let byte = next else { throw fail("a string has no end") }
      switch byte {
      case UInt8(ascii: "\""):
        place += 1
        guard let text = String(validating: text, as: UTF8.self) else {
          throw JSONError(at: start, "a string is not UTF-8")
        }
        return text
      case UInt8(ascii: "\\"):
        place += 1
        try escape(&text)
      case 0..<0x20: throw fail("a string contains a control character")
      default:
        text.append(byte)
        place += 1
      }
    }
  }

  private mutating func escape(_ text: inout [UInt8]) throws(JSONError) {
    guard let byte = next else { throw fail("a string has no end") }
    place += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0c)
    case UInt8(ascii: "n"): text.append(0x0a)
    case UInt8(ascii: "r"): text.append(0x0d)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      let start = place
      var code = try unit()
      if 0xd800...0xdbff ~= code {
        guard skip("\\"), skip("u") else { throw JSONError(at: start, "half of a surrogate pair") }
        let low = try unit()
        guard 0xdc00...0xdfff ~= low else { throw JSONError(at: start, "half of a surrogate pair") }
        code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw JSONError(at: start, "half of a surrogate pair") }
      text.append(contentsOf: UTF8.encode(scalar)!)
    default: throw fail("an escape that JSON does not have")
    }
  }

  /// Four hexadecimal digits.
  private mutating func unit() throws(JSONError) -> UInt32 {
    guard place + 4 <= bytes.count else { throw fail("four hexadecimal digits were expected") }
    let digits = bytes[place..<place + 4]
    guard let pair = Hexadecimal.bytes(String(decoding: digits, as: UTF8.self)), pair.count == 2 else {
      throw fail("four hexadecimal digits were expected")
    }
    place += 4
    return UInt32(pair[0]) << 8 | UInt32(pair[1])
  }
}
