import Foundation
import OperationFormat
import RemoteIndex
import RemoteService
import Replicator
import StoreTesting
import Synchronization
import Testing

/// The indexes that a server may have.
enum IndexKind: String, CaseIterable {
  case memory, lmdb

  /// Opens a new one.
  func make(in directory: TemporaryDirectory, isSynced: Bool = false) throws -> any IndexOfRows {
    let time = Mutex<UInt64>(1_700_000_000_000)
    let random = Mutex(SeededRandom(seed: 1))
    let clock: @Sendable () -> UInt64 = {
      time.withLock { time in
        time += 1
        return time
      }
    }
    let makeRandom: @Sendable () -> UInt64 = { random.withLock { $0.next() } }
    switch self {
    case .memory: return MemoryIndex(milliseconds: clock, makeRandom: makeRandom)
    case .lmdb:
      return try LMDBIndex(
        directory: directory.path, isSynced: isSynced, milliseconds: clock, makeRandom: makeRandom)
    }
  }
}

/// A remote that keeps its directory alive.
private struct KeptRemote: ForwardingRemote {
  let remote: any RemoteLog
  let directory: TemporaryDirectory
}

@Suite("Remotes of an index and objects")
struct IndexedRemotes {
  @Test("follow the contract", arguments: IndexKind.allCases, RemoteLogConformance.checks.indices)
  func contract(_ kind: IndexKind, _ check: Int) async throws {
    try await RemoteLogConformance { doors in
      let directory = TemporaryDirectory()
      let (index, objects) = (try kind.make(in: directory), MemoryObjects())
      return (0..<doors).map { _ in
        KeptRemote(remote: IndexedRemote("ann", index, objects), directory: directory)
      }
    }.run(RemoteLogConformance.checks[check])
  }

  @Test(
    "know their place for objects: another one, or one that is gone, is refused",
    arguments: IndexKind.allCases)
  func places(_ kind: IndexKind) async throws {
    let directory = TemporaryDirectory()
    let index = try kind.make(in: directory)
    let (place, other) = (
      ObjectPlace.folder(directory.path + "/one"), ObjectPlace.folder(directory.path + "/two")
    )
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { try await index.bind(place) } }
      try await group.waitForAll()
    }
    func code(_ place: ObjectPlace) async -> RemoteError.Code? {
      do throws(RemoteError) {
        try await index.bind(place)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(await code(place) == nil)
    #expect(await code(other) == .unreachable)
    try await other.make(RemoteID(rawValue: 7))
    #expect(await code(other) == .identityMismatch)
    try FileManager.default.removeItem(atPath: directory.path + "/one")
    #expect(await code(place) == .unreachable)
    #expect(!FileManager.default.fileExists(atPath: directory.path + "/one"))
  }

  @Test("let no log begin where offsets end", arguments: IndexKind.allCases)
  func bounds(_ kind: IndexKind) async throws {
    let directory = TemporaryDirectory()
    let index = try kind.make(in: directory)
    let zone = IndexedZone("lists", of: "ann", IncarnationID(rawValue: 5))
    _ = try await index.createZone(zone)
    for offset in [Limits.placeMax, Limits.placeMax - 1, 1 << 49] {
      let floor = IndexedFloor(
        offset: offset, hash: .zero, chain: .start(of: zone.log), maker: ReplicaID(rawValue: 1),
        hasEntry: false)
      #expect(try await !index.begin(zone, with: floor))
    }
    try await index.close(zone, .deleted)
    #expect(try await index.heads(of: [zone.log], for: "ann").map(\.offset) == [0])
  }

  @Test(
    "follow the contract through a server, on a bad network", arguments: IndexKind.allCases,
    WideTests.choose(1...3, otherwise: 1...1))
  func badNetwork(_ kind: IndexKind, _ seed: UInt64) async throws {
    for check in RemoteLogConformance.checks {
      try await RemoteLogConformance(seed: seed, triesMax: 200) { doors in
        let directory = TemporaryDirectory()
        let remote = IndexedRemote("ann", try kind.make(in: directory), MemoryObjects())
        let service = RemoteService(KeptRemote(remote: remote, directory: directory))
        let random = SeededRandom(seed: seed)
        return try (0..<doors).map { number in
          var stream = random.stream(UInt64(number))
          return FaultyRemote(try service.door(), seed: stream.next())
        }
      }.run(check)
    }
  }

  @Test("show each account its own zones, and nothing of others", arguments: IndexKind.allCases)
  func accounts(_ kind: IndexKind) async throws {
    let directory = TemporaryDirectory()
    let (index, objects) = (try kind.make(in: directory), MemoryObjects())
    let (ann, bob) = (IndexedRemote("ann", index, objects), IndexedRemote("bob", index, objects))
    let (one, two) = (IncarnationID(rawValue: 1), IncarnationID(rawValue: 2))
    #expect(try await ann.createZone("lists", proposing: one) == one)
    #expect(try await bob.createZone("lists", proposing: two) == two)
    let lists = (try await ann.zoneEvents(after: nil), try await bob.zoneEvents(after: nil))
    #expect(lists.0.events.map(\.incarnation) == [one] && lists.1.events.map(\.incarnation) == [two])
    #expect(lists.0.token.remote != lists.1.token.remote)
    await #expect { try await bob.zoneEvents(after: lists.0.token) } throws: {
      ($0 as? RemoteError)?.code == .identityMismatch
    }
    var maker = SegmentMaker("lists", one, replica: ReplicaID(rawValue: 5))
    let segment = try maker.next()
    await #expect { try await bob.append(segment, after: .start(of: "lists", one)) } throws: {
      ($0 as? RemoteError)?.code == .zoneUnknown
    }
    for call in [
      { _ = try await bob.segments(after: .start(of: "lists", one), bytesMax: 1) },
      { try await bob.deleteZone("lists", one) }, { try await bob.purgeZone("lists", one) },
      { _ = try await bob.snapshots(of: "lists", one) },
      {
        _ = try await bob.segments(after: .start(of: ZoneID(owner: "ann", name: "lists"), one), bytesMax: 1)
      },
    ] as [@Sendable () async throws -> Void] {
      await #expect { try await call() } throws: { ($0 as? RemoteError)?.code == .zoneUnknown }
    }
    let token = ChangeToken(zone: "lists", incarnation: one, offset: 0, hash: .zero)
    #expect(try await bob.heads(of: [token], list: lists.1.token)?.zones == [])
  }

  @Test("have the same after the index was opened again")
  func reopened() async throws {
    let directory = TemporaryDirectory()
    let time: @Sendable () -> UInt64 = { 5 }
    let open = { try LMDBIndex(directory: directory.path, milliseconds: time, makeRandom: { 9 }) }
    var index = try open()
    let log = IncarnationID(rawValue: 1)
    let objects = MemoryObjects()
    var remote = IndexedRemote("ann", index, objects)
    _ = try await remote.createZone("lists", proposing: log)
    var maker = SegmentMaker("lists", log, replica: ReplicaID(rawValue: 5))
    var token = ChangeToken.start(of: "lists", log)
    let segments = try (0..<20).map { _ in try maker.next() }
    for segment in segments { _ = try await remote.append(segment, after: token) }
    let before = try await remote.segments(after: token, bytesMax: 1 << 20)
    index.close()
    index = try open()
    remote = IndexedRemote("ann", index, objects)
    #expect(try await remote.segments(after: token, bytesMax: 1 << 20) == before)
    #expect(try await remote.createZone("lists", proposing: IncarnationID(rawValue: 2)) == log)
    guard case .alreadyThere(let place) = try await remote.append(segments[7], after: token) else {
      Issue.record("it was appended again")
      return
    }
    #expect(place.offset == 8 && place.receivedMilliseconds == 5)
    token.offset = 21
    await #expect { try await remote.append(segments[0], after: token) } throws: {
      ($0 as? RemoteError)?.code == .wentBack
    }
    index.close()
  }

  @Test(
    "take many writers of many logs at once, each segment once and in its writer's order",
    arguments: IndexKind.allCases)
  func writers(_ kind: IndexKind) async throws {
    let directory = TemporaryDirectory()
    let (index, objects) = (try kind.make(in: directory), MemoryObjects())
    let remote = IndexedRemote("ann", index, objects)
    let logs = (1...4).map { IncarnationID(rawValue: UInt128($0)) }
    for log in logs {
      _ = try await remote.createZone(ZoneID(name: Name("zone \(log.rawValue)")), proposing: log)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<32 {
        group.addTask {
          let log = logs[writer % 4]
          let zone = ZoneID(name: Name("zone \(log.rawValue)"))
          var maker = SegmentMaker(zone, log, replica: ReplicaID(rawValue: UInt128(writer + 1)))
          for _ in 0..<20 {
            let segment = try maker.next()
            _ = try await remote.append(segment, after: .start(of: zone, log))
            // Its answer was lost.
            guard case .alreadyThere = try await remote.append(segment, after: .start(of: zone, log)) else {
              Issue.record("twice")
              return
            }
          }
        }
      }
      try await group.waitForAll()
    }
    for log in logs {
      let token = ChangeToken.start(of: ZoneID(name: Name("zone \(log.rawValue)")), log)
      guard case .segments(let page, false) = try await remote.segments(after: token, bytesMax: 1 << 24)
      else {
        Issue.record("more")
        return
      }
      #expect(page.map(\.offset) == Array(1...160))
      var (chain, last): (LogChain, [ReplicaID: UInt64]) = (.start(of: log), [:])
      for segment in page {
        let header = try SegmentFrame.readHeader(segment.bytes.span.bytes)
        chain = LogChain(header.statement.hash, at: segment.offset, after: chain)
        #expect(segment.chain == chain)
        #expect(
          last.updateValue(header.sequences.upperBound, forKey: header.replica) ?? 0
            < header.sequences.upperBound)
      }
    }
  }
}
