import OperationFormat

/// The entries of a row of the log that holds several, decoded.
final class DecodedRun {
  /// The position of the first entry, which is the key of the row.
  let first: Position
  private let byteCount: Int
  private let checksum: UInt32
  private let headers: [LogEntryHeader]
  /// Where the body of each entry ends in ``bodies``.
  private let ends: [Int]
  private let bodies: [UInt8]

  /// - Complexity: O(n) in the size of the row
  init(_ row: RawSpan, at position: Position) throws(FormatError) {
    var reader = try LogRunReader(row, at: position)
    var headers: [LogEntryHeader] = []
    var ends: [Int] = []
    var bodies = ByteWriter()
    headers.reserveCapacity(reader.left)
    ends.reserveCapacity(reader.left)
    while let header = try reader.next(into: &bodies) {
      headers.append(header)
      ends.append(bodies.count)
    }
    first = position
    byteCount = row.byteCount
    checksum = Self.checksum(of: row)
    (self.headers, self.ends) = (headers, ends)
    self.bodies = bodies.bytes
  }

  var count: Int { headers.count }

  /// The body of the last entry.
  var lastBody: [UInt8] { Array(bodies[(ends.count > 1 ? ends[ends.count - 2] : 0)...]) }

  func contains(_ position: Position) -> Bool {
    position >= first && position.rawValue - first.rawValue < UInt64(count)
  }

  /// Whether a row under the same key has the same entries.
  func isMade(from row: RawSpan) -> Bool {
    row.byteCount == byteCount && Self.checksum(of: row) == checksum
  }

  /// Lends an entry, which must be there.
  func withEntry<R>(at position: Position, _ body: (LogEntryHeader, RawSpan) throws -> R) rethrows -> R {
    let index = Int(position.rawValue - first.rawValue)
    let start = index == 0 ? 0 : ends[index - 1]
    let bytes = bodies
    let span = bytes.span
    return try body(headers[index], span.bytes.extracting(start..<ends[index]))
  }

  /// The checksum that ends a row.
  private static func checksum(of row: RawSpan) -> UInt32 {
    row.unsafeLoadUnaligned(fromByteOffset: row.byteCount - LogEntryCodec.checksumBytes, as: UInt32.self)
  }
}
