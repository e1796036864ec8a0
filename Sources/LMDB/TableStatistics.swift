/// The size of a table (mdb_stat).
package struct TableStatistics: Sendable, Hashable {
  /// How many entries there are.
  package var entries = 0

  /// How many pages lie between root and leaf, both counted; 0 when empty.
  package var depth = 0

  /// Inner pages of the tree.
  package var branchPages = 0

  /// Pages that hold entries.
  package var leafPages = 0

  /// Pages of values that are too long for a leaf.
  package var overflowPages = 0

  /// The size of a page in bytes.
  package var pageBytes = 0

  /// What all the pages take, in bytes.
  package var bytes: Int { (branchPages + leafPages + overflowPages) * pageBytes }
}
