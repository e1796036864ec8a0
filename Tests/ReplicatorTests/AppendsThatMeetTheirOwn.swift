import EventStore
import StoreTesting
import Testing

@testable import Replicator

@Suite("An append that meets segments of its own writer")
struct AppendsThatMeetTheirOwn {
  let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  func maker() async throws -> SegmentMaker {
    let made = try await remote.createZone(zone, proposing: incarnation)
    return SegmentMaker(zone, made, replica: ReplicaID(rawValue: 1))
  }

  @Test("One that is damaged after its header does not count as sent")
  func damaged() async throws {
    var maker = try await maker()
    let segment = try maker.next(valueBytes: 300)
    _ = try await remote.append(segment, after: 0)
    let name = ObjectName.entry(of: maker.incarnation, 1)
    var bytes = try #require(remote.objects.contents[name])
    bytes[bytes.count - 100] ^= 1
    remote.objects.replace(name, with: bytes)
    // It is put again at the end, where readers find it.
    let outcome = try await remote.append(segment, after: 0)
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 2)))
  }

  @Test("Some of the same sequences in another cut overlap: no body is unpacked")
  func overlapping() async throws {
    var maker = try await maker()
    var copy = maker
    _ = try await remote.append(try maker.next(transactions: 3), after: 0)
    for segment in [try copy.fork(99), try copy.next(), try copy.next(transactions: 3)] {
      let outcome = try await remote.append(segment, after: 0)
      #expect(outcome.withOffsetOnly == .overlaps(SegmentPlace(offset: 1)))
    }
    #expect(try await remote.objects.list().filter { $0.name?.incarnation != nil }.count == 1)
  }

  @Test("A known log is identified by its entries: the marker is not read at each call")
  func calls() async throws {
    let counter = RemoteCallCounter()
    let counted = ObjectRemote(remote.objects, counter: counter)
    var maker = try await maker()
    let first = try maker.next()
    let outcome = try await counted.append(first, after: 0)
    guard case .appended(let place) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    counter.reset()
    let token = ChangeToken(
      zone: zone, incarnation: maker.incarnation, offset: 1, hash: first.header.contentHash,
      chain: place.chain)
    _ = try await counted.segments(after: token, bytesMax: 1 << 20)
    #expect(counter.calls.total == 4)
    counter.reset()
    _ = try await counted.append(try maker.next(), after: token)
    #expect(counter.calls.total == 4)
  }

  @Test("Another remote in its place is reported as such wherever the log is searched")
  func anotherRemote() async throws {
    var maker = try await maker()
    let first = try maker.next()
    _ = try await remote.append(first, after: 0)
    let second = try maker.next()
    let contents = remote.objects.contents
    remote.objects.contents = [.marker: RemoteMarker(remote: RemoteID(rawValue: 10)).bytes]
    let token = ChangeToken(
      zone: zone, incarnation: maker.incarnation, offset: 1, hash: first.header.contentHash)
    for offset in [0, 1] as [UInt64] {
      let append = await #expect(throws: RemoteError.self) { try await remote.append(second, after: offset) }
      #expect(append?.code == .identityMismatch)
    }
    for token in [token, .start(of: zone, maker.incarnation)] {
      let fetch = await #expect(throws: RemoteError.self) {
        try await remote.segments(after: token, bytesMax: 1 << 20)
      }
      #expect(fetch?.code == .identityMismatch)
    }
    remote.objects.contents = [:]
    let empty = await #expect(throws: RemoteError.self) { try await remote.append(second, after: 1) }
    #expect(empty?.code == .notARemote)
    remote.objects.contents = contents
    #expect(try await remote.append(second, after: 1).withOffsetOnly == .appended(SegmentPlace(offset: 2)))
  }

  @Test("A wrong remote that was there first is not mistaken for the right one permanently")
  func wrongRemoteFirst() async throws {
    let token = try await remote.zoneEvents(after: nil).token
    let contents = remote.objects.contents
    let process = remote.reopened()
    remote.objects.contents = [.marker: RemoteMarker(remote: RemoteID(rawValue: 10)).bytes]
    let wrong = await #expect(throws: RemoteError.self) { try await process.zoneEvents(after: token) }
    #expect(wrong?.code == .identityMismatch)
    remote.objects.contents = contents
    let page = try await process.zoneEvents(after: token)
    #expect(page.token == token)
  }

  @Test("A damaged event of the list of zones is reported as damage, not as a list that went back")
  func damagedEvent() async throws {
    _ = try await maker()
    let token = try await remote.zoneEvents(after: nil).token
    let name = ObjectName.zoneEvent(token.offset)
    let bytes = try #require(remote.objects.contents[name])
    var damaged = bytes
    damaged[damaged.count / 2] ^= 1
    remote.objects.replace(name, with: damaged)
    let told = try await remote.zoneEvents(after: token)
    #expect(told.events.isEmpty && told.token.offset < token.offset || told.token == token)
    #expect(told.problems.map(\.failure.code) == [RemoteError.Code.damaged.rawValue])
    remote.objects.replace(name, with: bytes)
    let page = try await remote.zoneEvents(after: token)
    #expect(page.token == token)
  }
}
