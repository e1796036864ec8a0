public import EventStore
public import Foundation
public import Models

extension Store {
  /// The store as it was at a time, by when transactions arrived here. See `LocalStore.snapshot(asOf:progress:)`.
  public func snapshot(
    asOf date: Date,
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> StoreSnapshot {
    let milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded(.down))
    // What no clock says is before or after all.
    return try await local.snapshot(
      asOf: milliseconds ?? (date.timeIntervalSince1970 < 0 ? .min : .max), progress: progress)
  }
}

extension LogEntry {
  /// When this store appended it.
  public var arrived: Date { Date(milliseconds: arrivedMilliseconds) }
}
