import LMDB
import OperationFormat

/// What taking away the rows of deleted zones has done so far.
public struct ReclaimReport: Hashable, Sendable {
  /// Zones of which nothing is left.
  public internal(set) var zones = 0
  /// Transactions that were taken out of the log.
  public internal(set) var transactions: UInt64 = 0
  /// Files of assets that nothing named any more.
  public internal(set) var assets = 0
  /// Their bytes.
  public internal(set) var assetBytes: UInt64 = 0
}

extension LocalStore {
  /// Takes away what deleted zones have left: records, transactions, places; and the files of assets that nothing names.
  /// The data file does not get smaller; its pages are used again.
  ///
  /// It works in steps, and reads and writes go on meanwhile. If it is cut short, by a crash or a thrown error, the
  /// next call goes on where it ended. Positions of transactions that are gone are not given out again. A zone
  /// whose remote is still to be told of its deletion is left as it is.
  ///
  /// - Parameter progress: called after each step with what was done so far; what it throws ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws.
  /// - Complexity: linear in what is taken away and in the files of assets.
  public func reclaim(
    progress: (ReclaimReport) throws -> Void = { _ in }
  ) async throws -> ReclaimReport {
    var report = ReclaimReport()
    while try await perform({ try Rebuild($0).discardStep() }) { try progress(report) }
    while let step = try await perform({ try Reclaim($0.storage).step() }) {
      report.zones += step.zones
      report.transactions += step.transactions
      try progress(report)
    }
    (report.assets, report.assetBytes) = try await collectAssets()
    return report
  }
}
