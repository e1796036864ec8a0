import Synchronization
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("The cost of a round")
struct IdleRounds {
  let scratch = TemporaryDirectory()
  let counter = RemoteCallCounter()

  private func makeRemote(_ kind: RemotePlace.Kind) async throws -> any RemoteLog {
    let identity = RemoteID(rawValue: 9)
    switch kind {
    case .memory: return MemoryRemote(identity: identity, counter: counter)
    case .folder:
      let folder = FolderObjects(directory: scratch.path + "/remote", makeRandom: seededBits(9))
      try await folder.create(identity)
      return FolderRemote(folder, counter: counter)
    }
  }

  /// The calls of a round at the object store.
  private func calls(of device: Device, _ remote: any RemoteLog) async throws -> RemoteCalls {
    counter.reset()
    let report = try await device.sync(remote)
    #expect(report.isInSync)
    return counter.calls
  }

  private func expected(gets: Int, prefixGets: Int, entryLists: Int, puts: Int = 0) -> RemoteCalls {
    var calls = RemoteCalls()
    (calls.gets, calls.prefixGets, calls.entryLists, calls.puts) = (gets, prefixGets, entryLists, puts)
    return calls
  }

  @Test(
    "with nothing to do: four calls for the list of zones, and four for each zone",
    arguments: RemotePlace.Kind.allCases, [1, 10])
  func idle(kind: RemotePlace.Kind, zoneCount: Int) async throws {
    let remote = try await makeRemote(kind)
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for index in 0..<zoneCount {
      try await devices[0].set("title", of: "first", to: 1, in: ZoneID(name: Name("zone \(index)")))
    }
    try await settle(devices, remote)
    for device in devices {
      let commits = try device.store.lastCommitID
      for _ in 0..<2 {
        // The marker, the last known event, none at the offset after it, and none that follows. In each zone the
        // token's segment, nothing that amends it, none at the offset after it, and none that follows: a hole is
        // not the end.
        let calls = try await calls(of: device, remote)
        #expect(
          calls == expected(gets: 2 + zoneCount, prefixGets: 1 + 2 * zoneCount, entryLists: 1 + zoneCount))
      }
      let told = Told()
      try await device.sync(TellingRemote(remote: remote) { told.add() })
      #expect(told.count == 1 + zoneCount)
      // It also writes nothing here.
      #expect(try device.store.lastCommitID == commits)
      device.store.close()
    }
  }

  @Test("with one change: the same for any length of the log", arguments: RemotePlace.Kind.allCases)
  func oneChange(kind: RemotePlace.Kind) async throws {
    let remote = try await makeRemote(kind)
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    var costs: Set<[RemoteCalls]> = []
    for index in 0..<60 {
      try await devices[0].set("title", of: "first", to: .int(Int64(index)))
      costs.insert([try await calls(of: devices[0], remote), try await calls(of: devices[1], remote)])
    }
    // To send it: reads before and after, a search for the end and beyond it, and the put. In a folder others
    // are told: the marker and the hint are read, and the hint is written.
    let shipping =
      kind == .folder
      ? expected(gets: 5, prefixGets: 8, entryLists: 4, puts: 2)
      : expected(gets: 4, prefixGets: 7, entryLists: 4, puts: 1)
    let receiving = expected(gets: 4, prefixGets: 3, entryLists: 2)
    #expect(costs == [[shipping, receiving]])
    for device in devices { device.store.close() }
  }

  @Test("sending from a parked zone costs the same, however many entries follow the damage")
  func behindDamage() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9), counter: counter)
    let devices = try (1...3).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for device in devices.prefix(2) {
      try await device.set("title", of: "first", to: 1)
      try await device.sync(remote)
    }
    let incarnation = try #require(try devices[0].store.syncState().zones[0].token?.incarnation)
    remote.objects.replace(.entry(of: incarnation, 2), with: [1, 2, 3])
    var costs: [Int] = []
    for index in 0..<40 {
      for device in [devices[1], devices[2]] {
        try await device.set("title", of: "first", to: .int(Int64(index)))
        counter.reset()
        let report = try await device.sync(remote)
        #expect(report.sent == 1)
        if device === devices[2] { costs.append(counter.calls.total) }
      }
    }
    // The first time, nothing of its own is there yet.
    let (first, later) = (try #require(costs.first), Set(costs.dropFirst(2)))
    #expect(later.count == 1 && later.first ?? 0 <= first + 4, "\(costs)")
    for device in devices { device.store.close() }
  }

  @Test(
    "A first sync has one page of a zone in memory at a time, and no page is larger than its limit",
    arguments: [20_000, 100_000])
  func pages(pageBytesMax: Int) async throws {
    let remote = try await makeRemote(.memory)
    let zones = (0..<6).map { ZoneID(name: Name("zone \($0)")) }
    for (index, zone) in zones.enumerated() {
      let incarnation = try await remote.createZone(
        zone, proposing: IncarnationID(rawValue: UInt128(index + 1)))
      var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 5))
      for offset in 0..<40 as Range<UInt64> {
        // One segment is larger than a page of the smaller size.
        _ = try await remote.append(try maker.next(valueBytes: offset == 20 ? 30_000 : 5_000), after: offset)
      }
    }
    let device = try Device(in: scratch.path, "new", seed: 1)
    let pages = PageWatch(remote, device.store)
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = device.makeRandom
    configuration.pageBytesMax = pageBytesMax
    configuration.policy.zonesAtOnceMax = 2
    let replicator = LogReplicator(store: device.store, remote: pages, configuration: configuration)
    let report = try await replicator.syncOnce()
    #expect(report.isInSync && report.received == 240)
    let seen = pages.seen
    #expect(seen.bytes == report.bytesReceived && seen.bytes > 6 * 225_000)
    for page in seen.pages { #expect(page.bytes <= pageBytesMax || page.segments == 1, "\(page)") }
    #expect(seen.pages.count >= seen.bytes / pageBytesMax)
    #expect(seen.early == 0, "a page was fetched before the one before it was folded")
    #expect((1...2).contains(seen.zonesAtOnce), "\(seen.zonesAtOnce) zones held a page at one time")
    try await expectAgreement([device], remote)
    device.store.close()
  }
}

/// Counts calls from closures.
private final class Told: Sendable {
  private let state = Mutex(0)
  var count: Int { state.withLock { $0 } }
  func add() { state.withLock { $0 += 1 } }
}

/// A remote that records which pages a replicator has in memory.
private final class PageWatch: ForwardingRemote {
  struct Page {
    var segments: Int
    var bytes: Int
  }

  struct Seen {
    var pages: [Page] = []
    /// Pages that were requested before the previous one was in the store.
    var early = 0
    /// Zones with a page that is not in the store yet, and the page's end.
    var held: [ZoneID: UInt64] = [:]
    /// The most zones that had a page in memory at the same time.
    var zonesAtOnce = 0

    var bytes: Int { pages.reduce(0) { $0 + $1.bytes } }
  }

  let remote: any RemoteLog
  private let store: LocalStore
  private let state = Mutex(Seen())

  init(_ remote: any RemoteLog, _ store: LocalStore) {
    self.remote = remote
    self.store = store
  }

  var seen: Seen { state.withLock { $0 } }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    var tokens: [ZoneID: ChangeToken] = [:]
    for zone in (try? store.syncState().zones) ?? [] { tokens[zone.zone] = zone.token }
    let outcome = try await remote.segments(after: token, bytesMax: bytesMax)
    guard case .segments(let segments, _) = outcome else { return outcome }
    state.withLock { state in
      if tokens[token.zone] != token { state.early += 1 }
      state.held = state.held.filter { zone, end in end > tokens[zone]?.offset ?? 0 }
      let bytes = segments.reduce(0) { $0 + $1.bytes.count }
      if let last = segments.last {
        state.pages.append(Page(segments: segments.count, bytes: bytes))
        state.held[token.zone] = last.offset
      }
      state.zonesAtOnce = max(state.zonesAtOnce, state.held.count)
    }
    return outcome
  }
}
