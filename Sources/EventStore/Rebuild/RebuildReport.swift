/// What a rebuild has done.
public struct RebuildReport: Hashable, Sendable {
  /// Transactions that were folded again.
  public internal(set) var transactions: UInt64 = 0
  /// How many it has looked at, in all passes over the log: see `FoldPasses`.
  var looked: UInt64 = 0
  /// Zones whose records were made again.
  public internal(set) var zones = 0
  /// Whether it continued an earlier one that was cut short.
  public internal(set) var wasResumed = false
}
