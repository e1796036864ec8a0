import OperationFormat
import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

@Suite("Logs that begin with a snapshot, and are not what a store has read")
struct SnapshotsOfPartedLogs {
  private let scratch = TemporaryDirectory()

  private func device(_ name: String, _ seed: UInt64) throws -> Device {
    try Device(in: scratch.path, name, seed: seed)
  }

  @discardableResult
  private func sync(_ device: Device, _ place: RemotePlace) async throws -> ZoneReport {
    try await device.syncWithoutSnapshot(place.remote)
  }

  /// Devices that each have sent one write and read all of them; and a copy of the remote then.
  private func settled(
    _ names: [String], _ place: RemotePlace
  ) async throws -> ([Device], copy: [ObjectName: [UInt8]]) {
    let devices = try names.enumerated().map { try device($1, UInt64($0 + 1)) }
    for (index, device) in devices.enumerated() {
      try await device.write(index)
      try await sync(device, place)
    }
    for device in devices { try await sync(device, place) }
    return (devices, try await place.copy())
  }

  /// Ten writes where the log has lost its end, each sent alone; and a floor, if asked for.
  private func writeOthers(_ device: Device, _ place: RemotePlace, isCompacted: Bool) async throws {
    for number in 20..<30 {
      try await device.write(number)
      try await sync(device, place)
    }
    if isCompacted { try await compact(device, place) }
  }

  /// Sends a floor at the end of what a device has read.
  private func compact(_ device: Device, _ place: RemotePlace) async throws {
    try await device.store.compact(
      zone, keeping: CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: 0))
    try await sync(device, place)
  }

  /// Expects that a device has no snapshot to begin with, and keeps what it shows.
  private func expectRetired(
    _ device: Device, _ place: RemotePlace, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try device.digests()
    guard case .failed(let failure) = try await sync(device, place).status else {
      Issue.record("it has begun with a snapshot", sourceLocation: location)
      return
    }
    #expect(
      failure.code == "retired" && failure.offset == nil && failure.hint.contains("made a snapshot"),
      "\(failure)", sourceLocation: location)
    #expect(try device.digests() == before, sourceLocation: location)
  }

  private func expectEqual(_ devices: [Device], _ place: RemotePlace) async throws {
    for _ in 0..<3 { for device in devices { try await sync(device, place) } }
    let digests = try devices[0].digests()
    for device in devices {
      #expect(try device.digests() == digests && device.pending() == 0)
      let found = try device.store.verify()
      #expect(found.isSound, "\(found)")
      #expect(try await [.inSync, .unchanged].contains(sync(device, place).status))
    }
    let remote = try #require(place.remote as? any LogOfObjects)
    let audit = try await RemoteAudit(of: remote, objects: try await place.objects.list())
    #expect(audit.problems.isEmpty && audit.logs[0].consequences.isEmpty, "\(audit)")
  }

  @Test(
    "What a store has sent, and the log has lost before a snapshot was made of it, is sent again",
    arguments: [false, true], [RemotePlace.Kind.memory, .folder])
  func parted(isCompacted: Bool, kind: RemotePlace.Kind) async throws {
    let place = try await RemotePlace(kind, in: scratch.path)
    let (devices, copy) = try await settled(["one", "two", "behind"], place)
    let (one, two, behind) = (devices[0], devices[1], devices[2])
    // Its last work is lost. It has seen another's of the lost part, too.
    try await two.write(10)
    try await sync(two, place)
    try await sync(behind, place)
    try await behind.write(11)
    #expect(try await sync(behind, place).sent == 1)
    try await place.restore(copy)
    try await writeOthers(one, place, isCompacted: isCompacted)
    try await one.trim(place.remote)
    try await behind.write(12)
    let report = try await sync(behind, place)
    #expect(report.beganAt != nil && report.partedAt == 4 && report.sent == 3, "\(report)")
    try await expectEqual(devices, place)
    let new = try device("new", 4)
    try await sync(new, place)
    try await expectEqual(devices + [new], place)
    #expect(try new.recordNames().count == 3 + 3 + 10 + 1)
    for device in devices + [new] { device.store.close() }
  }

  @Test(
    "What the log has lost, and has again at another place before it is trimmed, has that place for all",
    arguments: [false, true], [false, true])
  func offeredAgain(isCompacted: Bool, losesOwn: Bool) async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "two", "behind"], place)
    let (one, two, behind) = (devices[0], devices[1], devices[2])
    try await two.write(10)
    try await sync(two, place)
    try await sync(behind, place)
    if losesOwn {
      try await behind.set("milk", of: "shared", to: "lost")
      try await sync(behind, place)
    }
    try await place.restore(copy)
    try await writeOthers(one, place, isCompacted: isCompacted)
    // It comes back before the trim: its work is behind the floor now.
    #expect(try await sync(two, place).partedAt == 4)
    try await sync(one, place)
    try await one.trim(place.remote)
    try await behind.set("milk", of: "shared", to: "later")
    #expect(try await sync(behind, place).partedAt == 4)
    try await expectEqual(devices, place)
    let new = try device("new", 4)
    try await sync(new, place)
    try await expectEqual(devices + [new], place)
    try await behind.set("milk", of: "shared", to: "last")
    try await expectEqual(devices + [new], place)
    for device in devices + [new] { device.store.close() }
  }

  @Test(
    "A store that had read further than where the log begins now begins with its snapshot", arguments: 1...3)
  func readFurther(more: Int) async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "behind"], place)
    let (one, behind) = (devices[0], devices[1])
    for number in 10..<20 {
      try await behind.write(number)
      try await sync(behind, place)
    }
    try await place.restore(copy)
    // Its token is behind the log's end, at it, or in the log.
    for number in 20..<20 + 4 * more {
      try await one.write(number)
      try await sync(one, place)
      if number == 22 { try await one.trim(place.remote) }
    }
    let report = try await sync(behind, place)
    #expect(report.partedAt == 3 && report.sent == 10, "\(report)")
    try await expectEqual(devices, place)
    for device in devices { device.store.close() }
  }

  @Test("A log that is trimmed once more while what has parted is read to its end is begun with again")
  func trimmedTwice() async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "behind"], place)
    let (one, behind) = (devices[0], devices[1])
    try await behind.write(10)
    try await sync(behind, place)
    try await place.restore(copy)
    func writeAndTrim(_ numbers: Range<Int>) async throws {
      for number in numbers {
        try await one.write(number)
        try await sync(one, place)
      }
      try await one.trim(place.remote)
    }
    try await writeAndTrim(20..<26)
    let incarnation = try #require(try one.store.syncState().zones.first?.token).incarnation
    let snapshots = try #require(try await place.remote.snapshots(of: zone, incarnation))
    let manifest = try #require(try await place.remote.snapshotManifest(of: snapshots[0]))
    // It ends right after it has begun with the snapshot.
    let remote = place.remote
    let parting = try await behind.store.begin(zone, with: manifest) { index in
      try #require(try await remote.snapshotPart(at: index, of: snapshots[0]))
    }
    #expect(parting == 3)
    try await writeAndTrim(30..<40)
    let report = try await sync(behind, place)
    #expect(report.sent == 1, "\(report)")
    try await expectEqual(devices, place)
    for device in devices { device.store.close() }
  }

  @Test(
    "What the log has lost, and a store has retired, it takes from a snapshot of one that has sent it again",
    arguments: [false, true], [1, 8])
  func retired(isCompacted: Bool, others: Int) async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "two", "retired"], place)
    let (one, two, retired) = (devices[0], devices[1], devices[2])
    for number in 10..<13 {
      for device in [two, retired] {
        try await device.write(number)
        try await sync(device, place)
      }
    }
    for device in [two, retired] { try await sync(device, place) }
    try await retired.store.retireHistory(of: zone)
    // Of its later work one is sent, and lost too.
    try await retired.write(14)
    try await sync(retired, place)
    try await retired.write(15)
    try await place.restore(copy)
    for number in 20..<20 + others {
      try await one.write(number)
      try await sync(one, place)
    }
    if isCompacted { try await compact(one, place) }
    for _ in 0..<2 { try await expectRetired(retired, place) }
    let sending = try await sync(two, place)
    #expect(sending.partedAt == 4 && sending.madeSnapshot, "\(sending)")
    let report = try await sync(retired, place)
    #expect(report.beganAt != nil && report.partedAt == 4 && report.sent == 2, "\(report)")
    let new = try device("new", 4)
    try await sync(new, place)
    try await expectEqual(devices + [new], place)
    #expect(try new.recordNames().count == 3 + 3 + 2 + others + 1)
    // It syncs as any other.
    try await retired.store.retireHistory(of: zone)
    try await retired.write(16)
    try await expectEqual(devices + [new], place)
    for device in devices + [new] { device.store.close() }
  }

  @Test(
    "A store that has retired what a trimmed log has again at other places knows where the logs part",
    arguments: [false, true])
  func retiredAndTrimmed(hasFloor: Bool) async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "two", "retired", "last"], place)
    let (one, two, retired, last) = (devices[0], devices[1], devices[2], devices[3])
    for number in 10..<13 {
      for device in [two, retired] {
        try await device.write(number)
        try await sync(device, place)
      }
    }
    try await two.set("title", of: "shared", to: "two")
    if hasFloor {
      for device in [two, retired, last] { try await sync(device, place) }
      try await compact(two, place)
    }
    for device in [two, retired, last] { try await sync(device, place) }
    try await retired.store.retireHistory(of: zone)
    try await retired.set("color", of: "shared", to: "retired")
    try await place.restore(copy)
    // Beyond the retired one's token: it knows no entry that the snapshot names.
    for number in 20..<30 {
      try await one.write(number)
      try await sync(one, place)
    }
    try await compact(one, place)
    try await one.set("color", of: "shared", to: "one")
    try await sync(one, place)
    // It has not seen what comes back.
    try await one.set("title", of: "shared", to: "one")
    #expect(try await sync(two, place).partedAt == 5)
    try await two.trim(place.remote)
    let report = try await sync(retired, place)
    #expect(report.beganAt != nil && report.partedAt != nil && report.status == .inSync, "\(report)")
    #expect(try retired.store.verify().isSound)
    let new = try device("new", 5)
    try await sync(new, place)
    try await expectEqual(devices + [new], place)
    for device in devices + [new] {
      let fields = try device.store.read { try $0.conflicts(in: zone).map(\.field) }
      #expect(fields.contains("title") && fields.contains("color"), "\(fields)")
    }
    for device in devices + [new] { device.store.close() }
  }

  @Test("A store that begins with a floor finds a log that it has retired, and lost, whatever it knows of it")
  func retiredBelowAFloor() async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "two", "retired"], place)
    let (one, two, retired) = (devices[0], devices[1], devices[2])
    let other = try device("other", 9)
    try await sync(other, place)
    try await other.write(9)
    try await sync(other, place)
    for number in 10..<14 {
      try await two.write(number)
      try await sync(two, place)
    }
    for device in [retired, two] { try await sync(device, place) }
    try await compact(two, place)
    try await sync(retired, place)
    try await retired.store.retireHistory(of: zone)
    try await retired.write(14)
    try await sync(retired, place)
    try await sync(two, place)
    try await place.restore(copy)
    try await one.set("color", of: "shared", to: "one")
    try await sync(one, place)
    try await retired.set("color", of: "shared", to: "retired")
    try await expectRetired(retired, place)
    for number in 20..<23 {
      try await one.write(number)
      try await sync(one, place)
    }
    #expect(try await sync(two, place).partedAt == 4)
    #expect(try await sync(retired, place).beganAt != nil)
    try await expectEqual(devices + [other], place)
    for device in devices {
      #expect(try device.store.read { try $0.conflicts(in: zone).map(\.field) }.contains("color"))
    }
    for device in devices + [other] { device.store.close() }
  }

  @Test("Who began with the snapshot of one that had no file of an asset sends the file")
  func assets() async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "two", "retired"], place)
    let (one, two, retired) = (devices[0], devices[1], devices[2])
    let asset = try await retired.setAsset(assetBytes(5000), of: "photo")
    for device in [retired, two] { try await sync(device, place) }
    try await retired.store.retireHistory(of: zone)
    try await place.restore(copy)
    try await one.write(20)
    for device in [one, two, retired] { try await sync(device, place) }
    try await expectEqual(devices, place)
    let incarnation = try #require(try one.store.syncState().zones.first?.token).incarnation
    let state = try await place.remote.assetState(RemoteAsset(asset, of: zone, incarnation))
    guard case .whole = state else {
      Issue.record("the only file stays where it is: \(state)")
      return
    }
    for device in devices { device.store.close() }
  }

  @Test("A snapshot that others need is made in a later round, if the one that sent all again was cut short")
  func madeLater() async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "two", "retired"], place)
    let (one, two, retired) = (devices[0], devices[1], devices[2])
    try await two.write(10)
    for device in [two, retired] { try await sync(device, place) }
    try await retired.store.retireHistory(of: zone)
    try await place.restore(copy)
    try await one.write(20)
    try await sync(one, place)
    // It reads and sends, and makes no snapshot.
    let steps = two.replicator(place.remote)
    _ = try await steps.syncOnce(.fetch)
    _ = try await steps.syncOnce(.ship)
    try await expectRetired(retired, place)
    #expect(try await sync(two, place).madeSnapshot)
    #expect(try await !sync(two, place).madeSnapshot)
    #expect(try await sync(retired, place).beganAt != nil)
    try await expectEqual(devices, place)
    for device in devices { device.store.close() }
  }

  @Test("A snapshot that lacks some of what a store has retired does not take it away")
  func notAllThere() async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (devices, copy) = try await settled(["one", "two", "retired"], place)
    let (one, two, retired) = (devices[0], devices[1], devices[2])
    try await two.write(10)
    try await sync(two, place)
    try await sync(retired, place)
    try await retired.write(11)
    try await sync(retired, place)
    try await retired.store.retireHistory(of: zone)
    try await place.restore(copy)
    try await one.write(20)
    try await sync(one, place)
    // It has sent again what it has, but not the other one's last work.
    #expect(try await sync(two, place).madeSnapshot)
    try await expectRetired(retired, place)
    #expect(try retired.store.verify().isSound)
    for device in devices { device.store.close() }
  }

  /// Two devices, of which the second has begun with a snapshot, and a segment that repeats what that stands for.
  private func repeated(
    _ place: RemotePlace, _ segments: (inout SegmentMaker) throws -> [PackedSegment]
  ) async throws -> [Device] {
    let (one, new) = try (device("one", 1), device("new", 2))
    try await one.write(1)
    try await sync(one, place)
    let incarnation = try #require(try one.store.syncState().zones.first?.token).incarnation
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 70))
    let made = try segments(&maker)
    try await append(made[0], place, incarnation)
    try await sync(one, place)
    try await one.trim(place.remote)
    #expect(try await sync(new, place).beganAt == 2)
    for segment in made.dropFirst() { try await append(segment, place, incarnation) }
    try await sync(one, place)
    return [one, new]
  }

  private func append(_ segment: PackedSegment, _ place: RemotePlace, _ incarnation: IncarnationID)
    async throws
  {
    let offsets = try await place.copy().keys.filter { $0.incarnation == incarnation }.compactMap(\.offset)
    let last = try #require(offsets.max())
    try await place.replace(
      .entry(of: incarnation, last + 1),
      with: SegmentEnvelope.encode(
        offset: last + 1, receivedMilliseconds: nil, chain: nil, segment: segment.bytes.span.bytes))
  }

  @Test(
    "An entry that a snapshot stands for comes again: it is known, with more behind it or not",
    arguments: [3, 5])
  func same(transactions: Int) async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await repeated(place) { maker in
      var again = maker
      return [try maker.next(transactions: 3), try again.next(transactions: transactions)]
    }
    #expect(try await sync(devices[1], place).status == .inSync)
    try await expectEqual(devices, place)
    for device in devices { device.store.close() }
  }

  @Test("It comes again with other bytes: all leave it out")
  func other() async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await repeated(place) { maker in
      let fork = try maker.fork(9)
      return [try maker.next(), fork]
    }
    #expect(try await sync(devices[1], place).rejectedSegments == 1)
    let rejected = try devices.map { device in try device.store.read { try $0.rejectedSegments(in: zone) } }
    #expect(rejected[0] == rejected[1] && rejected[0].map(\.offset) == [3])
    #expect(try devices[0].digests() == devices[1].digests())
    for device in devices { device.store.close() }
  }

  @Test("A part of it comes again: who cannot compare it waits for a snapshot of one that can")
  func part() async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await repeated(place) { maker in
      var again = maker
      return [try maker.next(transactions: 3), try again.next(transactions: 2)]
    }
    let (one, new) = (devices[0], devices[1])
    let before = try new.digests()
    for _ in 0..<2 {
      let report = try await sync(new, place)
      guard case .parked(3, let failure) = report.status else {
        Issue.record("\(report)")
        return
      }
      #expect(failure.code == "retired")
    }
    #expect(try new.digests() == before)
    try await one.write(2)
    try await sync(one, place)
    try await one.putSnapshot(at: place.remote)
    let report = try await sync(new, place)
    #expect(report.status == .inSync && report.beganAt == 4, "\(report)")
    try await expectEqual(devices, place)
    for device in devices { device.store.close() }
  }

  @Test(
    "A part of the entry behind a floor comes again, and what is at the floor was given up: it is compared with what the remote has",
    arguments: [true, false], [8 << 20, 1])
  func partBehindAFloor(isSame: Bool, pageBytesMax: Int) async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (one, whole) = try (device("one", 1), device("whole", 2))
    try await one.write(1)
    try await sync(one, place)
    let incarnation = try #require(try one.store.syncState().zones.first?.token).incarnation
    for offset in UInt64(2)...3 {
      var lost = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: UInt128(70 + offset)))
      try await append(try lost.next(), place, incarnation)
      try await place.damage(.givenUp, incarnation, offset)
    }
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 70))
    var again = maker
    try await append(try maker.next(transactions: 3), place, incarnation)
    try await sync(one, place)
    try await one.store.write { try $0.nameFloor(3, of: zone) }
    try await sync(one, place)
    try await sync(whole, place)
    try await one.store.retireHistory(of: zone)
    // It does not know the place right before the entry, as nothing is there.
    let isKnown = try one.store.read { try $0.changeToken(of: zone, before: 4) != nil }
    #expect(!isKnown)
    try await append(isSame ? try again.next(transactions: 2) : try again.fork(9), place, incarnation)
    for device in [one, whole] {
      let replicator = device.replicator(place.remote) { $0.pageBytesMax = pageBytesMax }
      let report = try #require(try await replicator.syncOnce().zones.first { $0.zone == zone })
      #expect(report.status == .inSync && report.beganAt == nil, "\(report)")
      #expect(report.rejectedSegments == (isSame ? 0 : 1))
    }
    let rejected = try [one, whole].map { device in
      try device.store.read { try $0.rejectedSegments(in: zone) }.map(\.offset)
    }
    #expect(rejected == Array(repeating: isSame ? [] : [6], count: 2))
    #expect(try one.digests() == whole.digests())
    for device in [one, whole] {
      #expect(try device.store.verify().isSound)
      device.store.close()
    }
  }
}
