import EventStore
import HTTPRemote
import HTTPTypes
import OperationFormat
import RemoteService
import Replicator
import StoreTesting
import Synchronization
import Testing

@Suite("Stores that sync over HTTP")
struct StoresOverHTTP {
  private let directory = TemporaryDirectory()
  private let zone: ZoneID = "lists"

  private func store(_ name: String) throws -> LocalStore {
    try LocalStore(directory: "\(directory.path)/\(name)", durability: .consistent)
  }

  private func write(_ number: Int, to store: LocalStore) async throws {
    try await store.write { transaction in
      try transaction.createZone(zone)
      try transaction.attachZone(zone)
      let record = RecordID(zone: zone, name: Name("record \(number)"))
      try transaction.create(record, type: "note")
      try transaction.set("title", of: record, to: .string("text \(number)"))
    }
  }

  @Test("have the same records, and a round with nothing to do is one request")
  func sync() async throws {
    let folder = try await FolderRemote.create(directory: directory.path + "/remote")
    let service = RemoteService(folder)
    let transport = ServiceTransport(service)
    let (one, two) = (try store("one"), try store("two"))
    let first = LogReplicator(store: one, remote: try service.door())
    let second = LogReplicator(store: two, remote: try service.door(over: transport))
    for number in 0..<20 { try await write(number, to: one) }
    #expect(try await first.syncOnce().isInSync)
    _ = try await second.syncOnce(zones: [zone])
    try await write(20, to: two)
    #expect(try await second.syncOnce().isInSync)
    #expect(try await first.syncOnce().isInSync)
    let digests = try [one, two].map { try $0.read { try $0.digest(of: zone) } }
    #expect(digests[0] == digests[1])
    // A round that somebody asks for looks everywhere; one that time brings asks the server what is new.
    var configuration = ReplicatorConfiguration()
    configuration.policy.pollMilliseconds = 5
    let rounds = Mutex(0)
    let running = LogReplicator(
      store: two, remote: try service.door(over: transport), configuration: configuration)
    let task = Task { await running.run { _ in rounds.withLock { $0 += 1 } } }
    try await until("a stream") { service.streams == 1 && rounds.withLock { $0 } > 3 }
    transport.forget()
    try await until("rounds") { transport.sent.count >= 20 }
    task.cancel()
    await task.value
    #expect(Set(transport.sent) == ["POST /v1/heads"], "\(transport.sent)")
    one.close()
    two.close()
  }

  @Test(
    "lose nothing and write nothing twice, whatever the network does to a request",
    arguments: WideTests.choose(1...40, otherwise: 1...4))
  func badNetwork(seed: UInt64) async throws {
    let service = RemoteService(MemoryRemote(identity: RemoteID(rawValue: 1)))
    let random = Mutex(SeededRandom(seed: seed))
    let isBad = Mutex(true)
    let transport = ServiceTransport(service) { _ in
      guard isBad.withLock({ $0 }) else { return nil }
      return random.withLock { random in
        switch Int.random(in: 0..<10, using: &random) {
        case 0: .lost
        case 1: .answerLost
        case 2: .cutShort
        default: nil
        }
      }
    }
    let stores = try (0..<3).map { try store("store \($0)") }
    let replicators = try stores.map { LogReplicator(store: $0, remote: try service.door(over: transport)) }
    for number in 0..<30 {
      try await write(number, to: stores[number % 3])
      // It fails often.
      _ = try? await replicators[number % 3].syncOnce()
    }
    isBad.withLock { $0 = false }
    for _ in 0..<2 { for replicator in replicators { _ = try await replicator.syncOnce() } }
    let digests = try Set(stores.map { try $0.read { try $0.digest(of: zone) } })
    #expect(digests.count == 1)
    let records = try stores[0].read { try $0.records(in: zone, type: "note").count }
    #expect(records == 30)
    for store in stores { store.close() }
  }
}
