import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

/// Stores and a folder that a former version wrote stay readable in all later versions.
@Suite("Files of a former version")
struct FormerFormats {
  let scratch = TemporaryDirectory()
  /// The folders, and the stores that are in sync with each.
  private static let stores = [
    "former-history": ["former-history-a", "former-history-b"], "former-kinds": ["former-kinds-a"],
  ]

  private func open(_ name: String, isReadOnly: Bool = false) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    configuration.mapBytes = 64 << 20
    configuration.isReadOnly = isReadOnly
    configuration.createsStore = false
    return try LocalStore(
      directory: "\(scratch.path)/\(name)", durability: .consistent, configuration: configuration)
  }

  private func digests(_ store: LocalStore) throws -> [String: ContentHash] {
    try store.read { tx in
      var digests: [String: ContentHash] = [:]
      for zone in try tx.zones() { digests["\(zone)"] = try tx.digest(of: zone) }
      return digests
    }
  }

  private func folder(_ name: String) throws -> FolderRemote {
    let directory = "\(scratch.path)/remote"
    try FormerFiles.makeFolder(name, in: directory)
    return FolderRemote(FolderObjects(directory: directory, makeRandom: seededBits(5)))
  }

  private func sync(_ store: LocalStore, _ remote: any RemoteLog) async throws -> SyncReport {
    try await LogReplicator(store: store, remote: remote).syncOnce()
  }

  @Test("A store shows what it showed, takes writes, and is upgraded", arguments: stores.values.joined())
  func store(name: String) async throws {
    try FormerFiles.makeStore(name, in: "\(scratch.path)/\(name)")
    let expected = try FormerFiles.digests(name)
    let reader = try open(name, isReadOnly: true)
    #expect(try reader.information().formatVersion == 2)
    #expect(try digests(reader) == expected)
    reader.close()

    var store = try open(name)
    #expect(try store.information().formatVersion == LocalStore.formatVersion)
    #expect(try digests(store) == expected)
    let verified = try store.verify()
    #expect(verified.isSound, "\(verified)")
    let needed = try store.upgradeNeeded()
    #expect(needed.records > 0 && needed.bytesSaved > 0)

    // Stopped after its first step, and done at last.
    struct Stopped: Error {}
    await #expect(throws: Stopped.self) { _ = try await store.upgrade { _ in throw Stopped() } }
    store.close()
    store = try open(name)
    #expect(try store.verify().isSound)
    let done = try await store.upgrade()
    #expect(done.transactions <= needed.transactions)
    #expect(try store.upgradeNeeded().records == 0)
    let again = try await store.upgrade()
    #expect(again.records == 0 && again.transactions == 0)
    #expect(try digests(store) == expected)
    #expect(try store.verify().isSound)
    _ = try await store.rebuild()
    #expect(try digests(store) == expected)
    store.close()
  }

  @Test(
    "A folder is read by newcomers, and synced by the stores that wrote it", arguments: stores.keys,
    [false, true])
  func folder(name: String, isUpgraded: Bool) async throws {
    let remote = try folder(name)
    let names = try #require(Self.stores[name])
    if isUpgraded {
      let logs = try await RemoteUpgrade(remote, writes: true).run().logs
      #expect(logs.allSatisfy { $0.former > 0 && $0.former == $0.entries && $0.stop == nil } && !logs.isEmpty)
    }
    let newcomer = try Device(in: scratch.path, "newcomer", seed: 7)
    try await settle([newcomer], remote)
    #expect(try newcomer.digests() == FormerFiles.digests(names[0]))

    var stores: [LocalStore] = []
    for name in names {
      try FormerFiles.makeStore(name, in: "\(scratch.path)/\(name)")
      stores.append(try open(name))
    }
    for (number, store) in (stores.reversed() + stores).enumerated() {
      let zone = try #require(try store.read { try $0.zones().first })
      try await store.write { try $0.create(RecordID(zone: zone, name: Name("new \(number)")), type: "new") }
      let report = try await sync(store, remote)
      #expect(report.isInSync, "\(report)")
    }
    for store in stores { #expect(try await sync(store, remote).isInSync) }
    try await settle([newcomer], remote)
    let all = try newcomer.digests()
    for store in stores {
      #expect(try digests(store) == all)
      #expect(try store.verify().isSound)
      store.close()
    }
    let audit = try await RemoteAudit(of: remote, objects: try await remote.objects.list())
    #expect(audit.problems.isEmpty && audit.logs.allSatisfy { $0.consequences.isEmpty })
    newcomer.store.close()
  }
}
