import EventStore

/// A JSON document.
///
/// It replaces Foundation's, because exporting and importing a log must give the same bytes. Integers of 64
/// bits are exact, keys are compared as UTF-8 and occur only once, and an error names the byte or the member.
enum JSON: Hashable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent: it holds signed and unsigned integers of 64 bits.
  case integer(Int128)
  /// Any other number, as it was written.
  case fraction(String)
  case string(String)
  case array([JSON])
  case object([Name: JSON])

  static func number(_ value: some FixedWidthInteger) -> JSON { .integer(Int128(value)) }

  /// The description of an identity or a similar value.
  static func text(_ value: some CustomStringConvertible) -> JSON { .string(value.description) }

  /// An object with the members that are not nil.
  static func members(_ members: [Name: JSON?]) -> JSON { .object(members.compactMapValues { $0 }) }
}

extension JSON: ExpressibleByStringLiteral {
  init(stringLiteral text: String) { self = .string(text) }
}

extension JSON {
  /// Appends the document without spaces, and with keys ordered by their bytes. Equal documents give equal
  /// bytes.
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
      // JSON requires to escape the first of these ranges; the second can control terminals.
      case "\0"..."\u{1f}", "\u{7f}"..."\u{9f}":
        bytes.append(contentsOf: #"\u"#.utf8)
        bytes.append(contentsOf: Hexadecimal.text(UInt64(scalar.value), digits: 4).utf8)
      default: bytes.append(contentsOf: UTF8.encode(scalar)!)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
