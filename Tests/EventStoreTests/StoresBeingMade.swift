import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("An unfinished store is created again, a complete store is never overwritten")
struct StoresBeingMade {
  let directory = TemporaryDirectory()
  private var path: String { directory.path + "/store" }
  private var data: String { path + "/data.mdb" }

  private func makeStore() async throws -> StoreIdentity {
    let store = try directory.store { $0.assetThresholdBytes = 1000 }
    try await store.makeZone()
    let bytes = assetBytes(5000)
    try await store.write { try $0.create(note("first"), type: "note", fields: ["photo": .bytes(bytes)]) }
    store.close()
    return store.identity
  }

  private func opening(_ configure: (inout StoreConfiguration) -> Void = { _ in }) -> StoreError.Code? {
    code { try directory.store("store", configure).close() }
  }

  @Test("an emptied or removed data file is refused, whatever files are beside it", arguments: [true, false])
  func emptied(_ hasAssets: Bool) async throws {
    let identity = try await makeStore()
    let bytes = fileBytes(data)
    let assets = filesBelow(path + "/assets")
    #expect(assets.count == 1)
    if !hasAssets { rename(path + "/assets", directory.path + "/assets") }
    for isMissing in [false, true] {
      if isMissing { unlink(data) } else { writeFile(data, []) }
      unlink(path + "/lock.mdb")
      let codes = [opening(), opening { $0.createsStore = false }, opening { $0.isReadOnly = true }]
      #expect(codes == [.damaged, .damaged, .damaged])
      #expect(access(data, F_OK) == (isMissing ? -1 : 0))
    }
    writeFile(data, bytes)
    if !hasAssets { rename(directory.path + "/assets", path + "/assets") }
    let store = try directory.store()
    // What was put back is another file.
    #expect(store.identity.replica != identity.replica)
    #expect(try store.information().formerReplicas == [identity.replica])
    #expect(filesBelow(path + "/assets") == assets)
    try await checkSound(store)
  }

  @Test("a copy of only the data file opens as another replica, and is marked then")
  func withoutMark() async throws {
    let identity = try await makeStore()
    unlink(path + "/store.mark")
    // A store of an earlier version whose data file was lost: the other files show that there was a store.
    let bytes = fileBytes(data)
    writeFile(data, [])
    let code = opening()
    #expect(code == .notAStore)
    #expect(fileBytes(data) == [])
    writeFile(data, bytes)
    let reader = try directory.store { $0.isReadOnly = true }
    #expect(reader.identity == identity)
    reader.close()
    #expect(access(path + "/store.mark", F_OK) == -1)
    let store = try directory.store()
    #expect(store.identity.replica != identity.replica)
    #expect(try store.information().formerReplicas == [identity.replica])
    store.close()
    #expect(access(path + "/store.mark", F_OK) == 0)
    writeFile(data, [])
    let again = opening()
    #expect(again == .damaged)
  }

  @Test("after a power failure at any step of its creation a store is created again; with the mark it is not")
  func powerCuts() async throws {
    let made = try directory.store()
    let identity = made.identity
    made.close()
    let final = fileBytes(data)
    let states = Self.states(final)
    var (again, kept, refused) = (0, 0, 0)
    for (number, bytes) in states.enumerated() {
      for isMarked in [false, true] {
        for name in ["data.mdb", "lock.mdb", "store.mark"] { unlink("\(path)/\(name)") }
        writeFile(data, bytes)
        if isMarked { writeFile(path + "/store.mark", []) }
        do {
          let store = try directory.store()
          if store.identity == identity { kept += 1 } else { again += 1 }
          #expect(store.identity == identity || !isMarked, "state \(number)")
          try await store.makeZone()
          store.close()
        } catch {
          refused += 1
          #expect(isMarked, "state \(number): \(error)")
          #expect(fileBytes(data) == bytes, "state \(number)")
        }
      }
    }
    print(
      "making a store: \(states.count) states after a power cut, with and without the mark: \(again) made again, "
        + "\(kept) kept, \(refused) refused")
    #expect(states.count > 40)
    #expect(again > 0 && kept > 0 && refused > 0, "\(again), \(kept), \(refused)")
  }

  /// The possible contents of a data file after a power failure between its creation and its first commit: of
  /// what was not synced, any pages, and any length.
  private static func states(_ final: [UInt8]) -> Set<[UInt8]> {
    let pageBytes = 4096
    let zeros = [UInt8](repeating: 0, count: pageBytes)
    var pages = stride(from: 0, to: final.count, by: pageBytes).map { Array(final[$0..<$0 + pageBytes]) }
    let lastMeta = pages[1]
    // As LMDB creates the file: both meta pages equal but for their numbers, without a transaction.
    pages[1] = pages[0]
    pages[1][0] = 1
    var states: Set<[UInt8]> = [final]
    for written in 0..<1 << pages.count {
      let bytes = pages.indices.flatMap { written >> $0 & 1 == 1 ? pages[$0] : zeros }
      // The pages of the commit, and the meta page that refers to them, are written after the meta pages are
      // on the disk.
      for length in [0, 512, pageBytes, pageBytes + 512, 2 * pageBytes, bytes.count - 512, bytes.count] {
        states.insert(Array(bytes.prefix(length)))
      }
    }
    pages[1] = lastMeta
    states.insert(pages.flatMap { $0 })
    return states
  }

  @Test("the mark and the directory's name are on the disk before a store is open")
  func synced() throws {
    let calls = Mutex<[String]>([])
    var configuration = StoreConfiguration()
    configuration.mapBytes = 1 << 30
    configuration.didCallForAsset = { name, path in
      if "\(name)" == "fsync" { calls.withLock { $0.append(path) } }
    }
    for (name, durability) in [("durable", Durability.durable), ("consistent", .consistent)] {
      calls.withLock { $0 = [] }
      let store = directory.path + "/" + name
      try LocalStore(directory: store, durability: durability, configuration: configuration).close()
      let synced = calls.withLock { $0 }
      #expect(synced == [store + "/store.mark", store, store + "/.."])
      calls.withLock { $0 = [] }
      try LocalStore(directory: store, durability: durability, configuration: configuration).close()
      let later = calls.withLock { $0 }
      #expect(later == [])
    }
  }

  @Test(
    "if several threads create a store at the same moment, one succeeds, the others find it open or created"
  )
  func together() async throws {
    for round in 0..<20 {
      let name = "store \(round)"
      var identities: Set<ReplicaID> = []
      await withTaskGroup(of: ReplicaID?.self) { group in
        for _ in 0..<4 {
          group.addTask { [directory] in
            do {
              let store = try directory.store(name)
              defer { store.close() }
              return store.identity.replica
            } catch {
              #expect((error as? StoreError)?.code == .alreadyOpen)
              return nil
            }
          }
        }
        for await identity in group { if let identity { identities.insert(identity) } }
      }
      #expect(identities.count == 1)
    }
  }

  @Test(
    "a store that was replaced by another acknowledges nothing, and removes no asset of the other")
  func replaced() async throws {
    let store = try LocalStore(directory: path, durability: .consistent)
    try await store.makeZone()
    rename(path, directory.path + "/renamed")
    let other = try LocalStore(directory: path, durability: .consistent)
    try await other.makeZone()
    let asset = try await other.importAsset(bytes: [UInt8](repeating: 7, count: 70_000))
    try await other.write { try $0.create(note("r"), type: "note") }
    let found = await awaitedCode { try await store.write { try $0.create(note("r"), type: "note") } }
    #expect(found == .removed)
    let collecting = await awaitedCode { _ = try await store.collectAssets() }
    #expect(collecting == .removed)
    let isHere = try other.hasAsset(asset)
    #expect(isHere)
  }

  @Test("a write into a deleted data file is not acknowledged", arguments: Durability.allCases)
  func removed(_ durability: Durability) async throws {
    var configuration = StoreConfiguration()
    configuration.mapBytes = 1 << 30
    let store = try LocalStore(directory: path, durability: durability, configuration: configuration)
    try await store.makeZone()
    let other = directory.path + "/renamed"
    rename(path, other)
    try await store.write { try $0.create(note("first"), type: "note") }
    rename(other, path)
    let bytes = fileBytes(data)
    for name in ["data.mdb", "lock.mdb", "store.mark"] { unlink("\(path)/\(name)") }
    rmdir(path)
    for number in 0..<2 {
      let found = await awaitedCode {
        try await store.write { try $0.create(note("n\(number)"), type: "note") }
      }
      #expect(found == .removed)
    }
    let blocking = code {
      try store.writeBlockingThisThread { try $0.create(note("blocking"), type: "note") }
    }
    #expect(blocking == .removed)
    store.close()
    mkdir(path, 0o700)
    writeFile(data, bytes)
    let opened = try LocalStore(directory: path, durability: durability, configuration: configuration)
    let isThere = try opened.read { try $0.contains(note("first")) }
    #expect(isThere)
  }

  @Test("a process that has the store open does not write under an identity that another has replaced")
  func identityReplaced() async throws {
    let store = try directory.store()
    try await store.makeZone()
    // As another process does that finds the store in another place.
    let core = store.core
    _ = try NewIdentity.take(after: store.identity, in: core.environment, core.tables, core.configuration)
    let error = await #expect(throws: StoreError.self) {
      try await store.write { try $0.create(note("a"), type: "note") }
    }
    #expect(error?.code == .closed && error?.message == StoreError.identityChanged.message)
    store.close()
    let again = try directory.store()
    #expect(again.identity.replica != store.identity.replica)
    try await again.write { try $0.create(note("a"), type: "note") }
    try await checkSound(again)
    again.close()
  }
}
