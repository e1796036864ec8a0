import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("A segment that cannot be folded, at the next offset of a zone's log")
struct BadSegments {
  let other = ZoneID(name: "other")

  /// What is there instead of the right segment.
  enum Damage: CaseIterable {
    case flippedHead
    case flippedHeader
    case flippedBody
    case flippedHash
    case truncated
    case longer
    case empty
    case foreign
    /// A copy of the segment before it.
    case earlier
    case ofAnotherZone
    case ofAnotherIncarnation
    /// The header has another replica than its transactions.
    case ofAnotherReplica
    /// The header has another number of transactions.
    case otherSequences
    /// The header has another segment as the previous one of its replica.
    case otherPrevious
    /// It begins after the sequence with which its replica would begin.
    case hole
    /// It claims to have seen later entries.
    case seenLater
    /// It claims to have seen another segment than the existing one.
    case seenOther
    /// Other content for known sequences.
    case fork
    /// It creates one record again and again: each time all its fields would be visited.
    case work

    /// Why every replica rejects it; nil if nobody can know its contents.
    var rejection: SegmentRejection? {
      switch self {
      case .flippedHead, .flippedHeader, .flippedBody, .flippedHash, .truncated, .longer, .empty, .foreign,
        .earlier, .ofAnotherZone, .ofAnotherIncarnation:
        nil
      case .ofAnotherReplica, .otherSequences: .content
      case .otherPrevious: .previous
      case .hole: .hole
      case .seenLater, .seenOther: .base
      case .fork: .fork
      case .work: .work
      }
    }
  }

  /// Two devices; the first has sent what the second has not fetched, in both zones.
  private struct World {
    var place: RemotePlace
    var devices: [Device]
    /// Where the second device continues.
    var tokens: [ChangeToken]

    var name: ObjectName { .entry(of: tokens[0].incarnation, tokens[0].offset + 1) }
  }

  private func world(_ kind: RemotePlace.Kind, _ parent: String) async throws -> World {
    let place = try await RemotePlace(kind, in: parent)
    let devices = try (1...2).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    for zone in [zone, other] { try await devices[0].set("title", of: "first", to: "made", in: zone) }
    try await settle(devices, place.remote)
    for zone in [zone, other] {
      try await devices[0].set("title", of: "shipped", to: 1, in: zone)
      try await devices[0].sync(place.remote)
      try await devices[0].set("title", of: "more", to: 1, in: zone)
      try await devices[0].sync(place.remote)
      try await devices[1].set("title", of: "own", to: 1, in: zone)
    }
    let tokens = try devices[1].store.syncState().zones.compactMap(\.token)
    return World(place: place, devices: devices, tokens: tokens)
  }

  /// The bytes of an object after the damage.
  private func damage(_ damage: Damage, _ bytes: [UInt8], _ world: World) async throws -> [UInt8] {
    var bad = bytes
    let (token, headBytes) = (world.tokens[0], SegmentEnvelope.headerBytesMax)
    let right = try SegmentPacker.unpack(Array(bytes[headBytes...]))
    var maker = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0xBAD))
    func enclosed(_ segment: PackedSegment) -> [UInt8] {
      SegmentEnvelope.encode(
        offset: token.offset + 1, receivedMilliseconds: nil, chain: nil, segment: segment.bytes.span.bytes)
    }
    /// The right transactions under a wrong header.
    func lying(_ change: (inout SegmentHeader) -> Void) throws -> [UInt8] {
      var header = right.header
      change(&header)
      let packed = try SegmentPacker.pack(
        SegmentCut(header: right.header, isStored: true, transactions: right.transactions))
      let body = try SegmentFrame.read(packed.bytes.span.bytes).body
      let frame = try SegmentFrame.encode(header, packedBody: packed.bytes.span.bytes.extracting(body))
      return enclosed(PackedSegment(header: header, bytes: frame))
    }
    switch damage {
    case .flippedHead: bad[8] ^= 1
    case .flippedHeader: bad[headBytes + 12] ^= 0x20
    case .flippedBody: bad[bad.count - 40] ^= 1
    case .flippedHash: bad[bad.count - 1] ^= 0x80
    case .truncated: bad.removeLast(bad.count / 2)
    case .longer: bad.append(0)
    case .empty: bad = []
    case .foreign: bad = Array("not a segment at all".utf8)
    case .earlier:
      let before = ObjectName.entry(of: token.incarnation, token.offset)
      bad = try #require(try await world.place.get(before))
    case .ofAnotherZone:
      var maker = SegmentMaker(other, token.incarnation, replica: ReplicaID(rawValue: 0xBAD))
      bad = enclosed(try maker.next())
    case .ofAnotherIncarnation:
      var maker = SegmentMaker(zone, world.tokens[1].incarnation, replica: ReplicaID(rawValue: 0xBAD))
      bad = enclosed(try maker.next())
    case .ofAnotherReplica: bad = try lying { $0.replica = ReplicaID(rawValue: 0xBAD) }
    case .otherSequences:
      bad = try lying { $0.sequences = $0.sequences.lowerBound + 1...$0.sequences.upperBound + 1 }
    case .otherPrevious: bad = try lying { $0.previousHash = hash(77) }
    case .hole:
      _ = try maker.next()
      bad = enclosed(try maker.next())
    case .seenLater: bad = enclosed(try maker.next(base: (1000, LogChain(hash: hash(1000)))))
    case .seenOther: bad = enclosed(try maker.next(base: (1, LogChain(hash: hash(77)))))
    case .fork:
      var maker = SegmentMaker(zone, token.incarnation, replica: right.header.replica)
      bad = enclosed(try maker.next())
    case .work:
      bad = enclosed(
        try maker.next((0..<14).map { _ in LogOperation.create(record: "again", type: "note") }))
    }
    return bad
  }

  @Test(
    "parks its zone with the reason; pending work is sent, other zones continue, and it after a repair",
    .serialized, arguments: RemotePlace.Kind.allCases, Damage.allCases.filter { $0.rejection == nil })
  func parks(kind: RemotePlace.Kind, damage: Damage) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let (place, device) = (world.place, world.devices[1])
    let right = try #require(try await place.get(world.name))
    try await place.replace(world.name, with: try await self.damage(damage, right, world))
    let before = try device.digests()
    let report = try await device.sync(place.remote)
    try #require(report.zones.map(\.zone) == [zone, other])
    guard case .parked(let offset, let failure) = report.zones[0].status else {
      Issue.record("\(report.zones[0])")
      return
    }
    #expect(offset == world.tokens[0].offset + 1)
    #expect(!failure.message.isEmpty && !failure.hint.isEmpty && failure.scope == .zone)
    #expect(report.zones[0].received == 0 && report.zones[0].sent == 1)
    #expect(try device.pending() == 0)
    #expect(report.zones[1].status == .inSync && report.zones[1].received == 2 && report.zones[1].sent == 1)
    let after = try device.digests()
    #expect(after["notes"] == before["notes"], "something of the segment was folded")
    // Again: the reason stays, and nothing moves.
    let again = try await device.sync(place.remote)
    #expect(again.zones[0].status == report.zones[0].status && !again.hasMoved && !again.isInSync)
    try await place.replace(world.name, with: right)
    try await settle(world.devices, place.remote)
    try await expectAgreement(world.devices, place.remote)
    for device in world.devices {
      let names = try device.recordNames()
      #expect(names.count == 8)
      device.store.close()
    }
  }

  @Test(
    "is rejected if the log makes it invalid: reading and sending continue, and all devices agree",
    .serialized, arguments: RemotePlace.Kind.allCases, Damage.allCases.filter { $0.rejection != nil })
  func rejects(kind: RemotePlace.Kind, damage: Damage) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let (place, device) = (world.place, world.devices[1])
    let right = try #require(try await place.get(world.name))
    try await place.replace(world.name, with: try await self.damage(damage, right, world))
    let report = try await device.sync(place.remote)
    // The writer's next segment follows one that is missing.
    #expect(report.zones[0].status == .inSync && report.zones[0].rejectedSegments == 2)
    #expect(report.zones[0].received == 0 && report.zones[0].sent == 1)
    #expect(try device.pending() == 0)
    #expect(report.zones[1].status == .inSync && report.zones[1].received == 2 && report.zones[1].sent == 1)
    let again = try await device.sync(place.remote)
    #expect(!again.hasMoved && again.isInSync && again.rejectedSegments == 0)
    let fresh = try Device(in: scratch.path, "fresh", seed: 9)
    try await fresh.sync(place.remote)
    #expect(try fresh.digests() == device.digests())
    for device in [device, fresh] {
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      let offset = world.tokens[0].offset
      #expect(rejected.map(\.offset) == [offset + 1, offset + 2])
      #expect(rejected.first?.reason == damage.rejection)
      #expect(try device.store.verify().isSound)
      let digests = try device.digests()
      _ = try await device.store.rebuild()
      #expect(try device.digests() == digests)
    }
    for device in world.devices + [fresh] { device.store.close() }
  }

  @Test("A bad segment after good ones: the good ones are folded", arguments: RemotePlace.Kind.allCases)
  func laterOne(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let (place, device) = (world.place, world.devices[1])
    let name = ObjectName.entry(of: world.tokens[0].incarnation, world.tokens[0].offset + 2)
    let right = try #require(try await place.get(name))
    var bad = right
    bad[bad.count - 40] ^= 1
    try await place.replace(name, with: bad)
    let report = try await device.sync(place.remote)
    guard case .parked(world.tokens[0].offset + 2, _) = report.zones[0].status else {
      Issue.record("\(report.zones[0])")
      return
    }
    #expect(report.zones[0].received == 1 && report.zones[0].sent == 1)
    let names = try device.recordNames()
    #expect(names.contains("notes:shipped") && !names.contains("notes:more"))
    try await place.replace(name, with: right)
    try await settle(world.devices, place.remote)
    try await expectAgreement(world.devices, place.remote)
    for device in world.devices { device.store.close() }
  }
}
