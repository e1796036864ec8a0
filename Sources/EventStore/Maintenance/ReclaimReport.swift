/// What reclaiming the space of deleted zones has done so far.
public struct ReclaimReport: Hashable, Sendable {
  /// Zones of which nothing is left.
  public internal(set) var zones = 0
  /// Transactions that were removed from the log.
  public internal(set) var transactions: UInt64 = 0
  /// Files of assets that nothing named any more.
  public internal(set) var assets = 0
  /// Their bytes.
  public internal(set) var assetBytes: UInt64 = 0
}
