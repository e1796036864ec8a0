/// What a rebuild did.
public struct RebuildReport: Hashable, Sendable {
  /// Transactions that were folded again.
  public internal(set) var transactions: UInt64 = 0
  /// Zones whose records were made anew.
  public internal(set) var zones = 0
  /// Whether it went on where an earlier one had been cut short.
  public internal(set) var wasResumed = false
}
