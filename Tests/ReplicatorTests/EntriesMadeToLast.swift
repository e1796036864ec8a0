import EventStore
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Entries that a reader sees before their writer has synced them to the disk")
struct EntriesMadeToLast {
  private let scratch = TemporaryDirectory()
  private let zone = ZoneID(name: "notes")
  private let incarnation = IncarnationID(rawValue: 5)

  /// Counts the calls that sync to the disk, and may let them fail.
  private final class Syncs: Sendable {
    private let state = Mutex((count: 0, failure: Int32?.none))

    func fail(_ number: Int32?) { state.withLock { $0.failure = number } }

    /// How many calls there were since the last time.
    func take() -> Int {
      state.withLock { state in
        defer { state.count = 0 }
        return state.count
      }
    }

    func register(_ call: StaticString) -> FileFault? {
      guard call.description == "fsync" else { return nil }
      return state.withLock { state in
        state.count += 1
        return state.failure.map { .before($0) }
      }
    }
  }

  private func reader(_ syncs: Syncs) -> FolderRemote {
    let calls = FolderCalls { syncs.register($0) }
    return FolderRemote(
      FolderObjects(directory: scratch.path + "/remote", calls: calls, makeRandom: seededBits(2)))
  }

  private func token(after segment: PackedSegment, _ offset: UInt64) -> ChangeToken {
    var token = ChangeToken.start(of: zone, incarnation)
    (token.offset, token.hash, token.chain) = (offset, segment.header.contentHash, nil)
    return token
  }

  @Test("a page syncs its directory once; synced entries, and an idle round, sync nothing")
  func once() async throws {
    let writer = try await FolderRemote.create(directory: scratch.path + "/remote")
    _ = try await writer.createZone(zone, proposing: incarnation)
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
    let segments = try (0..<4).map { _ in try maker.next(valueBytes: 1000) }
    for (index, segment) in segments[..<3].enumerated() {
      _ = try await writer.append(segment, after: UInt64(index))
    }
    let syncs = Syncs()
    let remote = reader(syncs)
    func page(after token: ChangeToken, bytesMax: Int = 1 << 20) async throws -> Int {
      guard case .segments(let page, _) = try await remote.segments(after: token, bytesMax: bytesMax) else {
        return -1
      }
      return page.count
    }
    let start = ChangeToken.start(of: zone, incarnation)
    let events = try await remote.zoneEvents(after: nil)
    #expect(events.events.count == 1 && syncs.take() == 1)
    #expect(try await remote.zoneEvents(after: events.token).events.isEmpty && syncs.take() == 0)
    // A token may be at the end of each page.
    #expect(try await page(after: start, bytesMax: 1) == 1 && syncs.take() == 1)
    #expect(try await page(after: start) == 3 && syncs.take() == 1)
    // As a zone does that waits, round after round.
    for _ in 0..<3 { #expect(try await page(after: start) == 3 && syncs.take() == 0) }
    #expect(try await page(after: token(after: segments[2], 3)) == 0 && syncs.take() == 0)
    _ = try await writer.append(segments[3], after: 3)
    #expect(try await page(after: token(after: segments[2], 3)) == 1 && syncs.take() == 1)
    #expect(try await page(after: token(after: segments[3], 4)) == 0 && syncs.take() == 0)
  }

  @Test("a page that fails to sync is not returned, and the next attempt returns it")
  func fails() async throws {
    let writer = try await FolderRemote.create(directory: scratch.path + "/remote")
    _ = try await writer.createZone(zone, proposing: incarnation)
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
    _ = try await writer.append(try maker.next(), after: 0)
    let syncs = Syncs()
    let remote = reader(syncs)
    let start = ChangeToken.start(of: zone, incarnation)
    syncs.fail(EIO)
    for _ in 0..<2 {
      await #expect(throws: RemoteError.self) { try await remote.segments(after: start, bytesMax: 1 << 20) }
    }
    #expect(syncs.take() == 2)
    // Reading also works without write permission, or where nothing can be synced.
    for number in [EACCES, EROFS, EINVAL] {
      syncs.fail(number)
      let other = reader(syncs)
      guard case .segments(let page, false) = try await other.segments(after: start, bytesMax: 1 << 20) else {
        Issue.record("the zone is gone")
        return
      }
      #expect(page.count == 1 && syncs.take() == 1)
    }
  }

  @Test("entries of many directories: one call for each")
  func manyDirectories() async throws {
    let objects = NotingObjects()
    let durable = DurableEntries(objects)
    let log = ObjectName.log(of: incarnation)
    func make(_ offsets: ClosedRange<UInt64>) async throws -> [UInt64] {
      try await durable.wait(for: offsets, of: log) { .entry(of: incarnation, $0) }
      return objects.take()
    }
    #expect(try await make(1...4094) == [4094])
    #expect(try await make(1...4095) == [4095])
    #expect(try await make(4000...12_289) == [8191, 12_287, 12_289])
    #expect(try await make(1...12_289) == [])
    #expect(try await make(12_290...12_290) == [12_290])
  }
}

/// Records what must be synced, and stores nothing.
private final class NotingObjects: ObjectStore {
  private let offsets = Mutex<[UInt64]>([])
  var name: String { "notes" }

  func take() -> [UInt64] {
    offsets.withLock { offsets in
      defer { offsets = [] }
      return offsets
    }
  }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? { nil }
  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? { nil }
  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool { true }
  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {}
  func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? { nil }
  func list() async throws(RemoteError) -> [ObjectEntry] { [] }
  func delete(_ name: ObjectName) async throws(RemoteError) {}
  func changes() -> AsyncStream<RemoteHint> { AsyncStream { $0.finish() } }

  func makeLasting(_ name: ObjectName) async throws(RemoteError) {
    offsets.withLock { $0.append(name.offset ?? 0) }
  }
}
