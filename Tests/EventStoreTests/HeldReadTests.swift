import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("A read that stays open")
struct HeldReadTests {
  let directory = TemporaryDirectory()

  private func makeStore(mapBytes: Int = 256 << 20) throws -> LocalStore {
    try directory.store {
      $0.mapBytes = mapBytes
      $0.writesOnCallingThread = true
    }
  }

  @Test("after 100 commits and a deleted zone it still reads the same")
  func hundredCommits() async throws {
    let store = try makeStore()
    let other = ZoneID(name: "other")
    try store.writeBlockingThisThread { tx in
      for zone in [noteZone, other] {
        try tx.createZone(zone)
        try tx.create(RecordID(zone: zone, name: "r"), type: "note", fields: ["n": 0])
      }
    }
    let held = try store.beginHeldRead()
    let digests = try held.read { tx in try tx.zones().map { try tx.digest(of: $0) } }
    for number in 1...100 {
      try store.writeBlockingThisThread { tx in
        try tx.set("n", of: note("r"), to: .int(Int64(number)))
        try tx.create(note("n\(number)"), type: Name("type\(number)"))
        if number == 50 { try tx.deleteZone(other) }
        if number == 51 { try tx.createZone(other) }
      }
    }
    let after = try held.read { tx in
      (
        try tx.zones(), try tx.zones().map { try tx.digest(of: $0) },
        try tx.value(of: "n", in: note("r")), try tx.records(in: noteZone).count, try tx.lastPosition()
      )
    }
    #expect(after.0 == [noteZone, other])
    #expect(after.1 == digests)
    #expect(after.2 == 0)
    #expect(after.3 == 1)
    #expect(after.4 == Position(rawValue: 2))
    let now = try store.read { try $0.records(in: noteZone).count }
    #expect(now == 101)
    held.end()
    held.end()
    try await checkSound(store)
  }

  @Test("the map cannot grow: writes fail as full immediately, until the read ends")
  func fullMap() throws {
    let store = try makeStore(mapBytes: 1 << 20)
    let held = try store.beginHeldRead()
    func write(_ number: Int) -> StoreError.Code? {
      code {
        try store.writeBlockingThisThread { tx in
          try tx.createZone(noteZone)
          let value = Value.bytes([UInt8](repeating: UInt8(number), count: 50_000))
          try tx.create(note("n\(number)"), type: "note", fields: ["body": value])
        }
      }
    }
    var number = 0
    while number < 100, write(number) == nil { number += 1 }
    #expect(number > 5 && number < 100)
    let again = write(number)
    #expect(again == .full)
    let zones = try held.read { try $0.zones() }
    #expect(zones == [])
    held.end()
    let last = write(number)
    #expect(last == nil)
    let count = try store.read { try $0.records(in: noteZone).count }
    #expect(count == number + 1)
    try checkContiguous(store)
  }

  @Test("it continues when the store is closed, which can be opened again after it")
  func closed() throws {
    let store = try makeStore()
    try store.writeBlockingThisThread { _ = try $0.createZone(noteZone) }
    var held: HeldRead? = try store.beginHeldRead()
    store.close()
    let zones = try held?.read { try $0.zones() }
    #expect(zones == [noteZone])
    let early = code { _ = try makeStore() }
    #expect(early == .alreadyOpen)
    let refused = code { _ = try store.beginHeldRead() }
    #expect(refused == .closed)
    held = nil
    let opened = try makeStore()
    #expect(opened.identity == store.identity)
  }

  @Test("an error of its closure is passed on, and the snapshot stays valid")
  func throwing() throws {
    struct Stop: Error {}
    let store = try makeStore()
    let held = try store.beginHeldRead()
    #expect(throws: Stop.self) { try held.read { _ in throw Stop() } }
    let unknown = code { try held.read { _ = try $0.digest(of: noteZone) } }
    #expect(unknown == .zoneUnknown)
    let zones = try held.read { try $0.zones() }
    #expect(zones == [])
  }
}
