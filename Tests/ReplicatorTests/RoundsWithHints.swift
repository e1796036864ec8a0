import Synchronization
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("Rounds that pass over what has not changed")
struct RoundsWithHints {
  let scratch = TemporaryDirectory()
  let counter = RemoteCallCounter()

  /// A new remote, and opens it: each time as another process.
  private func makeRemote(
    _ kind: RemotePlace.Kind
  ) async throws -> (_ counter: RemoteCallCounter?) async throws -> any RemoteLog {
    let identity = RemoteID(rawValue: 9)
    switch kind {
    case .memory:
      let remote = MemoryRemote(identity: identity, counter: counter)
      return { counter in counter == nil ? remote.reopened() : remote }
    case .folder:
      let directory = scratch.path + "/remote"
      _ = try await FolderRemote.create(directory: directory, makeRandom: seededBits(9))
      return { try await FolderRemote.open(directory: directory, counter: $0) }
    }
  }

  private func name(_ index: Int) -> ZoneID { ZoneID(name: Name("zone \(index)")) }

  @Test(
    "With nothing to do, a round over many zones makes one call, and reads at most one object",
    arguments: RemotePlace.Kind.allCases)
  func idle(kind: RemotePlace.Kind) async throws {
    let zones = WideTests.choose(1000, otherwise: 200)
    let open = try await makeRemote(kind)
    let writer = try Device(in: scratch.path, "writer", seed: 1)
    try await writer.store.write { tx in
      for index in 0..<zones {
        try tx.createZone(name(index))
        try tx.attachZone(name(index))
        try tx.create(RecordID(zone: name(index), name: "first"), type: "note")
      }
    }
    let others = try await open(nil)
    try await writer.sync(others)
    let reader = try Device(in: scratch.path, "reader", seed: 2)
    let told = Mutex(0)
    let remote = TellingRemote(remote: try await open(counter)) { told.withLock { $0 += 1 } }
    var driven = DrivenReplicator(reader, remote)
    await driven.step(.started)
    #expect(driven.reports[0].received == zones)

    func calls(_ body: () async -> Void) async -> (remote: Int, objects: Int) {
      counter.reset()
      told.withLock { $0 = 0 }
      await body()
      return (told.withLock { $0 }, counter.calls.total)
    }
    await driven.step(.timerFired(.everything))
    let before = await calls { _ = await driven.poll() }
    _ = await driven.poll()
    let commits = try reader.store.lastCommitID
    let idle = await calls { _ = await driven.poll() }
    print("a round over \(zones) zones, \(kind): \(before) for all zones, \(idle) with heads")
    #expect(before.remote == zones + 1 && before.objects == 4 * (zones + 1))
    // The memory says which remote it is, and the folder's hint does too.
    #expect(idle.remote == 1 && idle.objects == 1)
    #expect(driven.reports.last?.isInSync == true)
    #expect(driven.reports.last?.zones.allSatisfy { $0.status == .unchanged } == true)
    #expect(try reader.store.lastCommitID == commits)

    // One change is found by the next round, for the calls of one zone.
    try await writer.set("title", of: "first", to: 1, in: name(zones / 2))
    try await writer.sync(others)
    let one = await calls { _ = await driven.poll() }
    #expect(driven.reports.last?.received == 1 && one.remote <= 4 && one.objects <= 12, "\(one)")
    // A new zone too.
    try await writer.set("title", of: "first", to: 1, in: name(zones))
    try await writer.sync(others)
    _ = await driven.poll()
    #expect(driven.reports.last?.createdZones == [name(zones)] && driven.reports.last?.received == 1)
    for device in [writer, reader] { device.store.close() }
  }

  @Test("What an older program appends is found after an hour, or when the app asks")
  func withoutHints() async throws {
    let open = try await makeRemote(.folder)
    let (others, remote) = (SilentRemote(remote: try await open(nil)), try await open(counter))
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: 1)
    try await devices[0].sync(others)
    var driven = DrivenReplicator(devices[1], remote)
    await driven.step(.started)
    _ = await driven.poll()
    _ = await driven.poll()
    try await devices[0].set("title", of: "second", to: 1)
    try await devices[0].set("title", of: "first", to: 1, in: name(1))
    try await devices[0].sync(others)
    let report = try #require(await driven.poll())
    #expect(report.received == 0 && report.zones.map(\.status) == [.unchanged])
    #expect(driven.timers[.everything] == 2_700_000...3_600_000)
    await driven.step(.timerFired(.everything))
    _ = await driven.poll()
    #expect(driven.reports.last?.received == 2 && driven.reports.last?.createdZones == [name(1)])
    try await devices[0].set("title", of: "third", to: 1)
    try await devices[0].sync(others)
    await driven.step(.syncRequested(.all))
    #expect(driven.reports.last?.received == 1)
    // A notification that does not say what has changed.
    try await devices[0].set("title", of: "fourth", to: 1)
    try await devices[0].sync(others)
    await driven.step(.remoteChanged(.anything))
    await driven.step(.timerFired(.push))
    #expect(driven.reports.last?.received == 1)
    for device in devices { device.store.close() }
  }

  @Test("A hint that another writer has overwritten is written again")
  func overwritten() async throws {
    let open = try await makeRemote(.folder)
    let places = [try await open(nil), try await open(nil)]
    let folder = try #require(places[0] as? FolderRemote).objects
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, places[0])
    var driven = devices.enumerated().map { DrivenReplicator($1, places[$0]) }
    for index in driven.indices {
      await driven[index].step(.started)
      _ = await driven[index].poll()
      _ = await driven[index].poll()
    }
    // Another writer has read the object before the first announces, and writes it afterwards.
    let bytes = try #require(try await folder.get(.hint, bytesMax: HintObject.bytesMax))
    var object = try decode(bytes)
    try await devices[0].set("title", of: "second", to: 1)
    _ = await driven[0].poll()
    object.add([], listOffset: 0, HintObject.Stamp(high: 1, low: 2))
    try await folder.overwrite(.hint, object.bytes)
    // The second continues what it knew, and cannot know what was lost.
    #expect(await driven[1].poll()?.received == 0)
    _ = await driven[0].poll()
    #expect(await driven[1].poll()?.received == 1)
    for device in devices { device.store.close() }
  }

  @Test("A damaged, foreign or missing hint makes rounds ask for every zone, and is replaced")
  func damaged() async throws {
    let open = try await makeRemote(.folder)
    let places = [try await open(nil), try await open(nil)]
    let folder = try #require(places[0] as? FolderRemote).objects
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: 1)
    try await devices[0].sync(places[0])
    var driven = DrivenReplicator(devices[1], places[1])
    await driven.step(.started)
    var foreign = HintObject(of: RemoteID(rawValue: 77))
    foreign.add([], listOffset: .max, HintObject.Stamp(high: 1, low: 1))
    for (number, bytes) in [[], [1, 2, 3], foreign.bytes, nil].enumerated() {
      _ = await driven.poll()
      _ = await driven.poll()
      try await devices[0].set("title", of: Name("\(number)"), to: 1)
      try await devices[0].sync(SilentRemote(remote: places[0]))
      if let bytes { try await folder.overwrite(.hint, bytes) } else { try await folder.delete(.hint) }
      #expect(await driven.poll()?.received == 1, "\(number)")
      #expect(driven.reports.last?.isInSync == true)
      if bytes == foreign.bytes { try await folder.delete(.hint) }
    }
    _ = await driven.poll()
    #expect(await driven.poll()?.zones.map(\.status) == [.unchanged])
    for device in devices { device.store.close() }
  }

  @Test(
    "Answers that nobody may believe do no harm, and hide nothing from a round that asks for every zone",
    arguments: 0..<6)
  func hostile(kind: Int) async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let lying = LyingHeads(remote: remote) { tokens in
      switch kind {
      // Far more than was asked for.
      case 0:
        (0..<100_000).map { ZoneHead(IncarnationID(rawValue: UInt128($0) << 64), offset: 1) }
      case 1: tokens.map { ZoneHead($0.incarnation, offset: .max) }
      case 2: tokens.map { ZoneHead($0.incarnation, offset: $0.offset > 0 ? $0.offset - 1 : 0) }
      case 3: tokens.map { ZoneHead($0.incarnation, offset: $0.offset, isClosed: true) }
      // Two answers.
      case 4:
        tokens.flatMap {
          [ZoneHead($0.incarnation, offset: $0.offset), ZoneHead($0.incarnation, offset: 99)]
        }
      default: tokens.map { ZoneHead($0.incarnation, offset: $0.offset) }
      }
    }
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: 1)
    try await devices[0].sync(remote)
    var driven = DrivenReplicator(devices[1], lying)
    await driven.step(.started)
    try await devices[0].set("title", of: "second", to: 1)
    try await devices[0].sync(remote)
    // Only the last one is like an honest answer that is late.
    #expect(await driven.poll()?.received == (kind == 5 ? 0 : 1))
    await driven.step(.timerFired(.everything))
    _ = await driven.poll()
    #expect(try devices[1].recordNames() == devices[0].recordNames())
    for device in devices { device.store.close() }
  }

  @Test("The bytes of a hint: what is written is read, and anything else is an error")
  func bytes() throws {
    var object = HintObject(of: RemoteID(rawValue: 5))
    for number in 0..<200 as Range<UInt64> {
      let logs = (0...number % 4).map {
        HintObject.Log(incarnation: IncarnationID(rawValue: UInt128(number % 90 + $0)), offset: number)
      }
      let before = object.stamp
      object.add(logs, listOffset: number / 2, HintObject.Stamp(high: number, low: 1))
      #expect(try decode(object.bytes) == object)
      #expect(object.bytes.count <= HintObject.bytesMax && object.writes.count <= HintObject.writesMax)
      if let before { #expect(object.logs(since: before)?.count == logs.count) }
      let names = object.writes.flatMap(\.logs).map(\.incarnation)
      #expect(Set(names).count == names.count && names.count <= HintObject.logsMax)
    }
    #expect(object.logs(since: HintObject.Stamp(high: 0, low: 1)) == nil)
    let bytes = object.bytes
    for count in stride(from: 0, to: bytes.count, by: 7) {
      #expect(throws: FormatError.self) { try decode(Array(bytes.prefix(count))) }
    }
    for index in stride(from: 0, to: bytes.count, by: 11) {
      var damaged = bytes
      damaged[index] ^= 1 << UInt8(index % 8)
      #expect(throws: FormatError.self) { try decode(damaged) }
    }
    // Too many for one object: nobody who knew an earlier write may believe that nothing else changed.
    let many = (0...HintObject.logsMax).map {
      HintObject.Log(incarnation: IncarnationID(rawValue: UInt128($0)), offset: 1)
    }
    let last = try #require(object.stamp)
    object.add(many, listOffset: 0, HintObject.Stamp(high: 9, low: 9))
    #expect(object.logs(since: last) == nil && object.logs(since: HintObject.Stamp(high: 9, low: 9)) == [])
  }
}

private func decode(_ bytes: [UInt8]) throws -> HintObject { try HintObject(decoding: bytes.span.bytes) }

/// A remote whose client announces nothing, as an older version does.
private struct SilentRemote: ForwardingRemote {
  let remote: any RemoteLog
  func announce() async {}
}

/// A remote that makes up its heads.
private struct LyingHeads: ForwardingRemote {
  let remote: any RemoteLog
  let lie: @Sendable ([ChangeToken]) -> [ZoneHead]

  func heads(of tokens: [ChangeToken], list: DatabaseToken) async throws(RemoteError) -> RemoteHeads? {
    RemoteHeads(zones: lie(tokens), isListUnchanged: true)
  }
}
