/// The size of a table (mdb_stat).
package struct TableStatistics: Sendable, Hashable {
  /// How many entries there are.
  package var entries = 0

  /// The number of levels from root to leaf, counting both; 0 when empty.
  var depth = 0

  /// The number of inner pages.
  var branchPages = 0

  /// The number of pages that hold entries.
  var leafPages = 0

  /// The number of pages for values that are too long for a leaf.
  var overflowPages = 0

  /// The size of a page in bytes.
  var pageBytes = 0

  /// The size of all pages together, in bytes.
  package var bytes: Int { (branchPages + leafPages + overflowPages) * pageBytes }
}
