import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Waiting zones are reported")
struct ZonesThatWait {
  let temporary = TemporaryDirectory()
  let tool = Tool()
  private let zone = ZoneID(name: "home")
  private let incarnation = IncarnationID(rawValue: 7)

  private func path(_ name: String) -> String { "\(temporary.path)/\(name)" }

  private func open(_ name: String) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    return try LocalStore(directory: path(name), durability: .consistent, configuration: configuration)
  }

  /// A store with a zone that a remote has, and one pending transaction in it.
  private func makeStore(_ name: String) async throws -> LocalStore {
    let store = try open(name)
    let zone = zone
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
    }
    try await store.adopt(zone, incarnation)
    try await store.write { try $0.create(RecordID(zone: zone, name: "own"), type: "t") }
    return store
  }

  /// The log's segment at an offset, with one transaction.
  private func segment(_ replica: ReplicaID, _ sequence: UInt64, at offset: UInt64) throws -> RemoteSegment {
    let bytes = try LogTransaction(
      replica: replica, epoch: 0, sequence: sequence, zone: zone, base: nil,
      timestamp: Timestamp(milliseconds: 1000, counter: 0), operations: [.create(record: "theirs", type: "t")]
    ).encoded()
    var hasher = ContentHasher()
    hasher.update(bytes.span.bytes)
    return RemoteSegment(
      zone: zone, incarnation: incarnation, offset: offset, hash: hasher.finish(), receivedMilliseconds: nil,
      transactions: [bytes])
  }

  @Test("a zone in which nothing waits is not reported")
  func nothing() async throws {
    try await makeStore("s").close()
    let told = await tool.run("info", path("s"))
    #expect(
      told.exit == 0 && !told.output.contains("\n  reading") && !told.output.contains("\n  closed"), "\(told)"
    )
    let json = await tool.run("info", path("s"), "--json")
    #expect(json.output.contains(#""closedLanes":[]"#) && json.output.contains(#""isFoldingAgain":false"#))
    #expect(!json.output.contains("rereadFrom"))
  }

  @Test("a log that is being read again, and records that then lag behind the log")
  func rereading() async throws {
    let store = try await makeStore("s")
    _ = try await store.ingest([try segment(ReplicaID(rawValue: 1), 1, at: 1)])
    try await store.beginRereading(zone, from: 1)
    // The log has another first segment now.
    var other = try segment(ReplicaID(rawValue: 1), 1, at: 1)
    let bytes = try LogTransaction(
      replica: ReplicaID(rawValue: 1), epoch: 0, sequence: 1, zone: zone, base: nil,
      timestamp: Timestamp(milliseconds: 2000, counter: 0), operations: [.create(record: "other", type: "t")]
    ).encoded()
    other.transactions = [bytes]
    #expect(try await store.yieldLane(of: zone, to: other))
    store.close()
    let told = await tool.run("info", path("s"))
    #expect(
      told.output.contains("again from offset 1: nothing is sent before the end of the remote log"), "\(told)"
    )
    #expect(told.output.contains("behind the log, which is being folded again"), "\(told)")
    let json = await tool.run("info", path("s"), "--json")
    #expect(
      json.output.contains(#""rereadFrom":1"#) && json.output.contains(#""isFoldingAgain":true"#), "\(json)")
    // There is no problem, but nobody has compared the records.
    let verified = await tool.run("verify", path("s"))
    #expect(verified.exit == 0 && verified.output.hasPrefix("no problem so far, "), "\(verified)")
    #expect(verified.output.contains("Not all records were compared"), "\(verified)")
    let verifiedJSON = await tool.run("verify", path("s"), "--json")
    #expect(verifiedJSON.output.contains(#""comparesRecords":false"#), "\(verifiedJSON)")
    let ended = try open("s")
    try await ended.endRereading(zone)
    try await ended.finishRenewal()
    ended.close()
    let sound = await tool.run("verify", path("s"))
    #expect(sound.exit == 0 && sound.output.hasPrefix("sound, "), "\(sound)")
  }

  @Test("a closed lane")
  func closed() async throws {
    let store = try await makeStore("s")
    _ = try await store.reject(try segment(store.identity.replica, 5, at: 1), .hole)
    let replica = store.identity.replica
    store.close()
    let told = await tool.run("info", path("s"))
    #expect(
      told.output.contains(
        "1 pending of \(replica), epoch 0, cannot be sent: the log takes no more of it since offset 1; the next sync "
          + "sends it under another epoch"), "\(told)")
    let json = await tool.run("info", path("s"), "--json")
    #expect(json.output.contains(#""pending":1,"reason":"closed""#), "\(json)")
  }

  @Test("an imported lane of which the log has another branch")
  func branched() async throws {
    let first = try await makeStore("a")
    let replica = first.identity.replica
    first.close()
    #expect(await tool.run("export", path("a"), "-o", path("a.jsonl")).exit == 0)
    #expect(await tool.run("import", path("b"), path("a.jsonl")).exit == 0)
    let store = try open("b")
    let zone = zone
    try await store.write { try $0.attachZone(zone) }
    try await store.adopt(zone, incarnation)
    let error = try await store.contestLane(of: zone, by: try segment(replica, 1, at: 1))
    #expect(error?.code == .laneClosed)
    store.close()
    let told = await tool.run("info", path("b"))
    #expect(
      told.output.contains(
        "1 pending of \(replica), epoch 0, cannot be sent: the log has other work under the same sequences at offset "
          + "1; `replay sync` says what to do"), "\(told)")
    let json = await tool.run("info", path("b"), "--json")
    #expect(json.output.contains(#""reason":"branched""#), "\(json)")
  }
}
