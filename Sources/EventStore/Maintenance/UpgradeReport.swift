/// What an upgrade of a store has done, or would do.
public struct UpgradeReport: Hashable, Sendable {
  /// Rows of records that are written shorter.
  public internal(set) var records: UInt64 = 0
  /// Bytes that they get shorter by.
  public internal(set) var bytesSaved: UInt64 = 0
  /// Addends of counters that share a row with others, and had one of their own.
  public internal(set) var addends: UInt64 = 0
  /// Transactions that share a row of the log with others, and had one of their own.
  public internal(set) var transactions: UInt64 = 0

  /// Rows that were read so far.
  public internal(set) var done: UInt64 = 0
  /// Rows that there are.
  public let total: UInt64

  init(total: UInt64) { self.total = total }
}
