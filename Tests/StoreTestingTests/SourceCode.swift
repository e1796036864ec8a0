/// The code of a Swift source: comments and the text of string literals are blank, everything else keeps its
/// place.
///
/// Interpolations in a string are code. A slash counts as a division, never as the start of a regular
/// expression.
struct SourceCode {
  /// As many bytes as the source has.
  private(set) var bytes: [UInt8]

  private var offset = 0

  /// What encloses the current place: strings, and the parentheses of interpolations inside them.
  private var open: [Enclosure] = []

  private enum Enclosure {
    case string(hashCount: Int, quoteCount: Int)
    case interpolation(depth: Int)
  }

  init(_ source: String) {
    bytes = Array(source.utf8)
    while offset < bytes.count {
      if case .string(let hashCount, let quoteCount) = open.last {
        scanString(hashCount, quoteCount)
      } else {
        scanCode()
      }
    }
  }

  private mutating func scanCode() {
    switch bytes[offset] {
    case UInt8(ascii: "/") where isAt("//"): blank { $0.bytes[$0.offset] != UInt8(ascii: "\n") }
    case UInt8(ascii: "/") where isAt("/*"): skipComment()
    case UInt8(ascii: "\""), UInt8(ascii: "#"): scanQuote()
    case UInt8(ascii: "("): nest(1)
    case UInt8(ascii: ")"): nest(-1)
    default: offset += 1
    }
  }

  /// A comment ends after the comments inside it.
  private mutating func skipComment() {
    var depth = 0
    repeat {
      let (begins, ends) = (isAt("/*"), isAt("*/"))
      depth += begins ? 1 : ends ? -1 : 0
      blank(begins || ends ? 2 : 1)
    } while depth > 0 && offset < bytes.count
  }

  /// Starts a string, with the number signs and the one or three quotes that also end it.
  private mutating func scanQuote() {
    let start = offset
    while isAt("#") { offset += 1 }
    let hashCount = offset - start
    guard isAt("\"") else { return }
    let quoteCount = isAt("\"\"\"") ? 3 : 1
    offset += quoteCount
    open.append(.string(hashCount: hashCount, quoteCount: quoteCount))
  }

  private mutating func scanString(_ hashCount: Int, _ quoteCount: Int) {
    // Most bytes are text.
    guard isAt("\"") || isAt("\\") else { return blank(1) }
    let hashes = String(repeating: "#", count: hashCount)
    let end = String(repeating: "\"", count: quoteCount) + hashes
    if isAt(end) {
      offset += end.utf8.count
      open.removeLast()
    } else if isAt("\\" + hashes + "(") {
      offset += hashCount + 2
      open.append(.interpolation(depth: 1))
    } else {
      blank(isAt("\\" + hashes) ? hashCount + 2 : 1)
    }
  }

  /// Counts a parenthesis; the last one of an interpolation leads back into its string.
  private mutating func nest(_ step: Int) {
    offset += 1
    guard case .interpolation(let depth) = open.last else { return }
    open[open.count - 1] = .interpolation(depth: depth + step)
    if depth + step == 0 { open.removeLast() }
  }

  private func isAt(_ text: String) -> Bool {
    // The first byte decides most often, and the rest is slow in a debug build.
    offset < bytes.count && bytes[offset] == text.utf8.first && bytes[offset...].starts(with: text.utf8)
  }

  private mutating func blank(_ count: Int) {
    let end = min(offset + count, bytes.count)
    blank { $0.offset < end }
  }

  /// Blanks bytes while a condition holds, except line ends.
  private mutating func blank(while condition: (SourceCode) -> Bool) {
    while offset < bytes.count, condition(self) {
      if bytes[offset] != UInt8(ascii: "\n") { bytes[offset] = UInt8(ascii: " ") }
      offset += 1
    }
  }
}
