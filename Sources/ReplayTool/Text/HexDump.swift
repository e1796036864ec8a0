/// Bytes for people: 16 on each line, with their offsets and their ASCII characters.
enum HexDump {
  private static let bytesPerLine = 16

  static func forEachLine(of bytes: [UInt8], _ body: (String) throws -> Void) rethrows {
    for start in stride(from: 0, to: bytes.count, by: bytesPerLine) {
      try body(line(bytes[start..<min(start + bytesPerLine, bytes.count)]))
    }
  }

  private static func line(_ bytes: ArraySlice<UInt8>) -> String {
    var line = Hexadecimal.text(UInt64(bytes.startIndex), digits: 8) + " "
    for index in 0..<bytesPerLine {
      if index % 8 == 0 { line += " " }
      let place = bytes.startIndex + index
      line += place < bytes.endIndex ? Hexadecimal.text(UInt64(bytes[place]), digits: 2) + " " : "   "
    }
    line += " |"
    for byte in bytes { line.unicodeScalars.append(0x20...0x7e ~= byte ? Unicode.Scalar(byte) : ".") }
    return line + "|"
  }
}
