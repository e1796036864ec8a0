import EventStore
import StoreTesting

/// The first-parent history of a git repository, as input for a history run.
struct GitHistory: HistorySource {
  let repository: GitRepository

  func survey() throws -> HistorySurvey {
    try Self.translating {
      let commits = Int(clamping: try repository.commitCount())
      return HistorySurvey(commits: commits, authors: try repository.authorCount())
    }
  }

  func makeReader() throws -> any HistoryReader {
    try Self.translating { Reader(log: try repository.log(), sizes: try repository.sizes()) }
  }

  func finalTree() throws -> HistoryTree {
    try Self.translating {
      var reader = try repository.tree()
      var tree = HistoryTree()
      while let file = try reader.next() { tree.apply(file) }
      return tree
    }
  }

  private static func translating<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let failure as ProcessFailure {
      throw ToolError.input(
        "gitFailed", "git failed: \(failure.message)", hint: "check the repository with `git fsck`")
    }
  }

  /// Reads its commits.
  private struct Reader: HistoryReader {
    var log: GitLog
    var sizes: GitSizes

    mutating func next() throws -> HistoryCommit? {
      do {
        guard let commit = try log.next() else { return nil }
        let isBlob = { (change: GitCommit.Change) in
          change.status != UInt8(ascii: "D") && change.mode != GitImport.submoduleMode
        }
        var found = try sizes.sizes(of: commit.changes.filter(isBlob).map(\.blob))[...]
        return HistoryCommit(
          author: GitImport.cut(commit.author, bytesMax: Limits.authorBytesMax) ?? "",
          milliseconds: GitImport.milliseconds(commit.time),
          authorMilliseconds: GitImport.milliseconds(commit.authorTime),
          label: GitImport.cut(commit.subject, bytesMax: Limits.labelBytesMax),
          changes: commit.changes.map { change in
            guard change.status != UInt8(ascii: "D") else {
              return HistoryChange(path: change.path, content: nil)
            }
            let size = isBlob(change) ? found.removeFirst() : nil
            return HistoryChange(
              path: change.path, content: HistoryContent(blob: change.blob, size: size, mode: change.mode))
          })
      } catch let failure as ProcessFailure {
        return try translating { throw failure }
      }
    }
  }
}
