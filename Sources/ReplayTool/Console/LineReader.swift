import EventStore

/// Reads a source line by line. A line ends in `\n` or `\r\n`; the last line may have no end. Empty lines are
/// skipped.
struct LineReader {
  /// The longest line. Every exported transaction fits: a longer line is written in its compact form.
  static let lineBytesMax = 16 << 20

  /// More bytes than the last line of a log has.
  private static let tailBytes = 256

  /// The name of the source, for messages.
  let name: String
  /// The number of the last line read, from 1.
  private(set) var number = 0
  private var parts: DelimitedReader
  /// Whether the last line read has no line end: a log that was cut inside a line has such a line.
  var isOpen: Bool { parts.isOpen }

  init(_ source: any ByteSource) {
    name = source.name
    parts = DelimitedReader(source, delimiter: UInt8(ascii: "\n"), partBytesMax: Self.lineBytesMax)
  }

  /// The next line; nil at the end.
  mutating func next() throws -> [UInt8]? {
    do {
      while var line = try parts.next() {
        number += 1
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        if !line.isEmpty { return line }
      }
      return nil
    } catch is PartTooLong {
      throw ToolError.input(
        "lineTooLong", "line \(number + 1) of \(name) is longer than 16 MiB",
        hint: "move a larger record with its log: `replay export` without --records, then import that"
      )
    }
  }

  /// The next line as a JSON document; nil at the end.
  mutating func nextDocument() throws -> (json: JSON, byteCount: Int)? {
    guard let line = try next() else { return nil }
    do {
      return (try JSONScanner.read(line), line.count)
    } catch {
      throw invalid(error)
    }
  }

  /// Whether the last line may be an object with this member. Also true if the end cannot be read before the
  /// rest.
  func mayEnd(with member: Name) -> Bool {
    guard let tail = parts.source.tail(upTo: Self.tailBytes) else { return true }
    let lines = tail.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
    guard let last = lines.last else { return false }
    do throws(JSONError) {
      guard case .object(let members) = try JSONScanner.read(Array(last)) else { return false }
      return members[member] != nil
    } catch {
      return false
    }
  }

  /// The error for an invalid last line read.
  func invalid(_ error: JSONError) -> ToolError {
    .input(
      "importInvalid", "line \(number) of \(name): \(error.description)",
      hint: "correct the line; `replay export`, with or without --records, prints examples, and "
        + "`replay import --help` lists the members")
  }
}
