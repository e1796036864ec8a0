import LMDB
import OperationFormat

/// Runs a rebuild of a store from its first step to its last, each step in its own commit.
struct RebuildRun {
  let core: StoreCore

  init(_ core: StoreCore) { self.core = core }

  /// Runs a rebuild to its end.
  ///
  /// - Parameters:
  ///   - start: begins it, or resumes one that was cut short.
  ///   - checksPages: whether the pages are checked though they were since the store was opened.
  ///   - progress: called after each step with how many transactions are done, of how many; what it throws
  ///     ends the work.
  func run(
    _ start: @escaping @Sendable (StoreTransaction) throws -> RebuildReport = { try Rebuild($0).start() },
    checksPages: Bool = true, progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> RebuildReport {
    if checksPages || !core.hasCheckedPages.value {
      try await core.fileThreads.run(.waits) { [core] _ in try core.checkAllPages() }
    }
    try await discardAll()
    var report = try await core.perform(start)
    var done = RebuildDone()
    while true {
      let step: RebuildStep
      do {
        step = try await core.perform { try Rebuild($0).step() }
      } catch let needed as OriginNeeded {
        try await load(needed)
        continue
      }
      report.transactions += step.transactions
      report.looked += step.looked
      try progress(done.add(step), step.last.rawValue)
      if step.isDone { break }
    }
    try await discardAll()
    try await Compaction.finish(core, in: nil)
    return report
  }

  /// Loads the snapshot that a zone begins with.
  private func load(_ needed: OriginNeeded) async throws {
    let manifest = try core.snapshots.manifest(of: needed.origin.content)
    let load = SnapshotLoad(core, needed.zone, manifest)
    defer { extendLifetime(load) }
    try await makeRoom(for: load)
    let loaded = try await load.run { _, _ in }
    _ = try await core.perform { try Rebuild($0).setLoaded(loaded.state, of: needed.zone, needed.origin) }
  }

  private func loadBlocking(_ needed: OriginNeeded) throws {
    let manifest = try core.snapshots.manifest(of: needed.origin.content)
    let load = SnapshotLoad(core, needed.zone, manifest)
    defer { extendLifetime(load) }
    let loaded = try load.runBlocking()
    try core.performBlocking(
      .repeatable { _ = try Rebuild($0).setLoaded(loaded.state, of: needed.zone, needed.origin) })
  }

  /// Removes what earlier loads have left, before another one.
  func makeRoom(for load: SnapshotLoad) async throws {
    try await load.discardLeftOver()
    try await discardAll()
  }

  /// Removes the rows of states that were replaced, or whose load was given up, in steps.
  func discardAll() async throws {
    while try await core.performIfChanged({ try Rebuild($0).discardStep() ? true : nil }) ?? false {}
  }

  /// Runs the rebuild that a change of the log has begun, or one that was cut short, and compacts what is to be; does nothing
  /// where there is neither.
  ///
  /// - Parameter zone: where only that one may be to be compacted; nil for any.
  func finish(_ zone: ZoneID? = nil) async throws {
    let (isNeeded, isUnfinished) = try core.read {
      (try $0.isFoldingAgain(), try $0.readView.meta.unfinishedRebuild() != nil)
    }
    if isNeeded || isUnfinished {
      do {
        _ = try await run({ try Rebuild($0).resume() }, checksPages: false)
        return
      } catch  where !isNeeded && !(error is CancellationError) {
        // The records are sound without it. Who asked for it was told of the error, or asks again.
        try await core.perform { try Rebuild($0).giveUp() }
      }
    }
    // Also a process that has the store open for long removes what others left: else they stay for its next opening.
    if zone == nil { try? core.removeLeftOverSnapshots() }
    // A process may have ended before it had removed them.
    if try zone == nil && core.read({ try $0.readView.states.hasAny(.discarded) }) { try await discardAll() }
    try await Compaction.finish(core, in: zone)
  }

  /// Folds the log again if it has operations that a former version did not know and this one does: they were
  /// kept.
  ///
  /// Where records are behind the log only because a segment was too much for one commit, the next round of
  /// sync does it: until then they are what the zone was before it.
  func foldKnownKinds() throws {
    guard try hasToFoldAgain() else { return }
    try core.checkAllPages()
    try core.performBlocking(.repeatable { _ = try Rebuild($0).start() })
    let isDone = Shared(false)
    while !isDone.value {
      do {
        try core.performBlocking(.repeatable { isDone.value = try Rebuild($0).step().isDone })
      } catch let needed as OriginNeeded {
        try loadBlocking(needed)
      }
    }
    // What was replaced goes with the next rebuild, or when the space is asked for.
  }

  /// A function of its own, so that its read has ended when the writing begins.
  private func hasToFoldAgain() throws -> Bool {
    let readView = ReadView(
      try core.environment.beginRead(), tables: core.tables, interned: Interned())
    let kinds = try readView.meta.unfoldedKinds().filter(\.isKnown)
    return try !kinds.isEmpty && !(kinds == [.set] && readView.zones.areOnlyBehindTokens())
  }
}

extension StoreCore {
  /// Does something to a store whose records are not behind its log; folds it again before, if they are.
  func performFolded<R: Sendable>(
    _ body: @escaping @Sendable (StoreTransaction) throws -> R
  ) async throws -> R {
    try await performIfFolded { .some(try body($0)) }!
  }

  /// As ``performFolded(_:)``; a body that returns nil has changed nothing.
  func performIfFolded<R: Sendable>(
    _ body: @escaping @Sendable (StoreTransaction) throws -> R?
  ) async throws -> R? {
    while true {
      do {
        return try await performIfChanged { store in
          if try Rebuild(store).isRefolding { throw RecordsAreBehind() }
          return try body(store)
        }
      } catch is RecordsAreBehind {
        try await RebuildRun(self).finish()
      }
    }
  }
}

/// How much of a log was folded, over all passes: see ``FoldPasses``.
private struct RebuildDone {
  private var done: UInt64 = 0
  private var waiting: UInt64 = 0
  private var isFirstPass = true

  /// Adds a step.
  ///
  /// - Returns: how many positions of the log are done, each counted once; never fewer than before.
  mutating func add(_ step: RebuildStep) -> UInt64 {
    waiting += step.waiting
    let endsPass = step.isDone || step.position == .start
    let position = endsPass ? step.last.rawValue : step.position.rawValue
    let found = isFirstPass ? position - min(position, waiting) : done + step.transactions
    done = step.isDone ? step.last.rawValue : max(done, min(found, step.last.rawValue))
    if endsPass { isFirstPass = false }
    return done
  }
}

/// The records are behind the log.
private struct RecordsAreBehind: Error {}

extension ReadTransaction {
  /// Whether the records are behind the log: it has changed behind the fold, or this version knows more of it
  /// than the one that has folded it, and it was not folded again to its end.
  package func isFoldingAgain() throws -> Bool {
    try readView.meta.unfoldedKinds().contains(where: \.isKnown)
  }
}
