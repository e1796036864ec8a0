import LMDB
import OperationFormat

/// What a rebuild did.
public struct RebuildReport: Hashable, Sendable {
  /// Transactions that were folded again.
  public internal(set) var transactions: UInt64 = 0
  /// Zones whose records were made anew.
  public internal(set) var zones = 0
  /// Whether it went on where an earlier one had been cut short.
  public internal(set) var wasResumed = false
}

extension LocalStore {
  /// Drops what is derived and folds the log again: records come out as the same bytes.
  ///
  /// It works in steps, and reads and writes go on meanwhile. Records are made anew beside the present ones, which
  /// one small commit then replaces. If it is cut short, by a crash or a thrown error, nothing has changed, and the
  /// next call goes on where it ended.
  ///
  /// - Parameter progress: called after each step with how many transactions are done, of how many; what it throws
  ///   ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws.
  /// - Complexity: linear in the log.
  public func rebuild(
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> RebuildReport {
    try await rebuild({ try Rebuild($0).start() }, progress: progress)
  }

  /// Ends a rebuild, once it has begun.
  ///
  /// - Parameter checksPages: whether the pages are checked though they were since the store was opened.
  func rebuild(
    _ start: @escaping @Sendable (StoreTransaction) throws -> RebuildReport, checksPages: Bool = true,
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> RebuildReport {
    if checksPages || !hasCheckedPages.value {
      try await assetThreads.run(.waits) { [self] _ in try checkAllPages() }
    }
    try await discardAll()
    var report = try await perform(start)
    while true {
      let step = try await perform { try Rebuild($0).step() }
      report.transactions += step.transactions
      try progress(step.position.rawValue, step.last.rawValue)
      if step.isDone { break }
    }
    try await discardAll()
    return report
  }

  /// Takes away the rows of states that were replaced, in steps.
  private func discardAll() async throws {
    while try await performIfChanged({ try Rebuild($0).discardStep() ? true : nil }) ?? false {}
  }
}

extension LocalStore {
  /// Folds the log again if it has operations that a former version did not know and this one does: they were kept.
  ///
  /// Where records are behind the log only because a segment was too much for one commit, the next round of sync does it: until
  /// then they are what the zone was before it.
  func foldWhatIsKnownNow() throws {
    guard try hasToFoldAgain() else { return }
    try checkAllPages()
    try performBlocking(.repeatable { _ = try Rebuild($0).start() })
    let isDone = Shared(false)
    while !isDone.value {
      try performBlocking(.repeatable { isDone.value = try Rebuild($0).step().isDone })
    }
    // What was replaced goes with the next rebuild, or when the space is asked for.
  }
  /// A function of its own, so that its read has ended when the writing begins.
  private func hasToFoldAgain() throws -> Bool {
    let readView = ReadView(try environment.beginRead(), tables: tables, interned: Interned())
    let kinds = try readView.meta.unfoldedKinds().filter(\.isKnown)
    return try !kinds.isEmpty && !(kinds == [.set] && readView.zones.areOnlyBehindTokens())
  }
}
