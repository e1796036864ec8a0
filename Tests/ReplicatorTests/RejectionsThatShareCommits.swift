import Synchronization
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("Many rejected segments in one page")
struct RejectionsThatShareCommits {
  private struct World {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    var writer: Device
    var token: ChangeToken
    var page: [StoredSegment] = []

    /// The log of a zone, with segments of one good writer and of as many bad ones, each of another lane.
    init(liars count: Int) async throws {
      writer = try Device(in: scratch.path, "writer", seed: 1)
      try await writer.set("title", of: "first", to: "made")
      try await writer.sync(remote)
      token = try #require(try writer.store.syncState().zones[0].token)
      var good = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0x600D))
      var last = token.offset
      for number in 0..<count {
        let replica = ReplicaID(rawValue: UInt128(0xBAD_0000 + number))
        var liar = SegmentMaker(zone, token.incarnation, replica: replica)
        for segment in [try Self.lie(number, &liar), try good.next()] {
          guard case .appended(let place) = try await remote.append(segment, after: last) else {
            throw StoreError(.mismatch, "the remote took no segment", hint: "")
          }
          last = place.offset
        }
      }
      guard case .segments(let found, _) = try await remote.segments(after: token, bytesMax: 1 << 30) else {
        return
      }
      page = found
    }

    /// Each breaks another rule, some only after a valid transaction.
    private static func lie(_ number: Int, _ maker: inout SegmentMaker) throws -> PackedSegment {
      switch number % 4 {
      case 0:
        _ = try maker.next()
        return try maker.next(transactions: 3)
      case 1: return try maker.next(base: (1_000_000, LogChain(hash: hash(7))))
      case 2:
        return try maker.next((0..<14).map { _ in LogOperation.create(record: "again", type: "note") })
      default:
        let parent = TransactionID(replica: ReplicaID(rawValue: 0x600D), epoch: 0, sequence: 1_000_000)
        return try maker.next([.create(record: "made", type: "note")], parent: parent)
      }
    }

    /// A device that has read nothing after the token.
    func reader(
      _ name: String, configure: @escaping @Sendable (inout StoreConfiguration) -> Void = { _ in }
    ) async throws -> Device {
      let reader = try Device(in: scratch.path, name, seed: 2, configure: configure)
      try await reader.set("title", of: "own", to: "pending")
      try await reader.store.adopt(zone, token.incarnation)
      let first = ChangeToken.start(of: zone, token.incarnation)
      guard case .segments(let page, _) = try await remote.segments(after: first, bytesMax: 1) else {
        return reader
      }
      _ = try await fold(page, first, reader)
      return reader
    }

    func fold(
      _ page: [StoredSegment], _ token: ChangeToken, _ device: Device
    ) async throws -> FoldOutcome {
      let runner = EffectRunner(
        store: device.store, remote: remote, selection: .all, pageBytesMax: 1 << 30,
        makeRandom: device.makeRandom)
      return try await runner.foldPage(page, after: token)
    }
  }

  private func rejected(_ device: Device) throws -> [RejectedSegment] {
    try device.store.read { try $0.rejectedSegments(in: zone) }
  }

  @Test("they share its commits, with the same result as separate commits")
  func shared() async throws {
    let world = try await World(liars: 100)
    try #require(world.page.count == 200)
    let (reader, slow) = (try await world.reader("reader"), try await world.reader("slow"))
    let before = try reader.store.lastCommitID
    let outcome = try await world.fold(world.page, world.token, reader)
    #expect(outcome.problem == nil && outcome.segments == 200)
    #expect(outcome.report.rejected == 100 && outcome.report.folded == 100)
    // A page of 8,192 steps is one commit.
    #expect(try reader.store.lastCommitID <= before + 2)
    var token = world.token
    for segment in world.page { token = try await world.fold([segment], token, slow).token }
    #expect(token == outcome.token && token.offset == world.token.offset + 200)
    #expect(try reader.digests() == slow.digests())
    let found = try rejected(reader)
    #expect(found.count == 100)
    #expect(try found == rejected(slow))
    #expect(Set(found.map(\.reason)) == [.hole, .base, .work, .parent])
    #expect(try reader.store.verify().isSound)
    let digests = try reader.digests()
    _ = try await reader.store.rebuild()
    #expect(try reader.digests() == digests)
    for device in [world.writer, reader, slow] { device.store.close() }
  }

  @Test("a failed commit leaves neither a rejection nor its token")
  func failed() async throws {
    let world = try await World(liars: 10)
    try #require(world.page.count == 20)
    let isFailing = Flag()
    let reader = try await world.reader("reader") { $0.commitFault = { isFailing.isSet ? .failed : nil } }
    let before = try (reader.store.syncState().zones[0].token, reader.digests())
    isFailing.isSet = true
    await #expect(throws: StoreError.self) { try await world.fold(world.page, world.token, reader) }
    isFailing.isSet = false
    #expect(try rejected(reader).isEmpty)
    #expect(try reader.store.syncState().zones[0].token == before.0)
    #expect(try reader.digests() == before.1)
    let outcome = try await world.fold(world.page, world.token, reader)
    #expect(outcome.problem == nil && outcome.report.rejected == 10)
    #expect(try rejected(reader).count == 10)
    for device in [world.writer, reader] { device.store.close() }
  }

  @Test("they end before a segment that can be neither folded nor rejected, which writes nothing")
  func stops() async throws {
    let world = try await World(liars: 2)
    try #require(world.page.count == 4)
    let reader = try await world.reader("reader")
    var segments: [RemoteSegment] = []
    for stored in world.page {
      segments.append(RemoteSegment(try SegmentPacker.unpack(stored.bytes), stored, of: zone))
    }
    segments[3].offset += 1
    let report = try await reader.store.ingestOrReject(segments)
    #expect(report.segments == 3 && report.rejected == 2 && report.folded == 1)
    let commits = try reader.store.lastCommitID
    let error = await #expect(throws: StoreError.self) {
      try await reader.store.ingestOrReject(Array(segments[3...]))
    }
    #expect(error?.code == .outOfOrder && error?.rejection == nil)
    #expect(try reader.store.lastCommitID == commits)
    for device in [world.writer, reader] { device.store.close() }
  }
}

private final class Flag: Sendable {
  private let mutex = Mutex(false)
  var isSet: Bool {
    get { mutex.withLock { $0 } }
    set { mutex.withLock { $0 = newValue } }
  }
}
