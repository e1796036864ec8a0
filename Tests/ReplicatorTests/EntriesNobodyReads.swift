import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Putting back or giving up an entry that nobody can read")
struct EntriesNobodyReads {
  let other = ZoneID(name: "other")

  /// Two devices, each of which has sent two segments of one zone, and a new third device.
  private struct World {
    var place: RemotePlace
    var devices: [Device]
    var log: EntryPlace.Log

    func name(_ offset: UInt64) -> ObjectName { .entry(of: log.incarnation, offset) }
    func entry(_ offset: UInt64) -> EntryPlace { EntryPlace(log: log, offset: offset) }
    var objects: any LogOfObjects { place.remote as! any LogOfObjects }

    func quarantine(_ place: EntryPlace, last: UInt64 = 100) async throws -> EntryState {
      try await objects.log.amendments.quarantine(
        place, last: last, note: "lost", milliseconds: 1_700_000_000_000)
    }

    /// Gives an entry up; nil if another object counts as the entry.
    func giveUp(_ place: EntryPlace) async throws -> LogTombstone? {
      let state = try await quarantine(place)
      if case .givenUp(let tombstone) = state { return tombstone }
      return nil
    }

    func audit() async throws -> RemoteAudit {
      try await RemoteAudit(of: objects, objects: try await place.objects.list())
    }

    func repair(from device: Device) async throws -> [RemoteRepair.Outcome] {
      var repair = RemoteRepair(objects, from: device.store)
      try await repair.repairEvents(try await audit().unreadableEvents)
      try await repair.repairLogs(try await audit())
      return repair.steps.map(\.outcome)
    }

    func close() { for device in devices { device.store.close() } }
  }

  private func world(_ kind: RemotePlace.Kind, _ parent: String) async throws -> World {
    let place = try await RemotePlace(kind, in: parent)
    let devices = try (1...3).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    for number in 0..<4 {
      try await devices[number % 2].set("title", of: Name("\(number)"), to: .int(Int64(number)))
      try await devices[number % 2].sync(place.remote)
    }
    try await settle(Array(devices.prefix(2)), place.remote)
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    try #require(token.offset == 4)
    return World(place: place, devices: devices, log: EntryPlace.Log(zone, token.incarnation))
  }

  private func parked(_ report: SyncReport, zone index: Int = 0) -> (offset: UInt64, code: String)? {
    guard report.zones.indices.contains(index),
      case .parked(let offset, let failure) = report.zones[index].status
    else { return nil }
    return (offset, failure.code)
  }

  @Test(
    "Zeros at the next offset: everybody sends past them, and reads on after they are given up",
    arguments: RemotePlace.Kind.allCases)
  func zerosAtTheEnd(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let remote = world.place.remote
    try await world.place.replace(world.name(5), with: [UInt8](repeating: 0, count: 300))
    for (index, device) in world.devices.enumerated() {
      try await device.set("title", of: Name("late \(index)"), to: 1)
      let report = try await device.sync(remote)
      #expect(parked(report)?.offset == 5 && parked(report)?.code == "damagedSegment", "\(report)")
      #expect(report.sent == 1 && !report.isInSync)
      #expect(try device.pending() == 0)
      let again = try await device.sync(remote)
      #expect(parked(again)?.offset == 5 && !again.hasMoved)
    }
    let before = try await world.audit()
    #expect(before.logs[0].unreadable == [5] && before.problems.count == 1, "\(before.problems)")
    #expect(before.logs[0].segments == 7, "what lies behind is read")
    let given = try await world.giveUp(world.entry(5))
    let tombstone = try #require(given)
    #expect(tombstone.content?.byteCount == 300 && tombstone.note == "lost")
    let after = try await world.audit()
    #expect(after.problems.isEmpty && after.logs[0].tombstones == [tombstone], "\(after.problems)")
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    let bytes = try tombstone.encode()
    let (hash, incarnation) = (ContentHash(of: bytes.span.bytes), world.log.incarnation)
    for device in world.devices {
      #expect(try device.recordNames().count == 7)
      let found = try device.store.read { try $0.segmentHash(at: 5, of: zone, incarnation) }
      #expect(found == hash)
    }
    world.close()
  }

  @Test("A store that has retired an entry says so: others may have it", arguments: RemotePlace.Kind.allCases)
  func retiredEntry(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.place.replace(world.name(3), with: [UInt8](repeating: 0, count: 300))
    try await world.devices[0].store.retireHistory(of: zone)
    let first = try await world.repair(from: world.devices[0])
    #expect(first == [.retired])
    let second = try await world.repair(from: world.devices[1])
    #expect(second == [.putBack])
    let problems = try await world.audit().problems
    #expect(problems.isEmpty)
    world.close()
  }

  @Test(
    "A damaged body in the middle: a store that has it puts it back, and a new device reads on",
    arguments: RemotePlace.Kind.allCases)
  func damagedBody(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let (name, new) = (world.name(3), world.devices[2])
    let right = try #require(try await world.place.get(name))
    var damaged = right
    for index in 0..<5 { damaged[damaged.count - 60 + index] ^= 0x5A }
    try await world.place.replace(name, with: damaged)
    try await new.set("title", of: "new", to: 1)
    let report = try await new.sync(world.place.remote)
    #expect(parked(report)?.offset == 3 && report.sent == 1 && report.received == 2, "\(report)")
    // A store that does not have it changes nothing.
    let found1 = try await world.repair(from: new)
    #expect(found1 == [.notInStore])
    let found2 = try await world.repair(from: world.devices[0])
    #expect(found2 == [.putBack])
    let found3 = try await world.repair(from: world.devices[1])
    #expect(found3 == [])
    let found4 = try await world.place.get(name)
    #expect(found4 == damaged)
    let amended = try #require(try await world.place.get(world.entry(3).amendmentName))
    #expect(amended == right)
    let audit = try await world.audit()
    #expect(audit.problems.isEmpty && audit.logs[0].repairs == [3])
    // It is back, and can no longer be given up.
    let given = try await world.giveUp(world.entry(3))
    #expect(given == nil)
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    world.close()
  }

  @Test(
    "A hole in the middle is reported, is never filled by an append, and is put back",
    arguments: RemotePlace.Kind.allCases)
  func hole(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let new = world.devices[2]
    let right = try #require(try await world.place.get(world.name(2)))
    try await world.place.replace(world.name(2), with: nil)
    try await new.set("title", of: "new", to: 1)
    for sent in [1, 0] {
      let report = try await new.sync(world.place.remote)
      #expect(parked(report)?.offset == 2 && parked(report)?.code == "missingSegment", "\(report)")
      #expect(!report.isInSync && report.sent == sent)
    }
    let found5 = try await world.place.get(world.name(2))
    #expect(found5 == nil)
    let found6 = try await world.place.get(world.name(5))
    #expect(found6 != nil)
    let found7 = try await world.audit().logs
    #expect(found7[0].unreadable == [2])
    let found8 = try await world.repair(from: world.devices[1])
    #expect(found8 == [.putBack])
    let found9 = try await world.place.get(world.name(2))
    #expect(found9 == right)
    let found10 = try await world.audit().problems.isEmpty
    #expect(found10)
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    world.close()
  }

  @Test(
    "A wide hole is put back completely, and a hole that no store has is given up",
    arguments: RemotePlace.Kind.allCases)
  func wideHole(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    for offset in [2, 3] as [UInt64] { try await world.place.replace(world.name(offset), with: nil) }
    let new = world.devices[2]
    try await new.set("title", of: "new", to: 1)
    let report = try await new.sync(world.place.remote)
    #expect(parked(report)?.offset == 2 && report.sent == 1 && !report.isInSync, "\(report)")
    let filled = try await (world.place.get(world.name(2)), world.place.get(world.name(5)))
    #expect(filled.0 == nil && filled.1 != nil, "what it sent is behind the log, not in the hole")
    let found11 = try await world.audit().logs
    #expect(found11[0].unreadable == [2, 3])
    let found12 = try await world.repair(from: world.devices[1])
    #expect(found12 == [.putBack, .putBack])
    let found13 = try await world.audit().problems.isEmpty
    #expect(found13)
    // The last segment of a writer: the next one is of another writer.
    try await world.place.replace(world.name(3), with: nil)
    let given = try await world.giveUp(world.entry(3))
    let tombstone = try #require(given)
    #expect(tombstone.content == nil)
    let audit = try await world.audit()
    #expect(audit.problems.isEmpty && audit.logs[0].tombstones.map(\.offset) == [3], "\(audit.problems)")
    let read = try await new.sync(world.place.remote)
    #expect(read.isInSync && read.received == 2, "\(read)")
    // A store that has read past it is not affected; one whose token is at it is.
    let found14 = try await world.repair(from: world.devices[0]).contains(.givenUp)
    #expect(found14)
    world.close()
  }

  @Test(
    "The entry after another is found across directories; one that is far away makes no hole",
    arguments: RemotePlace.Kind.allCases)
  func nextEntries(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let objects = try await RemotePlace(kind, in: scratch.path).objects
    let log = IncarnationID(rawValue: 3)
    let offsets: [UInt64] = [1, 4095, 4096, 8192, 20_000, 24_096, 28_193]
    for incarnation in [log, nil] {
      for offset in offsets { _ = try await objects.putIfAbsent(.entry(offset, of: incarnation), [1]) }
      _ = try await objects.putIfAbsent(.amendment(of: incarnation, 30_000), [1])
      for offset in offsets.flatMap({ [$0 - 1, $0, $0 + 1] }) where offset > 0 {
        let name = ObjectName.entry(offset, of: incarnation)
        let next = offsets.first { $0 > offset }
        let found = try await (objects.nextEntry(after: name), objects.entryAfterGap(at: name))
        #expect(found.0?.offset == next, "\(offset)")
        #expect(found.1 == (offsets.contains(offset) ? nil : next), "\(offset)")
      }
    }
  }

  @Test("What is no entry makes no hole, unless it is right behind one", arguments: RemotePlace.Kind.allCases)
  func foreign(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let entries = LogEntries(objects: world.place.objects)
    func hole(_ offset: UInt64) async throws -> UInt64? {
      try await entries.entryAfterHole(at: offset, of: world.log.incarnation, zone)
    }
    try await world.place.replace(world.name(4000), with: [1, 2, 3])
    try await #expect(hole(5) == nil)
    let new = world.devices[2]
    try await new.set("title", of: "new", to: 1)
    let report = try await new.sync(world.place.remote)
    #expect(report.isInSync)
    #expect(try await world.place.get(world.name(5)) != nil)
    try await world.place.replace(world.name(7), with: [1, 2, 3])
    try await #expect(hole(6) == 7)
    try await world.place.replace(world.name(7), with: nil)
    // An entry that is further away than the foreign one.
    let right = try #require(try await world.place.get(world.name(5)))
    try await world.place.replace(world.name(5), with: nil)
    try await world.place.replace(world.name(3), with: [1, 2, 3])
    let last = try #require(try await world.place.get(world.name(4)))
    try await world.place.replace(world.name(2), with: nil)
    try await #expect(hole(2) == 3)
    try await world.place.replace(world.name(1), with: nil)
    try await #expect(hole(1) == 4)
    #expect(!last.isEmpty && !right.isEmpty)
    world.close()
  }

  @Test(
    "A store whose token is at a given-up entry sends it again, once",
    arguments: RemotePlace.Kind.allCases)
  func standsOnIt(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    try await world.place.replace(world.name(4), with: [1, 2, 3])
    let damaged = try await world.devices[0].sync(world.place.remote)
    #expect(parked(damaged)?.offset == 4 && parked(damaged)?.code == "damagedSegment", "\(damaged)")
    _ = try await world.quarantine(world.entry(4))
    for device in world.devices.prefix(2) { try await device.set("title", of: "late", to: 1) }
    let first = try await world.devices[0].sync(world.place.remote)
    #expect(first.isInSync && first.sent == 2, "\(first)")
    let second = try await world.devices[1].sync(world.place.remote)
    #expect(second.isInSync && second.sent == 1, "\(second)")
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    world.close()
  }

  @Test(
    "An entry that can be read is not given up, nor one that only a newer version can read",
    arguments: RemotePlace.Kind.allCases)
  func refusals(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    func code(_ place: EntryPlace, last: UInt64) async -> RemoteError.Code? {
      await #expect(throws: RemoteError.self) { try await world.quarantine(place, last: last) }?.code
    }
    #expect(await code(world.entry(2), last: 4) == .mismatch)
    #expect(await code(world.entry(5), last: 4) == .mismatch)
    #expect(await code(EntryPlace(offset: 1), last: 1) == .mismatch)
    #expect(await code(EntryPlace(offset: 2), last: 1) == .mismatch)
    var newer = try #require(try await world.place.get(world.name(3)))
    let start = SegmentEnvelope.headerBytesMax
    let count = Int(newer[start + 6]) | Int(newer[start + 7]) << 8
    newer[start + 4] = 9
    let checksum = crc32c(Array(newer[start..<(start + count - 4)]).span.bytes)
    for index in 0..<4 {
      newer[start + count - 4 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index))
    }
    let end = newer.count - ContentHash.byteCount
    var writer = ByteWriter()
    ContentHash(of: Array(newer[start..<end]).span.bytes).write(to: &writer)
    newer.replaceSubrange(end..., with: writer.span.withUnsafeBytes { Array($0) })
    try await world.place.replace(world.name(3), with: newer)
    #expect(await code(world.entry(3), last: 4) == .newerSegment)
    let names = try await world.place.objects.list().compactMap(\.name)
    #expect(names.allSatisfy { $0.amendedOffset == nil })
    world.close()
  }

  @Test(
    "An entry that was put back is damaged again: it is put back again, and so is a later entry",
    arguments: RemotePlace.Kind.allCases, [true, false])
  func damagedAmendment(kind: RemotePlace.Kind, isGarbage: Bool) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let amended = world.entry(2).amendmentName
    let right = try #require(try await world.place.get(world.name(2)))
    try await world.place.damage(.flipped, world.log.incarnation, 2)
    let first = try await world.repair(from: world.devices[0])
    #expect(first == [.putBack])
    var damaged = right
    damaged[damaged.count - 1] ^= 1
    try await world.place.replace(amended, with: isGarbage ? [1, 2, 3] : damaged)
    try await world.place.damage(.zeros, world.log.incarnation, 3)
    let report = try await world.devices[2].sync(world.place.remote)
    #expect(parked(report)?.offset == 2, "\(report)")
    let second = try await world.repair(from: world.devices[0])
    #expect(second == [.putBack, .putBack])
    let found = try await world.place.get(amended)
    #expect(found == right)
    let audit = try await world.audit()
    #expect(audit.problems.isEmpty && audit.logs[0].repairs == [2, 3], "\(audit.problems)")
    // An entry that can be read is never replaced.
    let given = try await world.giveUp(world.entry(2))
    #expect(given == nil)
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    world.close()
  }

  @Test(
    "A damaged tombstone is only replaced by another one: stores that read it do not have the entry"
  )
  func damagedTombstone() async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(.folder, scratch.path)
    let amended = world.entry(2).amendmentName
    try await world.place.damage(.flippedAndGivenUp, world.log.incarnation, 2)
    var bytes = try #require(try await world.place.get(amended))
    bytes[bytes.count - 1] ^= 1
    try await world.place.replace(amended, with: bytes)
    try await world.place.damage(.zeros, world.log.incarnation, 3)
    let outcomes = try await world.repair(from: world.devices[0])
    guard outcomes.count == 2, case .refused(let reason) = outcomes[0] else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(reason.contains("--quarantine") && outcomes[1] == .putBack)
    let given = try #require(try await world.giveUp(world.entry(2)))
    let audit = try await world.audit()
    #expect(audit.logs[0].tombstones == [given] && audit.problems.isEmpty, "\(audit.problems)")
    world.close()
  }

  @Test("An amendment's name that cannot be cleared is reported, and later entries are put back")
  func directoryAsAmendment() async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(.folder, scratch.path)
    let root = try #require(world.place.objects as? FolderObjects).directory
    let amended = "\(root)/\(world.entry(2).amendmentName)"
    mkdir("\(root)/\(world.entry(2).amendmentName.components.dropLast().joined(separator: "/"))", 0o700)
    mkdir(amended, 0o700)
    for offset in [2, 3] as [UInt64] { try await world.place.damage(.zeros, world.log.incarnation, offset) }
    let outcomes = try await world.repair(from: world.devices[0])
    guard outcomes.count == 2, case .refused(let reason) = outcomes[0] else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(reason.contains(amended) && outcomes[1] == .putBack)
    await #expect(throws: RemoteError.self) { _ = try await world.quarantine(world.entry(2)) }
    #expect(rmdir(amended) == 0)
    let again = try await world.repair(from: world.devices[0])
    #expect(again == [.putBack])
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    world.close()
  }

  @Test("A garbage file in the list of zones stops only one entry", arguments: RemotePlace.Kind.allCases)
  func garbageInTheList(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let garbage = [UInt8](repeating: 0, count: 200)
    try await world.place.replace(.zoneEvent(2), with: garbage)
    try await world.devices[0].set("title", of: "late", to: 1)
    try await world.devices[0].set("title", of: "made", to: 1, in: other)
    for (index, device) in world.devices.enumerated() {
      let report = try await device.sync(world.place.remote)
      #expect(
        report.failure == nil && report.listProblems.map(\.offset) == [2] && !report.isInSync, "\(report)")
      #expect(report.zones.map(\.zone) == [zone, other] && report.zones.allSatisfy { $0.status == .inSync })
      #expect(report.sent == (index == 0 ? 2 : 0))
      #expect(try device.store.syncState().databaseToken?.offset == 1)
    }
    // The app deletes, and another device reads the rest, as before.
    let found15 = try await world.repair(from: world.devices[0])
    #expect(found15 == [.notInStore])
    let found16 = try await world.audit().problems.count
    #expect(found16 == 1)
    let given = try await world.giveUp(EntryPlace(offset: 2))
    _ = try #require(given)
    let found17 = try await world.place.get(.zoneEvent(2)) == garbage
    #expect(found17)
    let audit = try await world.audit()
    #expect(audit.problems.isEmpty && audit.eventTombstones.map(\.offset) == [2], "\(audit.problems)")
    try await settle(world.devices, world.place.remote)
    for device in world.devices {
      let found18 = try await device.sync(world.place.remote).isInSync
      #expect(found18)
      #expect(try device.store.syncState().databaseToken?.offset == 3)
    }
    try await expectAgreement(world.devices, world.place.remote)
    world.close()
  }

  @Test(
    "A damaged event of a zone: stores that know the zone continue, and put the event back",
    arguments: RemotePlace.Kind.allCases, [true, false])
  func damagedEvent(kind: RemotePlace.Kind, isLast: Bool) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let new = world.devices[2]
    if !isLast {
      try await world.devices[1].set("title", of: "made", to: 1, in: other)
      try await world.devices[1].sync(world.place.remote)
    }
    let event = try #require(try await world.place.get(.zoneEvent(1)))
    var damaged = event
    damaged[50] ^= 1
    try await world.place.replace(.zoneEvent(1), with: damaged)
    try await world.devices[0].set("title", of: "late", to: 1)
    let report = try await world.devices[0].sync(world.place.remote)
    #expect(report.zones.first?.status == .inSync && report.sent == 1 && !report.isInSync, "\(report)")
    let first = try await new.sync(world.place.remote)
    #expect(first.createdZones == (isLast ? [] : [other]) && !first.isInSync)
    let found19 = try await world.repair(from: new)
    #expect(found19 == [.notInStore])
    let found20 = try await world.repair(from: world.devices[0])
    #expect(found20 == [.putBack])
    let found21 = try await world.place.get(EntryPlace(offset: 1).amendmentName)
    #expect(found21 == event)
    let found22 = try await world.audit().problems.isEmpty
    #expect(found22)
    try await settle(world.devices, world.place.remote)
    try await expectAgreement(world.devices, world.place.remote)
    #expect(try new.recordNames().count == (isLast ? 5 : 6))
    world.close()
  }

  @Test(
    "A log that lost its end gets back what a store has, or has it sent again if others continued from there",
    arguments: RemotePlace.Kind.allCases, [false, true])
  func lostTail(kind: RemotePlace.Kind, isReplaced: Bool) async throws {
    let scratch = TemporaryDirectory()
    let world = try await world(kind, scratch.path)
    let right = try await world.place.copy()
    for offset in [3, 4] as [UInt64] { try await world.place.replace(world.name(offset), with: nil) }
    if isReplaced {
      try await world.devices[2].set("title", of: "new", to: 1)
      let found23 = try await world.devices[2].sync(world.place.remote).isInSync
      #expect(found23)
    }
    try await world.devices[0].set("title", of: "late", to: 1)
    if isReplaced {
      let found24 = try await world.repair(from: world.devices[0])
      #expect(found24 == [.replaced])
      let found25 = try await world.place.get(world.name(4))
      #expect(found25 == nil)
      let report = try await world.devices[0].sync(world.place.remote)
      #expect(report.isInSync && report.zones[0].partedAt == 3 && report.sent == 3, "\(report)")
      try await settle(world.devices, world.place.remote)
      try await expectAgreement(world.devices, world.place.remote)
    } else {
      let found26 = try await world.repair(from: world.devices[0])
      #expect(found26 == [.putBack, .putBack])
      let found27 = try await world.place.copy()
      #expect(found27 == right)
      try await settle(world.devices, world.place.remote)
      try await expectAgreement(world.devices, world.place.remote)
    }
    world.close()
  }

  @Test("A list that cannot be read on is applied once by a running replicator")
  func appliedOnce() {
    var page = ZoneEventPage(
      events: [], token: DatabaseToken(remote: RemoteID(rawValue: 1), offset: 0, hash: .zero), hasMore: false)
    page.later = [ZoneEvent(kind: .created, zone: zone, incarnation: IncarnationID(rawValue: 5))]
    let state = StoreSyncState(
      identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page.token, zones: []
    )
    var last: ZoneEventPage?
    for isFirst in [true, false] {
      var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1, lastPage: last)
      _ = round.start()
      _ = round.step(.state(state))
      let effects = round.step(.zoneEvents(page))
      #expect(effects == [isFirst ? .applyZoneEvents(page) : .readState])
      last = round.lastPage
    }
    #expect(last == page)
  }
}
