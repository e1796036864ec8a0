/// Swift source without comments and string literals: they become blanks, and lines keep their place.
///
/// It handles nested comments, raw and multi-line strings. Code inside `\(…)` of a string counts as text.
enum SourceText {
  static func code(of source: String) -> [UInt8] {
    var bytes = Array(source.utf8)
    var index = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "/") where starts("//", at: index, in: bytes):
        index = blank(from: index, in: &bytes) { $0[$1] == UInt8(ascii: "\n") ? $1 : nil }
      case UInt8(ascii: "/") where starts("/*", at: index, in: bytes):
        index = blankComment(from: index, in: &bytes)
      case UInt8(ascii: "\""), UInt8(ascii: "#"): index = blankString(from: index, in: &bytes) ?? index + 1
      default: index += 1
      }
    }
    return bytes
  }

  private static func starts(_ text: StaticString, at index: Int, in bytes: [UInt8]) -> Bool {
    let count = text.utf8CodeUnitCount
    guard index + count <= bytes.count else { return false }
    return text.withUTF8Buffer { $0.elementsEqual(bytes[index..<index + count]) }
  }

  /// Overwrites bytes up to the end that `end` finds, except line breaks.
  private static func blank(
    from start: Int, in bytes: inout [UInt8], to end: ([UInt8], Int) -> Int?
  ) -> Int {
    var index = start
    while index < bytes.count {
      if let end = end(bytes, index) { return end }
      if bytes[index] != UInt8(ascii: "\n") { bytes[index] = UInt8(ascii: " ") }
      index += 1
    }
    return index
  }

  private static func blankComment(from start: Int, in bytes: inout [UInt8]) -> Int {
    var depth = 0
    var index = start
    while index < bytes.count {
      let opens = starts("/*", at: index, in: bytes)
      let closes = starts("*/", at: index, in: bytes)
      if opens { depth += 1 } else if closes { depth -= 1 }
      for _ in 0..<(opens || closes ? 2 : 1) {
        if bytes[index] != UInt8(ascii: "\n") { bytes[index] = UInt8(ascii: " ") }
        index += 1
      }
      if depth == 0 { break }
    }
    return index
  }

  /// Blanks a string literal and returns its end; nil if none starts here.
  private static func blankString(from start: Int, in bytes: inout [UInt8]) -> Int? {
    var index = start
    while index < bytes.count, bytes[index] == UInt8(ascii: "#") { index += 1 }
    let pounds = index - start
    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
    let isMultiline = starts("\"\"\"", at: index, in: bytes)
    let quotes = isMultiline ? 3 : 1
    let closing =
      [UInt8](repeating: UInt8(ascii: "\""), count: quotes)
      + [UInt8](repeating: UInt8(ascii: "#"), count: pounds)
    let escape = [UInt8(ascii: "\\")] + [UInt8](repeating: UInt8(ascii: "#"), count: pounds)
    index += quotes
    // Quotes inside `\(…)` belong to the code there.
    var depth = 0
    while index < bytes.count {
      let rest = bytes[index...]
      if depth == 0, rest.starts(with: closing) { return index + closing.count }
      if rest.starts(with: escape) {
        let next = index + escape.count
        if next < bytes.count, bytes[next] == UInt8(ascii: "(") { depth += 1 }
        for place in index..<min(next + 1, bytes.count) where bytes[place] != UInt8(ascii: "\n") {
          bytes[place] = UInt8(ascii: " ")
        }
        index = next + 1
        continue
      }
      if depth > 0 {
        if bytes[index] == UInt8(ascii: "(") { depth += 1 }
        if bytes[index] == UInt8(ascii: ")") { depth -= 1 }
        if bytes[index] == UInt8(ascii: "\""), let end = blankString(from: index, in: &bytes) {
          for place in index..<end where bytes[place] != UInt8(ascii: "\n") {
            bytes[place] = UInt8(ascii: " ")
          }
          index = end
          continue
        }
      }
      if bytes[index] == UInt8(ascii: "\n") {
        if !isMultiline { return index }
      } else {
        bytes[index] = UInt8(ascii: " ")
      }
      index += 1
    }
    return index
  }
}
