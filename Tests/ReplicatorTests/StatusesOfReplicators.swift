import Synchronization
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("The status of a replicator", .timeLimit(.minutes(20)))
struct StatusesOfReplicators {
  let scratch = TemporaryDirectory()
  let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func failure(_ code: String) -> SyncFailure {
    SyncFailure(code: code, message: "what", hint: "do", scope: .zone)
  }

  /// A device, the network to its remote, which is right at first, and its replicator.
  private func faulty(
    _ configuration: ReplicatorConfiguration = ReplicatorConfiguration()
  ) throws -> (Device, FaultyRemote, LogReplicator) {
    let device = try Device(in: scratch.path, "d", seed: 1)
    let network = FaultyRemote(remote, seed: 1, rates: FaultyRemote.Rates())
    return (
      device, network, LogReplicator(store: device.store, remote: network, configuration: configuration)
    )
  }

  @Test("each failure says who can help, and an unknown one is waited for")
  func answers() {
    for code in ["unreachable", "later", "keyOutdated", "ofALaterVersion"] {
      #expect(failure(code).answer == .wait, "\(code)")
    }
    for code in ["overQuota", "unauthenticated", "newerSegment", "notARemote"] {
      #expect(failure(code).answer == .askUser, "\(code)")
    }
    for code in ["damagedSegment", "zoneUnknown"] { #expect(failure(code).answer == .askOperator, "\(code)") }
    for code in ["closed", "commitUncertain"] { #expect(failure(code).answer == .reopen, "\(code)") }
  }

  @Test("writes are pending, rounds send them, and an outage is told with its start until the remote is back")
  func outage() async throws {
    let time = Mutex<Int64>(1_000_000)
    let device = try Device(in: scratch.path, "d", seed: 1, clock: { time.withLock { $0 } })
    let network = FaultyRemote(remote, seed: 1, rates: FaultyRemote.Rates())
    let replicator = LogReplicator(store: device.store, remote: network)
    #expect(replicator.status.whole == .unknown && replicator.status.zones.isEmpty)
    try await device.set("title", of: "a", to: 1)
    #expect(replicator.status.whole == .pending(1))
    try await replicator.syncOnce()
    #expect(replicator.status.whole == .synced && replicator.status.zones == [zone: .synced])
    #expect(replicator.status.lastSyncedMilliseconds == 1_000_000)
    network.rates.requestLost = 100
    for second in 1...3 {
      time.withLock { $0 = 1_000_000 + Int64(second) * 1000 }
      await #expect(throws: SyncFailure.self) { try await replicator.syncOnce() }
      guard case .offline(let outage) = replicator.status.whole else {
        Issue.record("\(replicator.status.whole)")
        return
      }
      #expect(outage.sinceMilliseconds == 1_001_000 && outage.failure.code == "unreachable")
      #expect(outage.retryMilliseconds == nil && replicator.status.zones[zone] == replicator.status.whole)
    }
    try await device.set("title", of: "a", to: 2)
    network.rates.requestLost = 0
    try await replicator.syncOnce()
    #expect(replicator.status.whole == .synced)
    device.store.close()
    guard case .needsAttention(let problems) = replicator.status.whole else {
      Issue.record("\(replicator.status.whole)")
      return
    }
    #expect(problems.map(\.answer) == [.reopen])
  }

  @Test("what the user must settle needs attention, of a zone alone or of all")
  func attention() async throws {
    let (device, network, replicator) = try faulty()
    let other = ZoneID(name: "other")
    try await device.set("title", of: "a", to: 1)
    try await device.set("title", of: "a", to: 1, in: other)
    try await replicator.syncOnce()
    network.rates.unauthenticated = 100
    await #expect(throws: SyncFailure.self) { try await replicator.syncOnce() }
    guard case .needsAttention(let problems) = replicator.status.whole else {
      Issue.record("\(replicator.status.whole)")
      return
    }
    #expect(problems.count == 1 && problems[0].zone == nil && problems[0].answer == .askUser)
    network.rates.unauthenticated = 0
    network.rates.overQuota = 100
    try await device.set("title", of: "a", to: 2)
    try await replicator.syncOnce()
    let status = replicator.status
    guard case .needsAttention(let full) = status.whole else {
      Issue.record("\(status.whole)")
      return
    }
    #expect(full.map(\.zone) == [zone] && "\(full[0])".contains("overQuota"))
    #expect(status.zones[other] == .synced && status.zones[zone] == .needsAttention(full))
    network.rates.overQuota = 0
    try await replicator.syncOnce()
    #expect(replicator.status.whole == .synced)
  }

  @Test("the sequence tells each status once, also of writes that no round has seen, and ends with the store")
  func sequence() async throws {
    let device = try Device(in: scratch.path, "d", seed: 1)
    var configuration = ReplicatorConfiguration()
    configuration.sleep = { _ in await Task.yield() }
    let replicator = LogReplicator(store: device.store, remote: remote, configuration: configuration)
    var statuses = replicator.statuses.makeAsyncIterator()
    #expect(await statuses.next()?.whole == .unknown)
    try await device.set("title", of: "a", to: 1)
    #expect(await statuses.next()?.whole == .pending(1))
    let round = Task { try await replicator.syncOnce() }
    while let status = await statuses.next(), status.whole != .synced {
      guard case .syncing(let progress) = status.whole else { continue }
      #expect(progress.sent + progress.pending >= 1 && progress.received == 0)
    }
    _ = try await round.value
    let task = Task { for await _ in replicator.statuses {} }
    let cancelled = Task { for await _ in replicator.statuses {} }
    cancelled.cancel()
    await cancelled.value
    device.store.close()
    await task.value
    #expect(await statuses.next() == nil)
  }

  @Test("a running replicator tells when it tries again")
  func retries() async throws {
    let (_, network, replicator) = try faulty()
    network.rates.requestLost = 100
    let run = Task { await replicator.run() }
    for await status in replicator.statuses {
      guard case .offline(let outage) = status.whole, let retry = outage.retryMilliseconds else { continue }
      // The clock of the device stands.
      #expect((1_000_500...1_001_000).contains(retry))
      break
    }
    network.rates.requestLost = 0
    for await status in replicator.statuses where status.whole == .synced { break }
    run.cancel()
    await run.value
  }

  @Test("a deletion that the remote does not take is no peace")
  func deletions() async throws {
    let (device, network, replicator) = try faulty()
    try await device.set("title", of: "a", to: 1)
    try await replicator.syncOnce()
    try await device.store.write { tx in try tx.deleteZone(zone) }
    #expect(replicator.status.whole == .pending(1) && replicator.status.zones.isEmpty)
    network.rates.readOnly = 100
    try await replicator.syncOnce()
    #expect(replicator.status.whole != .synced, "\(replicator.status.whole)")
    network.rates.readOnly = 0
    try await replicator.syncOnce()
    #expect(replicator.status.whole == .synced)
  }

  @Test("half a round says nothing of the other half")
  func halves() async throws {
    let device = try Device(in: scratch.path, "d", seed: 1)
    let replicator = LogReplicator(store: device.store, remote: remote)
    try await device.set("title", of: "a", to: 1)
    try await replicator.syncOnce(.fetch)
    #expect(replicator.status.whole == .pending(1))
    try await replicator.syncOnce(.ship)
    #expect(replicator.status.lastSyncedMilliseconds == nil && replicator.status.whole != .synced)
    try await replicator.syncOnce()
    #expect(replicator.status.whole == .synced && replicator.status.lastSyncedMilliseconds != nil)
  }

  @Test("a half that works again ends what was said of its failure")
  func halvesThatFailed() async throws {
    let (device, network, replicator) = try faulty()
    try await device.set("title", of: "a", to: 1)
    try await replicator.syncOnce()
    try await device.set("title", of: "a", to: 2)
    network.rates.overQuota = 100
    try await replicator.syncOnce(.ship)
    guard case .needsAttention = replicator.status.whole else {
      Issue.record("\(replicator.status.whole)")
      return
    }
    network.rates.overQuota = 0
    try await replicator.syncOnce(.ship)
    #expect(replicator.status.whole == .unknown)
  }

  @Test("a replicator ends when its store is closed, also in the wait after a failure")
  func endsInTheWait() async throws {
    var configuration = ReplicatorConfiguration()
    configuration.policy.retryMilliseconds = 3_600_000
    configuration.policy.retryMillisecondsMax = 3_600_000
    let (device, network, replicator) = try faulty(configuration)
    network.rates.requestLost = 100
    let run = Task { await replicator.run() }
    for await status in replicator.statuses {
      if case .offline(let outage) = status.whole, outage.retryMilliseconds != nil { break }
    }
    device.store.close()
    await run.value
  }

  @Test("a replicator that runs ends when its store is closed")
  func endsWithTheStore() async throws {
    let device = try Device(in: scratch.path, "d", seed: 1)
    try await device.set("title", of: "a", to: 1)
    let replicator = LogReplicator(store: device.store, remote: remote)
    let run = Task { await replicator.run() }
    for await status in replicator.statuses where status.whole == .synced { break }
    device.store.close()
    await run.value
  }

  @Test("a report names the records that were received, their fields, and those in conflict")
  func changedRecords() async throws {
    let devices = try (0..<2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0) + 1) }
    let replicators = devices.map { LogReplicator(store: $0.store, remote: remote) }
    for name in ["a", "b"] as [Name] { try await devices[0].set("title", of: name, to: 1) }
    #expect(try await replicators[0].syncOnce().zones[0].changed == [:])
    #expect(try await replicators[1].syncOnce().zones[0].changed == ["a": .all, "b": .all])
    try await devices[0].set("title", of: "a", to: 2)
    try await devices[0].set("text", of: "b", to: 2)
    try await devices[1].set("title", of: "a", to: 3)
    try await replicators[0].syncOnce()
    let report = try await replicators[1].syncOnce().zones[0]
    #expect(report.changed == ["a": .some(["title"]), "b": .some(["text"])])
    #expect(report.conflicting == ["a"] && report.conflicts == 1)
    try await devices[0].store.write { tx in
      for number in 0...1000 {
        try tx.create(RecordID(zone: zone, name: Name("n\(number)")), type: "note")
      }
    }
    try await replicators[0].syncOnce()
    #expect(try await replicators[1].syncOnce().zones[0].changed == nil)
  }
}
