import EventStore

/// A JSON document.
///
/// Our own, and not Foundation's, because a log that is exported and imported must come out as the same
/// bytes: integers of 64 bits are exact, keys are compared as UTF-8 and none stands twice, and a damaged line
/// is told with the byte at fault.
enum JSON: Hashable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent: wide enough for what is signed and what is not.
  case integer(Int128)
  /// Any other number, as it is written.
  case fraction(String)
  case string(String)
  case array([JSON])
  case object([Name: JSON])

  static func number(_ value: some FixedWidthInteger) -> JSON { .integer(Int128(value)) }

  /// A description of an identity or the like.
  static func text(_ value: some CustomStringConvertible) -> JSON { .string(value.description) }

  /// An object of the members that there are.
  static func members(_ members: [Name: JSON?]) -> JSON { .object(members.compactMapValues { $0 }) }
}

extension JSON {
  /// Appends the document: keys in the order of their bytes, no spaces, always the same bytes for the same
  /// document.
  func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let isTrue): bytes.append(contentsOf: (isTrue ? "true" : "false").utf8)
    case .integer(let number): bytes.append(contentsOf: String(number).utf8)
    case .fraction(let text): bytes.append(contentsOf: text.utf8)
    case .string(let text): Self.write(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(member.key.rawValue, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// The document as one line.
  var line: String {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func write(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(ascii: scalar))
      case "\n": bytes.append(contentsOf: #"\n"#.utf8)
      case "\r": bytes.append(contentsOf: #"\r"#.utf8)
      case "\t": bytes.append(contentsOf: #"\t"#.utf8)
      // JSON asks for the first of these ranges; the second steers terminals too.
      case "\0"..."\u{1f}", "\u{7f}"..."\u{9f}":
        bytes.append(contentsOf: #"\u"#.utf8)
        bytes.append(contentsOf: Hexadecimal.text(UInt64(scalar.value), digits: 4).utf8)
      default: bytes.append(contentsOf: UTF8.encode(scalar)!)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
