/// Reads commits from the output of `git log --raw -z` with ``format``.
///
/// Parts end in NUL: the head of a commit, then for each change `:mode mode hash hash status` (the first one
/// after a line end), and the path.
struct GitLog {
  static let format = "%x01%H%x02%ct%x02%at%x02%an%x02%s"

  /// The longest part: longer than any path or subject in practice.
  private static let partBytesMax = 16 << 20

  private let process: ExternalProgram
  private var parts: DelimitedReader
  private var nextHead: [UInt8]?
  private var isAtEnd = false

  init(_ process: ExternalProgram) {
    self.process = process
    parts = DelimitedReader(process, delimiter: 0, partBytesMax: Self.partBytesMax)
  }

  /// The next commit; nil at the end.
  mutating func next() throws -> GitCommit? {
    do {
      guard !isAtEnd, let head = try nextHead ?? parts.next() else {
        try end()
        return nil
      }
      nextHead = nil
      var commit = try Self.commit(head)
      while let part = try parts.next() {
        if part.first == 1 {
          nextHead = part
          return commit
        }
        if part.isEmpty { continue }
        guard let path = try parts.next() else {
          try end()
          throw ProcessFailure(message: "its output ends too early")
        }
        commit.changes.append(try Self.change(part, path))
      }
      // The last commit is complete only if git succeeded.
      try end()
      return commit
    } catch is PartTooLong {
      throw ProcessFailure(message: "a path or a subject is longer than 16 MiB")
    }
  }

  private mutating func end() throws {
    guard !isAtEnd else { return }
    isAtEnd = true
    try process.finish()
  }

  private static func commit(_ part: [UInt8]) throws -> GitCommit {
    let fields = part.dropFirst().split(separator: 2, maxSplits: 4, omittingEmptySubsequences: false)
    guard part.first == 1, fields.count == 5 else { throw unreadable(part) }
    let texts = fields.map { String(decoding: $0, as: UTF8.self) }
    // A time out of range is git's: it reads as 1970.
    return GitCommit(
      hash: texts[0], time: Int64(texts[1]) ?? 0, authorTime: Int64(texts[2]) ?? 0, author: texts[3],
      subject: texts[4])
  }

  private static func change(_ part: [UInt8], _ path: [UInt8]) throws -> GitCommit.Change {
    let text = part.first == UInt8(ascii: "\n") ? part.dropFirst() : part[...]
    let fields = text.split(separator: UInt8(ascii: " "))
    guard fields.count == 5, text.first == UInt8(ascii: ":"), let status = fields[4].first else {
      throw unreadable(part)
    }
    return GitCommit.Change(
      status: status, mode: String(decoding: fields[1], as: UTF8.self),
      blob: String(decoding: fields[3], as: UTF8.self), path: path)
  }

  private static func unreadable(_ part: [UInt8]) -> ProcessFailure {
    ProcessFailure(message: "its output has “\(String(decoding: part.prefix(80), as: UTF8.self))”")
  }
}
