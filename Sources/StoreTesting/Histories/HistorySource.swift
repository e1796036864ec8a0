/// The source of a history. It can be read several times, so that it need not fit into memory.
package protocol HistorySource {
  /// Counts the commits and writers.
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

/// The counts of a history.
package struct HistorySurvey: Sendable, Hashable {
  package var commits: Int
  /// Distinct writers.
  package var authors: Int

  package init(commits: Int, authors: Int) {
    self.commits = commits
    self.authors = authors
  }
}
