import OperationFormat

/// Loads a snapshot into a new state of a zone of the store, in steps: each is one commit.
struct SnapshotLoad {
  let core: StoreCore
  let zone: ZoneNumber
  let manifest: SnapshotManifest
  /// Held until the state is taken: another load must not take it for one that is left over. Nil if another load holds it.
  private let lock: DirectoryLock?

  init(_ core: StoreCore, _ zone: ZoneNumber, _ manifest: SnapshotManifest) {
    (self.core, self.zone, self.manifest) = (core, zone, manifest)
    lock = DirectoryLock(ifFree: core.snapshots.root)
  }

  /// Lets go of what loads have left whose process has ended. Its rows are to be removed.
  func discardLeftOver() async throws {
    guard lock != nil, try core.read({ try $0.readView.states.hasAny(.loading) }) else { return }
    try await core.perform { try $0.storage.states.discardLoading() }
  }

  /// - Parameter progress: called after each step with how many records are loaded, of how many.
  /// - Returns: the state, and the assets that its values name. Its status is `loading`.
  func run(
    _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) async throws -> (state: StateNumber, assets: Set<AssetReference>) {
    let zone = zone
    let state = try await core.perform { try $0.storage.states.make(for: zone, .loading) }
    let loading = Loading(makeLoader(into: state))
    do {
      while !loading.loader.isDone {
        try await core.perform(Self.step(loading, state))
        try progress(loading.loader.records, manifest.records)
      }
    } catch {
      await discard(state)
      throw error
    }
    return (state, loading.loader.assets)
  }

  /// Gives up what was loaded, unless another process has taken it, also if the task is cancelled. The next round of sync
  /// removes its rows.
  func discard(_ state: StateNumber) async {
    let work = WriteJob.Work.repeatable { store in
      guard try store.storage.states.storedRowIfThere(of: state)?.status == .loading else { return }
      try store.storage.states.discard(state)
    }
    try? await core.perform(work, isCancellable: false)
  }

  /// The same on the calling thread.
  func runBlocking() throws -> (state: StateNumber, assets: Set<AssetReference>) {
    let zone = zone
    let isAlone = lock != nil
    let made = Shared(StateNumber.none)
    try core.performBlocking(
      .repeatable {
        if isAlone { try $0.storage.states.discardLoading() }
        made.value = try $0.storage.states.make(for: zone, .loading)
      })
    let loading = Loading(makeLoader(into: made.value))
    let step = Self.step(loading, made.value)
    while !loading.loader.isDone { try core.performBlocking(.repeatable { try step($0) }) }
    return (made.value, loading.loader.assets)
  }

  private func makeLoader(into state: StateNumber) -> SnapshotLoader {
    let (files, manifest) = (core.snapshots, manifest)
    return SnapshotLoader(manifest, into: state) { try files.part($0, of: manifest) }
  }

  private static func step(
    _ loading: Loading, _ state: StateNumber
  ) -> @Sendable (StoreTransaction) throws -> Void {
    { store in
      guard try store.storage.states.storedRowIfThere(of: state)?.status == .loading else {
        throw StoreError(
          .outOfOrder, "the state that a snapshot was loaded into is gone", hint: "try again")
      }
      try loading.loader.step(into: store)
    }
  }

  /// A loader that one thread after the other uses.
  private final class Loading: @unchecked Sendable {
    let loader: SnapshotLoader

    init(_ loader: SnapshotLoader) { self.loader = loader }
  }
}

extension StoreTransaction {
  /// Loads the snapshots that the zones of a store begin with into the empty states of the same zones here.
  ///
  /// - Parameters:
  ///   - only: the only zone; nil for all.
  ///   - commit: called between steps.
  func loadOrigins(
    of source: borrowing ReadTransaction, _ files: SnapshotFiles, only: ZoneNumber? = nil,
    commit: () throws -> Void = {}
  ) throws {
    for (zone, origin) in try source.readView.zones.origins() where only == nil || only == zone {
      guard let state = try source.readView.zoneRowIfThere(zone)?.state, state != .none else { continue }
      let manifest = try files.manifest(of: origin.content)
      let loader = SnapshotLoader(manifest, into: state) { try files.part($0, of: manifest) }
      while !loader.isDone {
        try loader.step(into: self)
        try commit()
      }
    }
  }
}
