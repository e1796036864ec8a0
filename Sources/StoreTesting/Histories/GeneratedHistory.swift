import OperationFormat

/// A history made from a seed: a few authors with wrong clocks edit, revert, delete and re-create a few
/// files.
package struct GeneratedHistory: HistorySource, Sendable {
  let commits: Int
  let seed: UInt64
  /// The number of authors.
  let authors: Int
  /// The number of files that ever exist, in three directories.
  let files: Int

  /// Creates a history.
  package init(commits: Int, seed: UInt64, authors: Int = 12, files: Int = 60) {
    precondition(commits >= 0 && authors > 0 && files > 0, "a history has authors and files")
    self.commits = commits
    self.seed = seed
    self.authors = authors
    self.files = files
  }

  package func survey() throws -> HistorySurvey {
    var reader = GeneratedHistoryReader(self)
    var found: Set<String> = []
    while let commit = reader.next() { found.insert(commit.author) }
    return HistorySurvey(commits: commits, authors: found.count)
  }

  package func makeReader() throws -> any HistoryReader { GeneratedHistoryReader(self) }

  package func finalTree() throws -> HistoryTree {
    var reader = GeneratedHistoryReader(self)
    var tree = HistoryTree()
    while let commit = reader.next() {
      for change in commit.changes { tree.apply(change) }
    }
    return tree
  }
}

/// Makes the commits of a generated history.
struct GeneratedHistoryReader: HistoryReader {
  private static let start: Int64 = 1_700_000_000_000
  private static let modes = ["100644", "100644", "100755", "120000"]

  private let history: GeneratedHistory
  private var random: SeededRandom
  private var made = 0
  private var now = Self.start
  /// The contents of each file, the last one at the end, and whether the file exists.
  private var pasts: [(contents: [HistoryContent], isThere: Bool)]

  init(_ history: GeneratedHistory) {
    self.history = history
    random = SeededRandom(seed: history.seed).stream(1)
    pasts = Array(repeating: ([], false), count: history.files)
  }

  mutating func next() -> HistoryCommit? {
    guard made < history.commits else { return nil }
    made += 1
    // Now and then two commits have the same time, or the later one has an earlier time.
    now += Int64(random.next(in: -200...5000))
    let author = random.next(below: history.authors)
    let skew = Int64(author % 5 - 2) * 3_600_000
    return HistoryCommit(
      author: "author \(author)", milliseconds: now,
      authorMilliseconds: now + skew + Int64(random.next(in: -60_000...60_000)), label: "commit \(made)",
      changes: makeChanges())
  }

  private mutating func makeChanges() -> [HistoryChange] {
    if random.chance(5) { return [] }
    let count = random.chance(10) ? random.next(in: 4...20) : random.next(in: 1...3)
    var touched: Set<Int> = []
    var changes: [HistoryChange] = []
    for _ in 0..<count {
      // A few files get most of the changes, so that writers conflict.
      let file = random.next(below: random.chance(60) ? max(1, history.files / 10) : history.files)
      if touched.insert(file).inserted { changes.append(makeChange(of: file)) }
    }
    return changes
  }

  private mutating func makeChange(of file: Int) -> HistoryChange {
    let path = Array("\(["docs", "sources", "tests"][file % 3])/folder \(file % 7)/file \(file)".utf8)
    let past = pasts[file]
    if past.isThere ? random.chance(20) : random.chance(10) {
      // A file that does not exist is also deleted: in a history of many branches that happens.
      pasts[file].isThere = false
      return HistoryChange(path: path, content: nil)
    }
    var content = HistoryContent(
      blob: Self.hexadecimal(&random), size: Int64(random.next(below: 100_000)),
      mode: Self.modes[random.next(below: Self.modes.count)])
    if !past.contents.isEmpty, random.chance(25) {
      content = past.contents[random.next(below: past.contents.count)]
    }
    pasts[file].contents = past.contents.suffix(3) + [content]
    pasts[file].isThere = true
    return HistoryChange(path: path, content: content)
  }

  private static func hexadecimal(_ random: inout SeededRandom) -> String {
    let digits = Array("0123456789abcdef")
    return String((0..<40).map { _ in digits[random.next(below: 16)] })
  }
}
