import EventStore

/// Reads a source line by line. A line may end in `\n` or `\r\n`, the last one also in nothing; empty lines
/// are passed over.
struct LineReader {
  /// The longest line. An exported transaction always fits: what would be longer is written in its compact
  /// form.
  static let lineBytesMax = 16 << 20

  /// More than a log's last line has.
  private static let tailBytes = 256

  /// What the lines come from, for messages.
  let name: String
  /// The number of the line that was read last, from 1.
  private(set) var number = 0
  private var parts: DelimitedReader
  /// Whether the line that was read last has no end: a log that is cut inside a line has such a one.
  var isOpen: Bool { parts.isOpen }

  init(_ source: any ByteSource) {
    name = source.name
    parts = DelimitedReader(source, delimiter: UInt8(ascii: "\n"), partBytesMax: Self.lineBytesMax)
  }

  /// The next line, nil at the end.
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
        hint: "a record that is larger goes with its log: `replay export` without --records, then import that"
      )
    }
  }

  /// The next line as a JSON document, nil at the end.
  mutating func nextDocument() throws -> (json: JSON, byteCount: Int)? {
    guard let line = try next() else { return nil }
    do {
      return (try JSONScanner.read(line), line.count)
    } catch {
      throw invalid(error)
    }
  }

  /// Whether the last line may be an object with a member: true too where the end cannot be seen before the rest is read.
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

  /// What is wrong with the line that was read last.
  func invalid(_ error: JSONError) -> ToolError {
    .input(
      "importInvalid", "line \(number) of \(name): \(error.description)",
      hint: "mend the line; `replay export`, with or without --records, shows how one looks, and "
        + "`replay import --help` which members it has")
  }
}
