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

@Suite("A store that is copied while it is used")
struct Backups {
  let directory = TemporaryDirectory()
  private var target: String { directory.path + "/backup" }

  private struct Stopped: Error {}

  private final class Load: Sendable { let isOver = Atomic(false) }

  private func makeStore(_ name: String = "store", assets: Int = 0) async throws -> LocalStore {
    let store = try directory.store(name) { $0.assetThresholdBytes = 1000 }
    try await store.makeZone()
    for number in 0..<assets {
      let bytes = assetBytes(3000, seed: UInt64(number))
      try await store.write { tx in
        try tx.create(note("photo \(number)"), type: "note", fields: ["photo": .bytes(bytes)])
      }
    }
    return store
  }

  private func set(_ number: Int, in store: LocalStore) async throws {
    try await store.write { tx in
      if try !tx.contains(note("n")) { try tx.create(note("n"), type: "note") }
      try tx.set("title", of: note("n"), to: .int(Int64(number)))
      try tx.insertText("x", at: 0, in: "body", of: note("n"))
    }
  }

  private func log(_ store: LocalStore) throws -> [LogTransaction] {
    try store.read { tx in
      var found: [LogTransaction] = []
      try tx.history(after: .start) {
        found.append($0.transaction)
        return true
      }
      return found
    }
  }

  @Test("The copy has a beginning of the log and its records, however many write meanwhile")
  func underLoad() async throws {
    let store = try await makeStore(assets: 3)
    let load = Load()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          var number = 0
          while !load.isOver.load(ordering: .relaxed) {
            try await set(number, in: store)
            number += 1
          }
        }
      }
      defer { load.isOver.store(true, ordering: .relaxed) }
      var before = 0
      for round in 0..<WideTests.choose(12, otherwise: 5) {
        let report = try store.backup(to: target)
        #expect(report.assets == (round == 0 ? 3 : 0) && report.assetsKept == (round == 0 ? 0 : 3))
        #expect(report.assetsMissing == 0 && report.dataBytes > 0)
        #expect(access(target + "/lock.mdb", F_OK) == -1)
        let copy = try directory.store("backup") { $0.isReadOnly = true }
        let (all, copied) = (try log(store), try log(copy))
        #expect(copied.count >= before && all.starts(with: copied))
        before = copied.count
        #expect(copy.identity == store.identity)
        copy.close()
      }
      load.isOver.store(true, ordering: .relaxed)
      try await group.waitForAll()
    }
    store.close()
    // Opened for writing, the copy is another store.
    let copy = try directory.store("backup") { $0.assetThresholdBytes = 1000 }
    #expect(copy.identity.replica != store.identity.replica)
    try await set(-1, in: copy)
    try await checkSound(copy)
    // And so it is no place for another copy of the first one.
    let again = try directory.store("store")
    #expect(code { try again.backup(to: target) } == .notAStore)
  }

  @Test("A copy that is cut short leaves the one before, and the next keeps the assets", arguments: 0..<8)
  func cutShort(_ call: Int) async throws {
    let store = try await makeStore(assets: 4)
    try await set(1, in: store)
    try store.backup(to: target)
    let before = fileBytes(target + "/data.mdb")
    for number in 2..<200 { try await set(number, in: store) }
    let bytes = assetBytes(600_000, seed: 77)
    try await store.write { try $0.create(note("large"), type: "note", fields: ["photo": .bytes(bytes)]) }
    var calls = 0
    var isOver = true
    do {
      try store.backup(to: target) { report in
        calls += 1
        if calls > call { throw Stopped() }
      }
    } catch is Stopped {
      isOver = false
    }
    // The data file is the former one until all is there.
    #expect((fileBytes(target + "/data.mdb") == before) == !isOver)
    #expect(isOver || calls == call + 1)
    let report = try store.backup(to: target)
    #expect(report.assets + report.assetsKept == 5 && report.assetsKept >= 4)
    #expect(filesBelow(target).filter { $0.contains("incoming/") || $0.hasPrefix("backup.new/") } == [])
    store.close()
  }

  @Test("Only an empty directory, a new one, or a copy of the same store is written to")
  func places() async throws {
    let (store, other) = (try await makeStore(), try await makeStore("other"))
    try await set(1, in: store)
    try await set(2, in: other)
    #expect(code { try store.backup(to: directory.path + "/other") } == .notAStore)
    mkdir(target, 0o700)
    try store.backup(to: target)
    #expect(code { try other.backup(to: target) } == .notAStore)
    let others = directory.path + "/files"
    mkdir(others, 0o700)
    writeFile(others + "/mine.txt", [1])
    #expect(code { try store.backup(to: others) } == .notAStore)
    #expect(filesBelow(others) == ["mine.txt"])
    #expect(code { try store.backup(to: others + "/mine.txt") } != nil)
    #expect(code { try store.backup(to: directory.path + "/none/below") } == .system)
    // Its own directory holds a store, and a copy in that would be a part of the store.
    for place in ["/store", "/store/copy", "/store/copy/", "/store/../store/assets"] {
      #expect(code { try store.backup(to: directory.path + place) } == .notAStore, "\(place)")
    }
    #expect(access(directory.path + "/store/copy", F_OK) == -1)
    other.close()
    store.close()
    #expect(code { try store.backup(to: target) } == .closed)
  }

  @Test("Assets that are damaged or not here are counted")
  func assets() async throws {
    let store = try await makeStore(assets: 2)
    let files = filesBelow(directory.path + "/store/assets")
    try #require(files.count == 2)
    unlink(directory.path + "/store/assets/" + files[0])
    #expect(try store.backup(to: target).assetsMissing == 1)
    let path = directory.path + "/store/assets/" + files[1]
    unlink(target + "/assets/" + files[1])
    var bytes = fileBytes(path)
    bytes[7] ^= 1
    writeFile(path, bytes)
    #expect(try store.backup(to: target).assetsDamaged == 1)
    #expect(access(target + "/assets/" + files[1], F_OK) == -1)
    // One that is damaged in the copy is copied again.
    bytes[7] ^= 1
    writeFile(path, bytes)
    try store.backup(to: target)
    bytes[9] ^= 1
    writeFile(target + "/assets/" + files[1], bytes)
    #expect(try store.backup(to: target).assets == 1)
    bytes[9] ^= 1
    #expect(fileBytes(target + "/assets/" + files[1]) == bytes)
    store.close()
  }

  @Test("A copy of a copy is a store: so one is put back")
  func restored() async throws {
    let store = try await makeStore(assets: 2)
    try await set(1, in: store)
    try store.backup(to: target)
    store.close()
    let copy = try directory.store("backup") { $0.isReadOnly = true }
    let report = try copy.backup(to: directory.path + "/restored")
    #expect(report.assets == 2)
    copy.close()
    let restored = try directory.store("restored") { $0.assetThresholdBytes = 1000 }
    #expect(restored.identity.replica != store.identity.replica)
    #expect(try restored.information().formerReplicas == [store.identity.replica])
    #expect(try restored.read { try $0.record(note("n"))?["title"] } == .int(1))
    try await checkSound(restored)
    restored.close()
  }
}
