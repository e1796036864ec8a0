import EventStore
import StoreTesting

/// A history in two files: one in JSON lines, a line for each commit, and a table of the files at the end.
///
///     {"seq":7,"commit":"e4f6…","parents":[6],"device":"ann","lane":"ann.0","t":1631231046000,"at":1631161874,
///      "ct":1631231046,"msg_len":41,"merge":false,"ops":[["put","src/a","<blob>",5521,"100644"],["del","src/b"]]}
///
/// The table has a line `path TAB blob TAB size` for each file.
struct OperationLogHistory: HistorySource {
  let file: String
  let finalFile: String

  func survey() throws -> HistorySurvey {
    var reader = Reader(lines: LineReader(try TextFile.open(file)))
    var survey = HistorySurvey(commits: 0, authors: 0)
    var authors: Set<String> = []
    while let commit = try reader.next() {
      survey.commits += 1
      authors.insert(commit.author)
    }
    survey.authors = authors.count
    return survey
  }

  func makeReader() throws -> any HistoryReader { Reader(lines: LineReader(try TextFile.open(file))) }

  func finalTree() throws -> HistoryTree {
    var lines = LineReader(try TextFile.open(finalFile))
    var tree = HistoryTree()
    var paths: Set<[UInt8]> = []
    while let line = try lines.next() {
      let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
      guard fields.count >= 3, let size = Int64(String(decoding: fields[fields.count - 1], as: UTF8.self)),
        size >= 0
      else { throw Self.invalid(lines, "a path, a blob and a size, separated by tabs, were expected") }
      let blob = String(decoding: fields[fields.count - 2], as: UTF8.self)
      // A path may contain tabs.
      let path = Array(fields.dropLast(2).joined(separator: [UInt8(ascii: "\t")]))
      guard !path.isEmpty, paths.insert(path).inserted else {
        throw Self.invalid(lines, "its path is empty, or occurs twice")
      }
      tree.apply(HistoryChange(path: path, content: HistoryContent(blob: blob, size: size, mode: nil)))
    }
    return tree
  }

  private static func invalid(_ lines: LineReader, _ message: String) -> ToolError {
    .input("historyInvalid", "line \(lines.number) of \(lines.name): \(message)", hint: "mend the line")
  }

  /// Reads its commits.
  private struct Reader: HistoryReader {
    var lines: LineReader
    var last = Int64.min

    mutating func next() throws -> HistoryCommit? {
      guard let line = try lines.next() else { return nil }
      do throws(JSONError) {
        let commit = try Self.commit(try JSONScanner.read(line))
        guard commit.milliseconds > last else {
          throw JSONError(in: "t", "a time after that of the line before was expected")
        }
        last = commit.milliseconds
        return commit
      } catch {
        throw invalid(lines, error.description)
      }
    }

    private static func commit(_ json: JSON) throws(JSONError) -> HistoryCommit {
      var members = try JSONMembers(json, in: "")
      let author = try members.string("device")
      guard 1...Limits.authorBytesMax ~= author.utf8.count else {
        throw members.wrong("device", "a text of 1 to \(Limits.authorBytesMax) bytes")
      }
      let time = try members.integer("t", as: Int64.self)
      let (authorTime, overflow) = try members.integer("at", as: Int64.self).multipliedReportingOverflow(
        by: 1000)
      guard !overflow, time >= 0 else { throw members.wrong("at", "a time") }
      let hash = try members.stringIfPresent("commit")
      var changes: [HistoryChange] = []
      for operation in try members.array("ops") { changes.append(try change(operation)) }
      // Members that are only for people; the runner does not need them.
      for key in ["seq", "parents", "lane", "ct", "msg_len", "merge"] as [Name] { _ = members.take(key) }
      try members.finish()
      return HistoryCommit(
        author: author, milliseconds: time, authorMilliseconds: authorTime,
        label: hash.flatMap { GitImport.cut($0, bytesMax: Limits.labelBytesMax) }, changes: changes)
    }

    private static func change(_ json: JSON) throws(JSONError) -> HistoryChange {
      guard case .array(let parts) = json, parts.count >= 2, case .string(let kind) = parts[0],
        case .string(let path) = parts[1], !path.isEmpty
      else { throw JSONError(in: "ops", "a list of a kind, a path and more was expected") }
      switch (kind, parts.count) {
      case ("del", 2): return HistoryChange(path: Array(path.utf8), content: nil)
      case ("put", 5):
        guard case .string(let blob) = parts[2], case .integer(let number) = parts[3],
          let size = Int64(exactly: number), size >= 0, case .string(let mode) = parts[4]
        else { throw JSONError(in: "ops", "put, path, blob, size and mode were expected") }
        return HistoryChange(
          path: Array(path.utf8), content: HistoryContent(blob: blob, size: size, mode: mode))
      default: throw JSONError(in: "ops", "put with five parts, or del with two, was expected")
      }
    }
  }
}
