/// Bytes as hexadecimal digits; long byte strings are cut.
func hex(_ bytes: [UInt8]) -> String {
  let digits = bytes.prefix(200).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  return bytes.count > 200 ? digits + "…" : digits
}

/// Parses hexadecimal digits; ignores spaces, line ends and everything after a `#`.
func bytes(hex text: String) -> [UInt8] {
  var digits: [UInt8] = []
  for line in text.split(separator: "\n") {
    for character in line.prefix(while: { $0 != "#" }) where !character.isWhitespace {
      digits.append(UInt8(character.hexDigitValue!))
    }
  }
  precondition(digits.count.isMultiple(of: 2), "half a byte")
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
