/// Where a history comes from. It can be read again and again, so that it need not fit into memory.
package protocol HistorySource {
  /// Counts what will come.
  func survey() throws -> HistorySurvey

  /// Begins at the oldest commit.
  func makeReader() throws -> any HistoryReader

  /// The files after the last commit, as the history itself has them.
  func finalTree() throws -> HistoryTree
}

/// Gives the commits of a history, oldest first.
package protocol HistoryReader {
  /// The next commit, nil at the end.
  mutating func next() throws -> HistoryCommit?
}

/// What is in a history, counted.
package struct HistorySurvey: Sendable, Hashable {
  package var commits: Int
  /// Writers that differ.
  package var authors: Int

  package init(commits: Int, authors: Int) {
    self.commits = commits
    self.authors = authors
  }
}
