import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("A small map")
struct MapGrowthTests {
  let directory = TemporaryDirectory()

  private static func bytes(_ count: Int, _ number: Int) -> Value {
    .bytes([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count))
  }

  @Test("it grows without losing data, and each closure runs once")
  func grows() async throws {
    let store = try directory.store { $0.mapBytes = 1 << 20 }
    let runs = Shared(0)
    try await store.write { _ = try $0.createZone(noteZone) }
    let tasks = (0..<80).map { number in
      Task.immediate {
        try await store.write { tx in
          runs.value += 1
          let value = Self.bytes(50_000, number)
          try tx.create(note("n\(number)"), type: "note", fields: ["body": value])
        }
      }
    }
    for task in tasks { try await task.value }
    #expect(runs.value == 80)
    let mapBytes = try store.environment.information.mapBytes
    #expect(mapBytes > 1 << 26)
    for number in 0..<80 {
      let value = try store.value("body", note("n\(number)"))
      #expect(value == Self.bytes(50_000, number))
    }
    try checkContiguous(store)
    let report = try store.verify()
    #expect(report.problems == [])
    store.close()
    // The map of the next open is small again, but it holds the file.
    let opened = try directory.store { $0.mapBytes = 1 << 20 }
    try await opened.write { try $0.create(note("more"), type: "note") }
    let count = try opened.read { try $0.records(in: noteZone).count }
    #expect(count == 81)
  }

  @Test("a write larger than the free space fails as full after running once, and succeeds when tried again")
  func largeWrite() async throws {
    let store = try directory.store { $0.mapBytes = 1 << 20 }
    let runs = Shared(0)
    let before = try store.readView()
    func write() async -> StoreError.Code? {
      await awaitedCode {
        try await store.write { tx in
          runs.value += 1
          for zone in 0..<10 {
            let record = RecordID(zone: ZoneID(name: Name("z\(zone)")), name: "r")
            try tx.createZone(record.zone)
            try tx.create(record, type: "t")
            for field in 0..<7 {
              try tx.set(Name("f\(field)"), of: record, to: Self.bytes((1 << 20) - 16, field))
            }
          }
        }
      }
    }
    let first = await write()
    #expect(first == .full)
    let between = try store.readView()
    #expect(between == before)
    let second = await write()
    #expect(second == nil)
    #expect(runs.value == 2)
    let zones = try store.read { try $0.zones().count }
    #expect(zones == 10)
    let value = try store.value("f6", RecordID(zone: ZoneID(name: "z9"), name: "r"))
    #expect(value == Self.bytes((1 << 20) - 16, 6))
  }

  #if DEBUG
    @Test(
      "a commit that finds it full is repeated, with zones, names and identities, without running closures"
    )
    func fullCommit() async throws {
      let plan = FaultPlan()
      let store = try directory.store {
        $0.mapBytes = 256 << 20
        $0.faults = plan
      }
      let runs = Shared(0)
      plan.fail(1, of: "mdb_txn_commit", with: .mapFull)
      try await store.write { tx in
        runs.value += 1
        try tx.createZone(noteZone)
        try tx.createZone(ZoneID(name: "empty"))
        try tx.create(note("first"), type: "note", fields: ["title": "Hello"])
      }
      #expect(plan.hasFailed)
      #expect(runs.value == 1)
      let zones = try store.read { try $0.zones() }
      #expect(zones == [ZoneID(name: "empty"), noteZone])
      let title = try store.value("title", note("first"))
      #expect(title == "Hello")
      let replica = try store.entries().first?.transaction.replica
      #expect(replica == store.identity.replica)
      let clock = try store.information().clock
      let timestamp = try store.entries().first?.transaction.timestamp
      #expect(clock >= timestamp!)
      try await checkSound(store)
    }
  #endif
}
