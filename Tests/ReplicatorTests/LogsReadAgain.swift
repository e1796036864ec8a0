import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Reading a log again")
struct LogsReadAgain {
  /// Two devices, each of which has sent two segments of one zone, and a new third device.
  private struct World {
    var place: RemotePlace
    var devices: [Device]
    var incarnation: IncarnationID
    var remote: any RemoteLog { place.remote }

    func name(_ offset: UInt64) -> ObjectName { .entry(of: incarnation, offset) }

    /// Replaces an entry by a segment, which is forbidden.
    func replace(_ offset: UInt64, with segment: PackedSegment) async throws {
      let bytes = SegmentEnvelope.encode(
        offset: offset, receivedMilliseconds: nil, chain: nil, segment: segment.bytes.span.bytes)
      try await place.replace(name(offset), with: bytes)
    }

    func giveUp(_ offset: UInt64) async throws {
      let objects = place.remote as! any LogOfObjects
      try await place.replace(name(offset), with: [1, 2, 3])
      _ = try await objects.log.amendments.quarantine(
        EntryPlace(log: EntryPlace.Log(zone, incarnation), offset: offset), last: 100, note: "lost",
        milliseconds: 1_700_000_000_000)
    }

    func close() { for device in devices { device.store.close() } }
  }

  private func world(_ kind: RemotePlace.Kind, _ parent: String, segments: Int = 4) async throws -> World {
    let place = try await RemotePlace(kind, in: parent)
    let devices = try (1...3).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    for number in 0..<segments {
      try await write(devices[number % 2], number)
      try await devices[number % 2].sync(place.remote)
    }
    try await settle(Array(devices.prefix(2)), place.remote)
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    try #require(token.offset == UInt64(segments))
    return World(place: place, devices: devices, incarnation: token.incarnation)
  }

  /// Writes a new record, and counters, sets, texts and lists that all devices share.
  private func write(_ device: Device, _ number: Int) async throws {
    try await device.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      try tx.create(RecordID(zone: zone, name: Name("\(number)")), type: "note")
      let shared = RecordID(zone: zone, name: "shared")
      if try !tx.contains(shared) { try tx.create(shared, type: "note") }
      try tx.add(1, to: "count", of: shared)
      if number % 3 == 2 {
        try tx.remove(.int(0), from: "tags", of: shared)
      } else {
        try tx.insert(.int(Int64(number % 2)), into: "tags", of: shared)
      }
      try tx.insertText("\(number)", at: 0, in: "body", of: shared)
    }
  }

  private enum Tampering: CaseIterable {
    /// The entry's writer seems to skip sequences: every reader rejects it, and closes the lane.
    case rejected
    /// A writer that nobody knows.
    case stranger
    /// Other work of the entry's writer.
    case branch
  }

  /// Another segment that replaced an entry.
  private func other(
    than right: [UInt8], _ how: Tampering, _ incarnation: IncarnationID
  ) throws -> PackedSegment {
    let segment = try SegmentEnvelope.read(right.span.bytes).segment
    let header = try SegmentPacker.unpack(Array(right[segment])).header
    var replica = header.replica
    var sequence = header.sequences.lowerBound
    switch how {
    case .rejected: sequence += 1
    case .stranger: (replica, sequence) = (ReplicaID(rawValue: 77), 1)
    case .branch: break
    }
    let transaction = try LogTransaction(
      replica: replica, epoch: 0, sequence: sequence, zone: zone,
      timestamp: Timestamp(rawValue: 1_600_000_000_000 << 16),
      operations: [
        .create(record: "other", type: "note"),
        .update(record: "shared", type: "note", field: "count", .add(.int(100))),
        .update(record: "shared", type: "note", field: "body", .insertText("other", after: nil)),
      ]
    ).encoded()
    let made = try SegmentHeader.describing(
      [transaction], incarnation: incarnation, baseProof: { _ in .zero },
      previousHash: how == .stranger ? .zero : header.previousHash)
    return try SegmentPacker.pack(
      SegmentCut(header: made, isStored: false, transactions: [transaction]))
  }

  @Test(
    "A remote that was tampered with and repaired: a device that read it meanwhile then equals a new one",
    arguments: RemotePlace.Kind.allCases, Tampering.allCases)
  private func tamperedWith(kind: RemotePlace.Kind, how: Tampering) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let right = try #require(try await world.place.get(world.name(3)))
    try await world.replace(3, with: try other(than: right, how, world.incarnation))
    let device = world.devices[2]
    try await device.sync(world.remote)
    // It builds on what it has read, and sends that.
    try await write(device, 10)
    try await device.sync(world.remote)
    try await write(device, 11)
    try await world.place.replace(world.name(3), with: right)
    try await settle(Array(world.devices.prefix(2)), world.remote)
    let hasFolded = try device.recordNames().contains { $0.hasSuffix(":other") }
    #expect(hasFolded == (how != .rejected))
    #expect(try device.digests() != world.devices[0].digests())
    let first = try await device.store.beginRereading(zone, from: 3)
    #expect(first == 3)
    if how == .branch { try device.reopen() }
    try await settle(world.devices, world.remote)
    let new = try Device(in: scratch.path, "new", seed: 9)
    try await settle([new], world.remote)
    #expect(try device.recordNames().count == 7)
    try await expectAgreement(world.devices + [new])
    new.store.close()
    world.close()
  }

  /// Checks that devices agree, that nothing is pending, and that each equals the fold of its log.
  private func expectAgreement(
    _ devices: [Device], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for device in devices {
      #expect(try device.pending() == 0, sourceLocation: sourceLocation)
      #expect(try device.digests() == devices[devices.count - 1].digests(), sourceLocation: sourceLocation)
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      let others = try devices[devices.count - 1].store.read { try $0.rejectedSegments(in: zone) }
      #expect(rejected == others, sourceLocation: sourceLocation)
      #expect(try !device.store.isRereading(zone), sourceLocation: sourceLocation)
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)", sourceLocation: sourceLocation)
    }
  }

  @Test(
    "Given-up entries that stores had folded are sent again",
    arguments: RemotePlace.Kind.allCases, [[4], [3, 4], [2, 3, 4]] as [[UInt64]])
  func givenUp(kind: RemotePlace.Kind, offsets: [UInt64]) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await write(world.devices[0], 5)
    for offset in offsets { try await world.giveUp(offset) }
    try await settle(world.devices, world.remote)
    try await expectAgreement(world.devices)
    #expect(try world.devices[2].recordNames().count == 6)
    world.close()
  }

  @Test("The only store that has a given-up entry sends it unchanged", arguments: RemotePlace.Kind.allCases)
  func onlyOneHasIt(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.giveUp(4)
    // Its writer is gone.
    let rest = [world.devices[0], world.devices[2]]
    try await settle(rest, world.remote)
    try await expectAgreement(rest)
    #expect(try world.devices[2].recordNames().count == 5)
    try await settle(world.devices, world.remote)
    try await expectAgreement(world.devices)
    world.close()
  }

  @Test(
    "Writes before another's work is sent again have not seen it",
    arguments: RemotePlace.Kind.allCases)
  func writtenBefore(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.giveUp(4)
    // Its writer is gone; its work is pending here.
    let device = world.devices[0]
    try await device.sync(world.remote, .fetch)
    #expect(try device.store.syncState().zones.first?.pending == 1)
    try await device.store.write { tx in
      let shared = RecordID(zone: zone, name: "shared")
      let count = try tx.count(of: "body", in: shared, as: .text)
      try tx.removeText(0..<count, from: "body", of: shared)
      try tx.remove(.int(1), from: "tags", of: shared)
      try tx.delete(RecordID(zone: zone, name: "3"))
    }
    let rest = [device, world.devices[2]]
    try await settle(rest, world.remote)
    try await expectAgreement(rest)
    for device in rest { #expect(try device.store.verify().problems.isEmpty) }
    world.close()
  }

  @Test(
    "If its writer's later work is in the log, it is rejected, and the writer issues all of it again",
    arguments: RemotePlace.Kind.allCases)
  func laterWorkIsThere(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path, segments: 6)
    try await world.giveUp(4)
    // Nothing tells them of entries before their tokens: their users do.
    for device in world.devices.prefix(2) { try await device.store.beginRereading(zone, from: 4) }
    try await write(world.devices[0], 10)
    try await settle(world.devices, world.remote)
    try await expectAgreement(world.devices)
    #expect(try world.devices[2].recordNames().count == 8)
    world.close()
  }

  @Test(
    "An acknowledgement ahead of what was read, and its entry given up", arguments: RemotePlace.Kind.allCases)
  func acknowledgedAhead(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await write(world.devices[2], 7)
    try await world.devices[2].sync(world.remote, .ship)
    try await world.giveUp(5)
    try await settle(world.devices, world.remote)
    try await expectAgreement(world.devices)
    #expect(try world.devices[0].recordNames().count == 6)
    world.close()
  }

  @Test(
    "Rereading a log that another device has closed ends at its seal",
    arguments: RemotePlace.Kind.allCases, [true, false])
  func closed(kind: RemotePlace.Kind, hasUnsent: Bool) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let device = world.devices[0]
    if hasUnsent { try await write(device, 9) }
    let names = try device.recordNames()
    try await world.devices[1].store.write { try $0.deleteZone(zone) }
    try await world.devices[1].sync(world.remote)
    try await device.store.beginRereading(zone, from: 1)
    let report = try await device.sync(world.remote)
    #expect(report.zones.map(\.status) == [hasUnsent ? .paused(.deleted) : .removed], "\(report)")
    if hasUnsent {
      #expect(try !device.store.isRereading(zone))
      #expect(try device.recordNames() == names)
      #expect(try device.pending() == 1, "what the log has is not sent again")
      try device.store.read { try $0.forEachExportedLine { _ in true } }
      let again = try await device.sync(world.remote)
      #expect(again.zones.map(\.status) == [.paused(.deleted)])
    }
    let check = try device.store.verify()
    #expect(check.isSound, "\(check)")
    world.close()
  }

  @Test("A rereading that is stopped by an unreadable entry sends nothing, and ends when it can be read on")
  func heldUp() async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(.memory, scratch.path)
    let device = world.devices[0]
    let right = try #require(try await world.place.get(world.name(3)))
    try await world.place.replace(world.name(3), with: [1, 2, 3])
    try await device.store.beginRereading(zone, from: 2)
    try await write(device, 9)
    let report = try await device.sync(world.remote)
    #expect(!report.isInSync && report.sent == 0, "\(report)")
    #expect(try device.store.isRereading(zone))
    #expect(try device.recordNames().count == 6, "what was folded stays until the log is read again")
    #expect(throws: StoreError.self) { try device.store.read { try $0.forEachExportedLine { _ in true } } }
    try device.reopen()
    try await world.place.replace(world.name(3), with: right)
    try await settle(world.devices, world.remote)
    try await expectAgreement(world.devices)
    try device.store.read { try $0.forEachExportedLine { _ in true } }
    world.close()
  }

  @Test(
    "If the old part of the log is removed before it is read again, it is read on from its snapshot",
    arguments: RemotePlace.Kind.allCases, [false, true])
  func trimmedMeanwhile(kind: RemotePlace.Kind, hasUnsent: Bool) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let (device, other) = (world.devices[0], world.devices[1])
    if hasUnsent { try await write(device, 9) }
    try await device.store.beginRereading(zone, from: 1)
    try await write(other, 10)
    try await other.sync(world.remote)
    try await other.trim(world.remote)
    let report = try #require(try await device.sync(world.remote).zones.first)
    #expect(
      report.status == .inSync && report.beganAt == 5 && report.sent == (hasUnsent ? 1 : 0), "\(report)")
    #expect(try !device.store.isRereading(zone))
    try await settle(world.devices, world.remote)
    try await expectAgreement(world.devices)
    world.close()
  }

  @Test(
    "It counts as parted only once the zone begins with a snapshot: what is unsent keeps what it has seen")
  func trimmedToDamagedSnapshot() async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(.memory, scratch.path)
    let (device, other) = (world.devices[0], world.devices[1])
    try await write(device, 8)
    try await device.store.beginRereading(zone, from: 1)
    try await write(other, 10)
    try await other.sync(world.remote)
    try await other.trim(world.remote)
    let named = try await world.remote.snapshots(of: zone, world.incarnation) ?? []
    let part = ObjectName.snapshotPart(0, of: try #require(named.first))
    let whole = try #require(try await world.place.get(part))
    try await world.place.replace(part, with: [1])
    let report = try #require(try await device.sync(world.remote).zones.first)
    #expect(report.status != .inSync && report.beganAt == nil, "\(report)")
    #expect(try device.store.isRereading(zone) && device.store.formerEnd(of: zone) != nil)
    try await world.place.replace(part, with: whole)
    #expect(try await device.sync(world.remote).zones.first?.beganAt == 5)
    try await settle(world.devices, world.remote)
    try await expectAgreement(world.devices)
    world.close()
  }

  @Test(
    "What was written before the log was to be read again, and its old part was removed, keeps what it has seen",
    arguments: RemotePlace.Kind.allCases, [nil, 0, 1, 3])
  func keepsSeen(kind: RemotePlace.Kind, later: Int?) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let (device, other) = (world.devices[0], world.devices[1])
    let shared = RecordID(zone: zone, name: "shared")
    let (snapshot, manifest) = try await other.putSnapshot(at: world.remote)
    try await other.store.write { try $0.insert(.int(77), into: "tags", of: shared) }
    for device in [other, device] { try await device.sync(world.remote) }
    try await device.store.write { try $0.remove(.int(77), from: "tags", of: shared) }
    try await device.store.beginRereading(zone, from: 2)
    if let later {
      // The log begins where the device had read it to, or later.
      for number in 0..<later {
        try await write(other, 10 + number)
        try await other.sync(world.remote)
      }
      try await other.trim(world.remote)
    } else {
      _ = try await world.remote.trim(to: snapshot, manifest)
    }
    let began = later.map { UInt64(5 + $0) } ?? snapshot.offset
    #expect(try await device.sync(world.remote).zones.first?.beganAt == began)
    try await settle(world.devices, world.remote)
    try await expectAgreement(world.devices)
    for device in world.devices {
      let tags = try device.store.read { try $0.elements(of: "tags", in: shared) }
      #expect(tags?.contains(.int(77)) == false)
    }
    world.close()
  }
}
