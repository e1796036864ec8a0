import StoreTesting

/// Reads the files of a commit from the output of `git ls-tree -r -z -l`.
struct GitTree {
  private static let partBytesMax = 16 << 20

  private let process: ExternalProgram
  private var parts: DelimitedReader

  init(_ process: ExternalProgram) {
    self.process = process
    parts = DelimitedReader(process, delimiter: 0, partBytesMax: Self.partBytesMax)
  }

  /// The next file; nil at the end.
  mutating func next() throws -> HistoryChange? {
    do {
      guard let part = try parts.next() else {
        try process.finish()
        return nil
      }
      return try Self.file(part)
    } catch is PartTooLong {
      throw ProcessFailure(message: "a path is longer than 16 MiB")
    }
  }

  private static func file(_ part: [UInt8]) throws -> HistoryChange {
    guard let tab = part.firstIndex(of: UInt8(ascii: "\t")) else { throw unreadable(part) }
    let words = part[..<tab].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    // A submodule has no size.
    guard words.count == 4, words[3] == "-" || Int64(words[3]) != nil else { throw unreadable(part) }
    return HistoryChange(
      path: Array(part[(tab + 1)...]),
      content: HistoryContent(blob: words[2], size: Int64(words[3]), mode: words[0]))
  }

  private static func unreadable(_ part: [UInt8]) -> ProcessFailure {
    ProcessFailure(message: "its output has “\(String(decoding: part.prefix(80), as: UTF8.self))”")
  }
}
