import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Reads that are pinned")
struct PinnedReads {
  let directory = TemporaryDirectory()

  private func makeStore() async throws -> LocalStore {
    let store = try await directory.noteStore()
    try await store.write { try $0.create(note("r"), type: "note", fields: ["n": 0]) }
    return store
  }

  private func write(_ store: LocalStore, _ numbers: ClosedRange<Int64>) async throws {
    for number in numbers {
      try await store.write { tx in
        try tx.set("n", of: note("r"), to: .int(number))
        try tx.set("body", of: note("r"), to: .bytes([UInt8](repeating: UInt8(number & 255), count: 20_000)))
      }
    }
  }

  private func number(_ pin: PinnedRead) throws -> Value? {
    try pin.read { try $0.value(of: "n", in: note("r")) }
  }

  @Test(
    "a pin sees the same while others write; after its budget it reads the log, and the file grows no more")
  func budget() async throws {
    let store = try await makeStore()
    let ends = Shared<[PinUse]>([])
    let pin = try store.pin("list", budget: PinBudget(bytes: 2 << 20) { use in ends.value.append(use) })
    try await write(store, 1...10)
    #expect(try number(pin) == 0)
    #expect(pin.isHeld)
    try await write(store, 11...300)
    #expect(!pin.isHeld)
    #expect(ends.value.map(\.holder) == ["list"])
    #expect(ends.value.first.map { $0.bytes > 2 << 20 && $0.bytes < 4 << 20 } == true)
    #expect("\(ends.value[0])".contains("“list” has held the state at position 1 for "))
    let there = try number(pin)
    #expect(there == 0)
    try await write(store, 301...320)
    #expect(try number(pin) == 0)
    pin.release()
    #expect(code { _ = try number(pin) } == .expired)
  }

  @Test("a pin that does not read the log says that it has expired; a read that runs is not cut off")
  func expiry() async throws {
    let store = try await makeStore()
    let pin = try store.pin("export", budget: PinBudget(bytes: 1 << 20, readsLogAfterwards: false))
    let seen = try pin.read { tx in
      try store.writeBlockingThisThread { _ in }
      for number in 1...100 {
        try store.writeBlockingThisThread { tx in
          try tx.set("body", of: note("r"), to: .bytes([UInt8](repeating: UInt8(number), count: 20_000)))
        }
      }
      return try tx.value(of: "n", in: note("r"))
    }
    #expect(seen == 0)
    try await write(store, 1...1)
    #expect(code { _ = try number(pin) } == .expired)
  }

  @Test("time counts too")
  func time() async throws {
    let clock = TestClock(1_000_000)
    let store = try directory.store { $0.wallMilliseconds = { clock.milliseconds } }
    try await store.makeZone()
    try await store.write { try $0.create(note("r"), type: "note", fields: ["n": 0]) }
    let pin = try store.pin("list", budget: PinBudget(seconds: 60))
    clock.milliseconds += 59_000
    try await write(store, 1...1)
    #expect(pin.isHeld)
    clock.milliseconds += 2_000
    try await write(store, 2...2)
    #expect(!pin.isHeld)
    #expect(try number(pin) == 0)
    store.close()
    #expect(code { _ = try number(pin) } == .closed)
  }
}
