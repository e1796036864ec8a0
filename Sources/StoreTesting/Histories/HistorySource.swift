/// Where a history comes from. It can be read again and again, so that it need not fit into memory.
public protocol HistorySource {
  /// Counts what will come.
  func survey() throws -> HistorySurvey

  /// Begins at the oldest commit.
  func makeReader() throws -> any HistoryReader

  /// The files after the last commit, as the history itself has them.
  func finalTree() throws -> HistoryTree
}

/// Gives the commits of a history, oldest first.
public protocol HistoryReader {
  /// The next commit, nil at the end.
  mutating func next() throws -> HistoryCommit?
}

/// What is in a history, counted.
public struct HistorySurvey: Sendable, Hashable {
  public var commits: Int
  /// Writers that differ.
  public var authors: Int

  public init(commits: Int, authors: Int) {
    self.commits = commits
    self.authors = authors
  }
}
