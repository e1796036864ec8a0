/// A fault that can be planted in the harness, which drives the fold, to show that the check finds it.
package enum FoldCheckFault: String, Hashable, Sendable, CaseIterable {
  /// A fetched transaction claims to have seen one offset more than it had.
  case baseTooHigh
  /// A fetched transaction claims to have seen one offset less.
  case baseTooLow
  /// All transactions of a segment are folded with the base of its last one.
  case baseOfSegment
  /// A known transaction that arrives again is folded again, its operations under new indexes.
  case redeliveryFolded
  /// A transaction's place is the last offset at which it was delivered, not the first.
  case lastPlaceCounts
  /// An identity's parent is forgotten.
  case lineageDropped
  /// An identity claims to have seen one sequence more of its parent than it had.
  case lineageTooLong
  /// Ties are broken by the numbers that a store gives to replicas, not by their identities.
  case tieBrokenByNumber
  /// Fetched timestamps are not capped.
  case capForgotten
  /// A time of receipt that an acknowledgement brings is ignored.
  case retimeForgotten
  /// A fetched transaction removes everything that is there.
  case everythingSeen
  /// A late transaction has seen all that was compacted.
  case lateSeesCompacted
  /// A floor counts above the base of its transaction.
  case floorAboveBase
  /// A floor compacts what a replica has, with transactions in it that have no place up to there.
  case compactsUnsettled
  /// Rows of heads that were kept apart come back after they were deleted.
  case apartRowsReturn
}
