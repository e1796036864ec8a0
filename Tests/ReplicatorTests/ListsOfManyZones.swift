import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("A list of very many zones")
struct ListsOfManyZones {
  private static let count = WideTests.choose(50_000, otherwise: 20_000)
  private static let damaged = 2 * count / 5
  /// The calls that each page may cost besides those for its events: the marker, the last event that was
  /// read, the token's event, and what follows the page.
  private static let callsOfPage = 6
  private let counter = RemoteCallCounter()

  /// The events that make zones, with the hash of each.
  private static let made = Result { () throws -> [(bytes: [UInt8], hash: ContentHash)] in
    var made: [(bytes: [UInt8], hash: ContentHash)] = []
    for number in 1...count {
      let event = ZoneEvent(kind: .created, zone: zone(number), incarnation: incarnation(number))
      let bytes = try event.encode(at: UInt64(number), after: made.last?.hash ?? .zero)
      made.append((bytes, ContentHash(of: bytes.span.bytes)))
    }
    return made
  }

  private static func zone(_ number: Int) -> ZoneID {
    ZoneID(name: Name("a zone with a long name, number \(number)"))
  }

  private static func incarnation(_ number: Int) -> IncarnationID { IncarnationID(rawValue: UInt128(number)) }

  private func zone(_ number: Int) -> ZoneID { Self.zone(number) }

  private func incarnation(_ number: Int) -> IncarnationID { Self.incarnation(number) }

  /// The objects of a remote whose zones are numbered from 1, as their offsets are.
  ///
  /// - Parameter deleted: a zone that is deleted after all were made.
  private func objects(_ count: Int = Self.count, deleted: Int? = nil) throws -> MemoryObjects {
    let objects = MemoryRemote(identity: RemoteID(rawValue: 9)).objects
    var contents = objects.contents
    let made = try Self.made.get()
    for (index, event) in made.prefix(count).enumerated() {
      contents[.zoneEvent(UInt64(index) + 1)] = event.bytes
    }
    if let deleted {
      let event = ZoneEvent(kind: .deleted, zone: zone(deleted), incarnation: incarnation(deleted))
      let offset = UInt64(count) + 1
      contents[.zoneEvent(offset)] = try event.encode(at: offset, after: made[count - 1].hash)
    }
    objects.contents = contents
    return objects
  }

  /// A process that uses the objects.
  private func process(_ objects: MemoryObjects) -> ObjectRemote {
    ObjectRemote(objects, counter: counter, hasHints: false)
  }

  private func calls<Result>(_ body: () async throws -> Result) async throws -> (result: Result, calls: Int) {
    counter.reset()
    let result = try await body()
    return (result, counter.calls.total)
  }

  private func heldBytes(_ remote: ObjectRemote) async throws -> Int {
    try await remote.zones.known().read { $0.heldBytes }
  }

  @Test("is read once, and held in some fifty bytes for each zone, without names")
  func held() async throws {
    let remote = process(try objects())
    var events: [ZoneEvent] = []
    var tokens: [DatabaseToken] = []
    let all = try await calls {
      try await remote.forEachZoneEventPage { page in
        events += page.events
        tokens.append(page.token)
        return true
      }
    }
    let pages = Self.count / 4096 + 1
    #expect(tokens.count == pages && events.count == Self.count)
    #expect(
      events
        == (1...Self.count).map {
          ZoneEvent(kind: .created, zone: zone($0), incarnation: incarnation($0))
        })
    #expect(all.calls <= Self.count + pages * Self.callsOfPage, "\(all.calls)")
    let held = try await heldBytes(remote)
    print("the list of \(Self.count) zones was read in \(all.calls) calls, and \(held) bytes are held")
    #expect(held <= Self.count * 64)

    // From a token on, only the events of the page.
    for index in tokens.indices.dropLast() {
      let next = try await calls { try await remote.zoneEvents(after: tokens[index]) }
      #expect(next.result.token == tokens[index + 1])
      #expect(next.calls <= next.result.events.count + Self.callsOfPage)
    }
    // With nothing new, four: the same as for a short list.
    let last = try await calls { try await remote.zoneEvents(after: tokens[pages - 1]) }
    #expect(last.calls == 4 && last.result.events.isEmpty)
    #expect(try await heldBytes(remote) == held)
  }

  @Test("A program that begins at its end reads it once. What it then does costs the same as in a short list")
  func costs() async throws {
    var costs: [[Int]] = []
    for count in [10, Self.count] {
      let objects = try objects(count)
      let end = try await process(objects).zones.read().read { $0.token }
      let remote = process(objects)
      let first = try await calls { try await remote.zoneEvents(after: end) }
      #expect(first.result.events.isEmpty && first.calls <= count + Self.callsOfPage)
      let (new, log) = (ZoneID(name: "new"), IncarnationID(rawValue: 1 << 100))
      let made = try await calls { try await remote.createZone(new, proposing: log) }
      let again = try await calls { try await remote.createZone(zone(7), proposing: incarnation(count + 7)) }
      #expect(again.result == incarnation(7))
      var maker = SegmentMaker(zone(5), incarnation(5), replica: ReplicaID(rawValue: 1))
      let segment = try maker.next()
      let start = ChangeToken.start(of: zone(5), incarnation(5))
      let append = try await calls { try await remote.append(segment, after: start) }
      let fetch = try await calls { try await remote.segments(after: start, bytesMax: 1 << 20) }
      let page = try await calls { try await remote.zoneEvents(after: end) }
      #expect(page.result.events.map(\.zone) == [new])
      let deleted = try await calls { try await remote.deleteZone(zone(3), incarnation(3)) }
      costs.append([made, again].map(\.calls) + [append.calls, fetch.calls, page.calls, deleted.calls])
    }
    #expect(costs[0] == costs[1], "\(costs)")
  }

  @Test("An event that cannot be read costs its events once. Once it can, nothing is read again")
  func mended() async throws {
    let objects = try objects()
    let (damaged, name) = (Self.damaged, ObjectName.zoneEvent(UInt64(Self.damaged)))
    let bytes = try #require(objects.contents[name])
    objects.replace(name, with: [1, 2, 3])
    let remote = process(objects)
    var token: DatabaseToken?
    var later: [ZoneEvent] = []
    let first = try await calls {
      try await remote.forEachZoneEventPage { page in
        (token, later) = (page.token, page.later)
        return true
      }
    }
    #expect(first.calls <= Self.count + 20 * Self.callsOfPage)
    #expect(token?.offset == UInt64(damaged) - 1 && later.count == Self.count - damaged)
    // Each page has the later events, and reads only the one that cannot be read.
    let again = try await calls { try await remote.zoneEvents(after: token) }
    #expect(again.calls <= 12 && again.result.later == later && again.result.problems.count == 1)
    objects.replace(name, with: bytes)
    var events: [ZoneEvent] = []
    let last = try await calls {
      while true {
        let page = try await remote.zoneEvents(after: token)
        events += page.events
        token = page.token
        #expect(page.later.isEmpty && page.problems.isEmpty)
        if !page.hasMore { return }
      }
    }
    #expect(events.map(\.incarnation) == (damaged...Self.count).map { incarnation($0) })
    #expect(last.calls <= events.count + 9 * Self.callsOfPage)
    #expect(try await heldBytes(remote) <= Self.count * 64)
  }

  @Test("If a later event depends on one that can be read again, the list is read once more")
  func reread() async throws {
    let objects = try objects(deleted: Self.damaged)
    let name = ObjectName.zoneEvent(UInt64(Self.damaged))
    let bytes = try #require(objects.contents[name])
    objects.replace(name, with: [1, 2, 3])
    let remote = process(objects)
    try await remote.forEachZoneEventPage { _ in true }
    objects.replace(name, with: bytes)
    var events = 0
    let all = try await calls {
      try await remote.forEachZoneEventPage { page in
        events += page.events.count
        return true
      }
    }
    #expect(events == Self.count + 1 && all.calls <= events + 20 * Self.callsOfPage, "\(all.calls)")
    #expect(try await remote.zones.known().log(incarnation(Self.damaged))?.fate == .deleted)
  }

  @Test("An event that is damaged after it was read is reported, also in the middle of the list")
  func damagedLater() async throws {
    let objects = try objects(10_000)
    let remote = process(objects)
    let first = try await remote.zoneEvents(after: nil)
    try await remote.zones.read()
    let name = ObjectName.zoneEvent(first.token.offset + 10)
    let bytes = try #require(objects.contents[name])
    objects.replace(name, with: [1, 2, 3])
    let page = try await remote.zoneEvents(after: first.token)
    #expect(page.events.count == 9 && page.problems.map(\.offset) == [first.token.offset + 10])
    #expect(page.later.count == 10_000 - 4096 - 10)
    // Another event in its place is one of another list.
    let other = ZoneEvent(kind: .created, zone: ZoneID(name: "other"), incarnation: incarnation(1 << 40))
    objects.replace(
      name, with: try other.encode(at: first.token.offset + 10, after: page.token.hash))
    let changed = try await remote.zoneEvents(after: page.token)
    #expect(changed.events.first == other && changed.problems.isEmpty)
    objects.replace(name, with: bytes)
    let again = try await remote.zoneEvents(after: page.token)
    #expect(again.events.first?.zone == zone(Int(page.token.offset) + 1))
    // The token's own event, and one that is gone.
    objects.replace(name, with: try other.encode(at: first.token.offset + 10, after: page.token.hash))
    var token = page.token
    (token.offset, token.hash) = (first.token.offset + 10, ContentHash(of: bytes.span.bytes))
    let wrong = await #expect(throws: RemoteError.self) { try await remote.zoneEvents(after: token) }
    #expect(wrong?.code == .wentBack)
    objects.replace(name, with: bytes)
    let another = process(objects)
    try await another.zones.read()
    for offset in 9_000...10_000 as ClosedRange<UInt64> { objects.replace(.zoneEvent(offset), with: nil) }
    let gone = await #expect(throws: RemoteError.self) { try await another.zoneEvents(after: first.token) }
    #expect(gone?.code == .wentBack)
  }

  @Test("A store's first sync applies it page by page, in a number of calls that is linear in it")
  func firstSync() async throws {
    let scratch = TemporaryDirectory()
    let remote = process(try objects(10_000))
    let device = try Device(in: scratch.path, "d1", seed: 1, configure: { $0.mapBytes = 512 << 20 })
    let replicator = device.replicator(remote, zones: .only([zone(1)]))
    let first = try await calls { try await replicator.syncOnce() }
    print("a first sync with a list of \(10_000) zones: \(first.calls) calls")
    #expect(first.result.createdZones.count == 10_000)
    #expect(first.result.zones.map(\.zone) == [zone(1)])
    #expect(first.calls <= 10_000 + 4 * Self.callsOfPage)
    let idle = try await calls { try await replicator.syncOnce() }
    // Of an empty log, also where it begins.
    #expect(idle.calls == 4 + 4)
    device.store.close()
  }
}
