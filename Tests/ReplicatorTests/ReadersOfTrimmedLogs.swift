import EventStore
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

@Suite("A log whose old part is removed while a client reads it")
struct ReadersOfTrimmedLogs {
  private let scratch = TemporaryDirectory()

  /// A log of 20 entries with snapshots at 8 and 20, and clients that have read the first entry.
  private struct World {
    var place: RemotePlace
    var writer: Device
    var readers: [Device]
    /// The log before anything is removed.
    var whole: [ObjectName: [UInt8]]
    var digests: [String: ContentHash]

    /// What may go: the entries before the eighth.
    func plan() async throws -> (RemoteTrim, RemoteTrim.Log) {
      let remote = try #require(place.remote as? any LogOfObjects)
      let objects = try await place.objects.list()
      let audit = try await RemoteAudit(of: remote, objects: objects)
      let trim = RemoteTrim(remote)
      return (
        trim,
        try #require(trim.plan(audit, objects, LogFloorChoice(now: 1 << 47, olderThanMilliseconds: 0)).first)
      )
    }

    /// Removes up to so many objects.
    func trim(atMost count: Int) async throws {
      let (trim, plan) = try await plan()
      var left = count
      do {
        try await trim.run(plan) {
          left -= 1
          if left <= 0 { throw CancellationError() }
        }
      } catch is CancellationError {}
    }

    func close() { for device in readers + [writer] { device.store.close() } }
  }

  private func world(readers: Int) async throws -> World {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let writer = try Device(in: scratch.path, "writer", seed: 1)
    let readers = try (0..<readers).map { try Device(in: scratch.path, "r\($0)", seed: UInt64($0 + 10)) }
    for entry in 1...20 {
      // Each is larger than a page of a reader.
      let long = Value.string(String(repeating: "long ", count: entry < 9 ? 5 : 60))
      try await writer.set("title", of: Name("\(entry)"), to: long)
      try await writer.set("title", of: "all", to: .int(Int64(entry)))
      try await writer.replicator(place.remote) {
        $0.policy.snapshotBytesMin = entry == 8 || entry == 20 ? 1 : 1 << 40
      }.syncOnce()
      guard entry == 1 else { continue }
      for reader in readers { #expect(try await reader.sync(place.remote).isInSync) }
    }
    let world = World(
      place: place, writer: writer, readers: readers, whole: try await place.copy(),
      digests: try writer.digests())
    let plan = try await world.plan().1
    try #require(plan.first == 1 && plan.offset == 8 && plan.objects >= 7, "\(plan)")
    return world
  }

  /// A round of a client that requests one entry at a time.
  ///
  /// - Parameter action: runs before the client's next pages, with the number of the page, from 1.
  /// - Returns: the place of the snapshot with which it began again; nil if it read on. And how many pages it requested.
  private func read(
    _ reader: Device, of world: World, _ action: @escaping @Sendable (Int) async throws -> Void
  ) async throws -> (beganAt: UInt64?, pages: Int) {
    try await world.place.restore(world.whole)
    try await reader.set("title", of: "mine", to: "unsent")
    let remote = ActingRemote(world.place.remote, before: action)
    let report = try await reader.replicator(remote) {
      $0.pageBytesMax = 1
      $0.policy.snapshotBytesMin = 1 << 40
    }.syncOnce()
    let zone = try #require(report.zones.first)
    #expect(report.isInSync && zone.sent == 1, "\(report)")
    // All that the writer has, and the client's own.
    let (records, written) = try (reader.recordNames(), world.writer.recordNames())
    #expect(records == written.union(["notes:mine"]))
    #expect(try reader.store.verify().isSound)
    let fresh = try Device(in: scratch.path, "fresh \(reader.seed)", seed: 100 + reader.seed)
    try await fresh.sync(world.place.remote)
    #expect(try fresh.digests() == reader.digests() && reader.pending() == 0)
    fresh.store.close()
    return (zone.beganAt, remote.pages)
  }

  @Test("ends with all of it, whichever page it reads when the old part goes at once")
  func atOnce() async throws {
    let world = try await world(readers: 12)
    var began: [UInt64?] = []
    for (index, reader) in world.readers.enumerated() {
      let found = try await read(reader, of: world) { page in
        if page == index + 1 { try await world.trim(atMost: .max) }
      }
      began.append(found.beganAt)
      #expect(found.pages > index)
    }
    // Once the last entry that it has read is one that stays, it reads on. Before, it begins with the newest snapshot.
    #expect(began == Array(repeating: 20, count: 7) + Array(repeating: nil, count: 5), "\(began)")
    world.close()
  }

  @Test("ends with all of it, also if the old part goes object by object while it reads")
  func objectByObject() async throws {
    let world = try await world(readers: 6)
    var began: [UInt64?] = []
    for (index, reader) in world.readers.enumerated() {
      let found = try await read(reader, of: world) { page in
        // The first entries go first: a client that is fast is always behind the last one that went.
        if page > index { try await world.trim(atMost: 1) }
      }
      began.append(found.beganAt)
    }
    #expect(began.contains(nil) && began.contains(20), "\(began)")
    world.close()
  }
}

/// Does something before each page of a log is read.
private final class ActingRemote: ForwardingRemote {
  let remote: any RemoteLog
  private let action: @Sendable (Int) async throws -> Void
  private let count = Mutex(0)

  init(_ remote: any RemoteLog, before action: @escaping @Sendable (Int) async throws -> Void) {
    (self.remote, self.action) = (remote, action)
  }

  /// How many pages were requested.
  var pages: Int { count.withLock { $0 } }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    let page = count.withLock { count in
      count += 1
      return count
    }
    do {
      try await action(page)
    } catch {
      Issue.record(error)
    }
    return try await remote.segments(after: token, bytesMax: bytesMax)
  }
}
