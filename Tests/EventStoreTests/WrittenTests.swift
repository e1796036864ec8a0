import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("What a write has put into the log", .timeLimit(.minutes(20)))
struct WrittenTests {
  let directory = TemporaryDirectory()

  @Test("is known after the commit, in each zone, and how far it has come can be waited for")
  func receipts() async throws {
    var remote = TestRemote()
    let store = try directory.store("a")
    try await store.makeAttachedZone()
    let local = ZoneID(name: "local")
    try await store.makeZone(local)
    let written = try await store.write { tx in
      try tx.create(note("r"), type: "note")
      #expect(tx.written.transactions == [])
      return tx.written
    }
    #expect(written.transactions.map(\.position) == [try store.lastPosition()])
    #expect(written.transactions.map(\.id) == [try store.entries().last?.transaction.id])
    #expect(try store.receipt(of: written) == .local)
    let both = try await store.write { tx in
      try tx.set("f0", of: note("r"), to: 1)
      try tx.create(RecordID(zone: local, name: "r"), type: "note")
      return tx.written
    }
    #expect(both.transactions.map(\.position) == [Position(rawValue: 2), Position(rawValue: 3)])
    let nothing = try await store.write { $0.written }
    #expect(nothing.transactions == [])
    let waiting = Task { try await store.receipt(of: written) { $0.isShipped } }
    while let acknowledgement = try remote.ship(store) { _ = try await store.acknowledge(acknowledgement) }
    #expect(try await waiting.value == .shipped(offset: 1))
    // One zone has no remote.
    #expect(try store.receipt(of: both) == .local)
    let cancelled = Task { try await store.receipt(of: both) { $0.isShipped } }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    let closed = Task { try await store.receipt(of: both) { $0.isShipped } }
    store.close()
    await #expect(throws: (any Error).self) { try await closed.value }
  }

  @Test("is what was written also where the commit was repeated with more room")
  func repeated() async throws {
    let store = try directory.store("a") { $0.mapBytes = 1 << 20 }
    try await store.makeZone(ZoneID(name: "notes"))
    var all: [Written] = []
    for number in 0..<40 {
      all.append(
        try await store.write { tx in
          let record = RecordID(zone: ZoneID(name: "notes"), name: Name("\(number)"))
          try tx.create(record, type: "note", fields: ["f": .bytes([UInt8](repeating: 1, count: 60_000))])
          return tx.written
        })
    }
    #expect(all.flatMap(\.transactions).map(\.position) == (1...40).map { Position(rawValue: $0) })
  }

  @Test("values that are equal to the ones before are not given again")
  func equalValues() async throws {
    let store = try directory.store("a")
    try await store.makeZone(ZoneID(name: "notes"))
    let zone = ZoneID(name: "notes")
    let values = store.values { tx in try tx.records(in: zone).count }
    var iterator = values.makeAsyncIterator()
    #expect(try await iterator.next() == 0)
    let record = RecordID(zone: zone, name: "r")
    try await store.write { tx in try tx.create(record, type: "note") }
    #expect(try await iterator.next() == 1)
    try await store.write { tx in try tx.set("f", of: record, to: 1) }
    try await store.write { tx in try tx.create(RecordID(zone: zone, name: "s"), type: "note") }
    #expect(try await iterator.next() == 2)
  }
}
