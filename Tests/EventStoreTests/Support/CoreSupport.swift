import LMDB

@testable import EventStore

/// What tests look at below a store's verbs.
extension LocalStore {
  var environment: LMDB.Environment { core.environment }
  var tables: Tables { core.tables }
  var assets: AssetFiles { core.assets }

  func perform<R: Sendable>(_ work: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    try await core.perform(work)
  }

  func collectAssets() async throws -> (count: Int, byteCount: UInt64) {
    try await AssetCollection(core).collect()
  }

  func rebuild(
    _ start: @escaping @Sendable (StoreTransaction) throws -> RebuildReport
  ) async throws -> RebuildReport {
    try await RebuildRun(core).run(start)
  }
}
