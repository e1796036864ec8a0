/// Splits a source at a delimiter byte.
struct DelimitedReader {
  private static let readBytes = 1 << 16

  let source: any ByteSource
  private let delimiter: UInt8
  private let partBytesMax: Int
  private var buffer: [UInt8] = []
  private var start = 0
  private var searched = 0
  private var isAtEnd = false
  /// Whether the last part ended at the end of the source, without a delimiter.
  private(set) var isOpen = false

  /// - Parameter partBytesMax: the longest part.
  init(_ source: any ByteSource, delimiter: UInt8, partBytesMax: Int) {
    self.source = source
    self.delimiter = delimiter
    self.partBytesMax = partBytesMax
  }

  /// The next part without its delimiter; nil at the end. The last part needs no delimiter.
  ///
  /// - Throws: ``PartTooLong``, and any error of the source.
  mutating func next() throws -> [UInt8]? {
    while true {
      if let end = buffer[searched...].firstIndex(of: delimiter) {
        guard end - start <= partBytesMax else { throw PartTooLong() }
        defer {
          start = end + 1
          searched = start
        }
        isOpen = false
        return Array(buffer[start..<end])
      }
      searched = buffer.count
      guard buffer.count - start <= partBytesMax else { throw PartTooLong() }
      if isAtEnd {
        guard start < buffer.count else { return nil }
        isOpen = true
        defer {
          start = buffer.count
          searched = start
        }
        return Array(buffer[start...])
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

/// A part exceeds the limit.
struct PartTooLong: Error {}
