import OperationFormat

/// Bounds the rows that one commit's fold touches beyond what its operations name. For example, one `create`
/// removes all elements that its transaction has seen.
package final class FoldBound {
  package enum Rule: Sendable {
    /// However much it is.
    case none
    /// What would be more is not folded: ``FoldBoundReached`` is thrown, and what was done is to be undone.
    case givesUp
    /// What would be more waits: an operation ends where it is, with its row whole, and the next commit
    /// continues it.
    case pauses
  }

  /// The steps of removing a row; reading one takes 1.
  static let stepsOfRemoval = 8
  /// The steps of reading a leaf of a text, the removals of hiding units in it, and the steps of finding
  /// which of an inserter's units are seen.
  static let (stepsOfLeaf, removalsOfLeaf, stepsOfInserter) = (2, 3, 16)
  /// What finding takes whether a unit is seen that an insertion may come behind.
  static let stepsOfUnit = 2
  /// A row of more bytes has its own pages; removing a page takes as much as removing a small row.
  private static let (bytesMaxOnSharedPage, pageBytes) = (2000, 4096)
  /// The steps of a commit: a hundred thousand rows to read, or an eighth of that to remove.
  package var stepsMax = 100_000
  /// So many rows are read between two checks of what is left. A check of the fold makes
  /// it less.
  package var rowsAtOnce = 1024
  // One thread uses it, and no access lasts: checks of exclusive access would cost each operation.
  @exclusivity(unchecked) private(set) var rule = Rule.none
  @exclusivity(unchecked) private var left = 0
  /// The row at which an operation that was paused continues; nil where it begins again, and finds less to
  /// do.
  @exclusivity(unchecked) package internal(set) var next: ElementKey?

  /// Begins to count for a commit, or a segment in it.
  ///
  /// - Parameter next: where the first operation continues, if it was paused.
  package func begin(_ rule: Rule, at next: ElementKey? = nil) {
    self.rule = rule
    left = stepsMax
    self.next = next
  }

  package func end() {
    rule = .none
    next = nil
  }

  /// Whether what is left to do waits.
  var isSpent: Bool { rule == .pauses && left <= 0 }

  /// Counts an operation that was folded, where these wait too.
  @inline(__always)
  func countOperation() {
    guard rule == .pauses else { return }
    left -= Self.stepsOfRemoval
    next = nil
  }

  /// Counts rows.
  ///
  /// - Throws: ``FoldBoundReached`` under `givesUp`.
  func count(looked: Int = 0, removed: Int = 0) throws {
    guard rule != .none else { return }
    left -= looked + Self.stepsOfRemoval * removed
    if rule == .givesUp && left < 0 { throw FoldBoundReached() }
  }

  /// Counts the bytes of a removed row that had its own pages.
  func countRemoved(bytes: Int) throws {
    guard bytes > Self.bytesMaxOnSharedPage else { return }
    try count(removed: (bytes + Self.pageBytes - 1) / Self.pageBytes)
  }

  /// Ends an operation's part in a commit that has done enough. The row that it works on must be whole.
  ///
  /// - Parameter key: where the operation continues.
  /// - Throws: ``FoldBoundReached`` under `pauses`.
  func pauseIfSpent(at key: @autoclosure () throws -> ElementKey) throws {
    guard isSpent else { return }
    next = try key()
    throw FoldBoundReached()
  }
}

/// A commit has done as much as its limit: see ``FoldBound``.
package struct FoldBoundReached: Error {
  /// Segments that the commit had folded before.
  var segments = 0
}

extension FoldBound {
  /// Where to begin with the rows under a prefix; nil if an earlier part of the operation has read
  /// all of them.
  func firstKey(under prefix: ElementKey) -> ElementKey? {
    guard let next, prefix < next else { return prefix }
    return next.bytes.starts(with: prefix.bytes) ? next : nil
  }

  /// Counts a leaf that was read, and returns whether to continue.
  func countVisit(_ isChanged: Bool, looked: Int = FoldBound.stepsOfLeaf) throws -> Bool {
    try count(looked: looked, removed: isChanged ? FoldBound.removalsOfLeaf : 0)
    return !isSpent
  }
}
