/// Reads a source line by line. A line may end in `\n` or `\r\n`, the last one also in nothing; empty lines are
/// passed over.
struct LineReader {
  /// The longest line. An exported transaction always fits: what would be longer is written in its compact form.
  static let lineBytesMax = 16 << 20
  private static let readBytes = 1 << 16

  let source: any ByteSource
  /// The number of the line that was read last, from 1.
  private(set) var number = 0
  private var buffer: [UInt8] = []
  private var start = 0
  private var searched = 0
  private var isAtEnd = false

  init(_ source: any ByteSource) { self.source = source }

  /// The next line, nil at the end.
  mutating func next() throws -> [UInt8]? {
    while let line = try nextRaw() {
      number += 1
      let trimmed = line.last == 0x0d ? line.dropLast() : line
      if !trimmed.isEmpty { return Array(trimmed) }
    }
    return nil
  }

  private mutating func nextRaw() throws -> ArraySlice<UInt8>? {
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0a) {
        defer {
          start = end + 1
          searched = start
        }
        return buffer[start..<end]
      }
      searched = buffer.count
      guard buffer.count - start <= Self.lineBytesMax else {
        throw ToolError.input(
          "lineTooLong", "line \(number + 1) of \(source.name) is longer than 16 MiB",
          hint: "the file is not one that `replay export` wrote")
      }
      if isAtEnd {
        guard start < buffer.count else { return nil }
        defer { start = buffer.count }
        return buffer[start...]
      }
      buffer.removeFirst(start)
      searched -= start
      start = 0
      let bytes = try source.read(upTo: Self.readBytes)
      isAtEnd = bytes.isEmpty
      buffer.append(contentsOf: bytes)
    }
  }
}
