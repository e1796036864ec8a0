import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

@Suite("Zones whose records are compacted")
struct CompactedZones {
  private let scratch = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
  /// Lets all that was read be compacted, even if a writer has not seen it.
  private let everything = CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: 0)

  private func device(_ name: String, _ seed: UInt64) throws -> Device {
    let device = try Device(in: scratch.path, name, seed: seed)
    try device.store.writeBlockingThisThread { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
    }
    return device
  }

  private func id(_ name: Name) -> RecordID { RecordID(zone: zone, name: name) }

  private func close(_ devices: [Device]) { for device in devices { device.store.close() } }

  /// All that a user sees of a zone's records.
  private func shown(_ device: Device) throws -> [String] {
    try device.store.read { tx in
      try tx.records(in: zone).map { record in
        let fields = record.fields.map { "\($0.key)=\($0.value)" }.sorted()
        let modified =
          try tx.withRecord(record.id) { try "\($0.system.modified.timestamp) \($0.system.modified.replica)" }
          ?? ""
        return "\(record.id.name) \(record.type) \(modified) \(fields)"
      }
    }
  }

  /// How many rows a table of a store has.
  private func rows(_ table: String, _ device: Device) throws -> Int? {
    try device.store.information().tables.first { $0.name == table }?.entries
  }

  private func names(_ device: Device) throws -> [String] {
    try device.store.read { try $0.records(in: zone).map { "\($0.id.name)" } }
  }

  private func count(_ device: Device) throws -> Value? {
    let record = try device.store.read { try $0.record(id("r0")) }
    return record?["count"]
  }

  /// Does something at random.
  private func act(_ device: Device, _ random: inout SeededRandom) async throws {
    let id = id(Name("r\(random.next(below: 4))"))
    let (what, number) = (random.next(below: 14), random.next(below: 100))
    let place = random.next(below: 1000)
    try await device.store.write { tx in
      guard try tx.contains(id) else {
        try tx.create(id, type: "thing")
        try tx.insertText("begin", at: 0, in: "body", of: id)
        try tx.insertElements([.int(1), .int(2)], at: 0, in: "items", of: id)
        return
      }
      let (text, items) = try (
        tx.count(of: "body", in: id, as: .text), tx.count(of: "items", in: id, as: .list)
      )
      switch what {
      case 0: try tx.delete(id)
      case 1, 2: try tx.set(Name("f\(number % 3)"), of: id, to: .int(Int64(number)))
      case 3: try tx.add(.int(Int64(number)), to: "count", of: id)
      case 4: try tx.insert(.int(Int64(number % 4)), into: "tags", of: id)
      case 5: try tx.remove(.int(Int64(number % 4)), from: "tags", of: id)
      case 6: try tx.put(.int(Int64(number)), at: Name("k\(number % 3)"), in: "map", of: id)
      case 7: try tx.contribute(.int(Int64(number)), to: "sums", of: id)
      case 8, 9: try tx.insertText("<\(number)>", at: place % (text + 1), in: "body", of: id)
      case 10:
        if text > 2 { try tx.removeText(place % (text - 1)..<place % (text - 1) + 1, from: "body", of: id) }
      case 11: try tx.insertElements([.int(Int64(number))], at: place % (items + 1), in: "items", of: id)
      case 12:
        if items > 1 { try tx.moveElement(from: place % items, to: number % items, in: "items", of: id) }
      default:
        if items > 1 { try tx.removeElements(place % items..<place % items + 1, from: "items", of: id) }
      }
    }
  }

  @Test(
    "Stores that compact at random places agree, byte for byte",
    arguments: WideTests.choose(1...40, otherwise: 1...2)
  )
  func random(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    var devices = try [device("a", 1), device("b", 2), device("c", 3)]
    var compactions = 0
    for step in 0..<120 {
      let device = devices[random.next(below: devices.count)]
      switch random.next(below: 10) {
      case 0..<6: try await act(device, &random)
      case 6, 7: try await device.sync(remote)
      case 8:
        guard let token = try device.store.syncState().zones.first?.token, token.offset > 0 else { continue }
        let floor = 1 + UInt64(random.next(below: Int(token.offset)))
        try await device.store.write { try $0.nameFloor(floor, of: zone) }
        compactions += 1
      default:
        if random.next(below: 3) == 0 {
          try device.reopen()
        } else if step > 60, devices.count < 4 {
          devices.append(try self.device("d", 4))
        }
      }
    }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    #expect(compactions > 0)
    let made = try devices.map { try $0.store.makeSnapshot(of: zone) }
    #expect(Set(made).count == 1)
    let shown = try devices.map { try self.shown($0) }
    #expect(Set(shown).count == 1)
    // A store that begins with the snapshot, and one that reads the whole log.
    let (begun, fresh) = try (device("begun", 8), device("fresh", 9))
    let source = devices[0].store
    try await begun.store.begin(zone, with: made[0]) { try source.snapshotPart($0, of: made[0]) }
    #expect(try begun.store.makeSnapshot(of: zone) == made[0])
    // One that retires its history knows no more of the log than one that began with the snapshot.
    try await devices[1].store.retireHistory(of: zone)
    for table in ["segments", "placements"] {
      #expect(try rows(table, devices[1]) == rows(table, begun), "\(table)")
    }
    try await fresh.sync(remote)
    devices += [begun, fresh]
    try await expectAgreement(devices, remote)
    for device in devices { try await act(device, &random) }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    _ = try await devices[1].store.rebuild()
    try await expectAgreement(devices, remote)
    close(devices)
  }

  @Test("What is shown stays, and what nobody needs goes")
  func compacted() async throws {
    let (a, b) = try (device("a", 1), device("b", 2))
    for round in 0..<20 {
      let device = round.isMultiple(of: 2) ? a : b
      try await device.store.write { [self] tx in
        if round == 0 {
          for name in ["r0", "gone"] as [Name] { try tx.create(id(name), type: "thing") }
        }
        try tx.set("title", of: id("r0"), to: .string("\(round)"))
        try tx.add(.int(1), to: "count", of: id("r0"))
        try tx.insertText("\(round) ", at: 0, in: "body", of: id("r0"))
        if round > 4 { try tx.removeText(0..<2, from: "body", of: id("r0")) }
      }
      try await settle([a, b], remote)
    }
    try await b.store.write { [self] tx in try tx.delete(id("gone")) }
    try await settle([a, b], remote)
    let before = try shown(a)
    let plan = try a.store.compactionPlan(of: zone, keeping: everything)
    #expect(plan.records == 1 && plan.units > 20 && plan.next == 21 && plan.limit == nil && plan.floor == 0)
    let careful = try a.store.compactionPlan(of: zone)
    #expect(careful.next == nil && careful.limit == .age)
    try await a.store.compact(zone, keeping: everything)
    try await settle([a, b], remote)
    try await expectAgreement([a, b], remote)
    #expect(try shown(a) == before && shown(b) == before)
    let after = try a.store.compactionPlan(of: zone, keeping: everything)
    #expect(after.floor == 21 && after.records == 0 && after.units == 0)
    // What came since only names that floor: another one would cover nothing else.
    #expect(after.next == nil && after.limit == nil, "\(after)")
    try await b.set("title", of: "r0", to: "later")
    try await settle([a, b], remote)
    #expect(try a.store.compactionPlan(of: zone, keeping: everything).next == 23)
    let made = try a.store.makeSnapshot(of: zone)
    #expect(made.floor == 21 && made.records == 1)
    close([a, b])
  }

  @Test(
    "What a store wrote without having seen the floor is not lost, and a dropped record waits to be created")
  func late() async throws {
    let (a, b) = try (device("a", 1), device("b", 2))
    try await a.store.write { [self] tx in
      for name in ["r0", "gone"] as [Name] { try tx.create(id(name), type: "thing") }
      try tx.insertText("one two three", at: 0, in: "body", of: id("r0"))
      try tx.add(.int(5), to: "count", of: id("r0"))
    }
    try await settle([a, b], remote)
    try await b.store.write { [self] tx in
      try tx.insertText("late ", at: 4, in: "body", of: id("r0"))
      try tx.add(.int(2), to: "count", of: id("r0"))
      try tx.set("title", of: id("gone"), to: "late")
    }
    try await a.store.write { [self] tx in
      try tx.delete(id("gone"))
      try tx.removeText(0..<4, from: "body", of: id("r0"))
    }
    try await a.sync(remote)
    try await a.store.compact(zone, keeping: everything)
    try await a.sync(remote)
    try await settle([b, a], remote)
    try await expectAgreement([a, b], remote)
    for device in [a, b] {
      let record = try device.store.read { [self] in try $0.record(id("r0")) }
      #expect(record?["body"] == "late two three" && record?["count"] == 7)
      #expect(try names(device) == ["r0"])
    }
    try await b.store.write { [self] tx in try tx.create(id("gone"), type: "thing") }
    try await settle([a, b], remote)
    try await expectAgreement([a, b], remote)
    #expect(try names(a) == ["gone", "r0"])
    close([a, b])
  }

  @Test(
    "Rows that an index reads, and heads that are stored apart, are compacted before a change of their record"
  )
  func parts() async throws {
    let devices = try [device("a", 1), device("b", 2), device("c", 3)]
    let (a, b, c) = (devices[0], devices[1], devices[2])
    for device in devices {
      try await device.store.declareIndexes([
        IndexDefinition(
          "byCount", of: ["thing"], by: [IndexPart(.value(QueryField(.field("count", .counter))))]),
        IndexDefinition("byLong", of: ["thing"], by: [IndexPart(.value(.value(of: "long")))]),
      ])
    }
    try await a.store.write { [self] tx in
      try tx.create(id("r0"), type: "thing")
      try tx.set("long", of: id("r0"), to: .string(String(repeating: "x", count: 1100)))
    }
    for _ in 0..<8 { try await a.store.write { [self] tx in try tx.add(.int(1), to: "count", of: id("r0")) } }
    try await settle(devices, remote)
    try await a.store.compact(zone, keeping: everything)
    // The change comes in the commit of the floor.
    try await a.store.write { [self] tx in try tx.add(.int(5), to: "count", of: id("r0")) }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    // So many addends that the compacted one is stored apart.
    for _ in 0..<30 {
      try await b.store.write { [self] tx in try tx.add(.int(1), to: "count", of: id("r0")) }
    }
    try await settle(devices, remote)
    #expect(try count(c) == .int(43))
    try await c.store.write { [self] tx in
      try tx.delete(id("r0"))
      try tx.create(id("r0"), type: "thing")
      try tx.add(.int(1), to: "count", of: id("r0"))
    }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices {
      #expect(try count(device) == .int(1))
    }
    close(devices)
  }

  @Test("A compacted text has as many rows where history was retired, and where a snapshot was loaded")
  func rows() async throws {
    let (a, b) = try (device("a", 1), device("b", 2))
    try await a.store.write { [self] tx in try tx.create(id("r0"), type: "thing") }
    for round in 0..<40 {
      try await a.store.write { [self] tx in
        for edit in 0..<60 {
          let count = try tx.count(of: "body", in: id("r0"), as: .text)
          if edit % 3 == 2 {
            try tx.removeText(count / 2..<count / 2 + 1, from: "body", of: id("r0"))
          } else {
            try tx.insertText("x", at: count * (round % 7) / 7, in: "body", of: id("r0"))
          }
        }
      }
    }
    func rows(_ device: Device) throws -> Int? { try self.rows("runs", device) }
    try await a.sync(remote)
    try await a.store.compact(zone, keeping: everything)
    try await a.sync(remote)
    // A leaf, its units' places, and their makers.
    #expect(try rows(a) == 3)
    try await a.store.retireHistory(of: zone)
    _ = try await a.store.reclaim()
    #expect(try rows(a) == 3)
    let snapshot = try a.store.makeSnapshot(of: zone)
    let source = a.store
    try await b.store.begin(zone, with: snapshot) { try source.snapshotPart($0, of: snapshot) }
    #expect(try rows(b) == 3)
    try await b.store.write { [self] tx in try tx.insertText("late", at: 50, in: "body", of: id("r0")) }
    try await settle([a, b], remote)
    try await expectAgreement([a, b], remote)
    close([a, b])
  }

  @Test(
    "A compacted text of which a part was removed since is loaded as it is", arguments: [0, 9000, 11_990])
  func removedSince(place: Int) async throws {
    let (a, b, c) = try (device("a", 1), device("b", 2), device("c", 3))
    try await a.store.write { [self] tx in
      try tx.create(id("r0"), type: "thing")
      try tx.insertText(String(repeating: "abc", count: 4000), at: 0, in: "body", of: id("r0"))
    }
    try await settle([a, c], remote)
    try await a.store.compact(zone, keeping: everything)
    try await settle([a, c], remote)
    try await a.store.write { [self] tx in try tx.removeText(place..<place + 7, from: "body", of: id("r0")) }
    try await a.sync(remote)
    let snapshot = try a.store.makeSnapshot(of: zone)
    let source = a.store
    try await b.store.begin(zone, with: snapshot) { try source.snapshotPart($0, of: snapshot) }
    #expect(try b.store.makeSnapshot(of: zone) == snapshot)
    #expect(try b.store.verify().isSound)
    // It has not seen that.
    try await c.store.write { [self] tx in
      try tx.insertText("late", at: place + 3, in: "body", of: id("r0"))
    }
    try await b.store.write { [self] tx in
      try tx.insertText("other", at: place, in: "body", of: id("r0"))
    }
    try await settle([a, b, c], remote)
    try await expectAgreement([a, b, c], remote)
    for device in [a, b, c] { #expect(try device.store.verify().isSound) }
    close([a, b, c])
  }

  @Test("An undo ends at the floor, and what compaction dropped comes back by a creation alone")
  func undo() async throws {
    let a = try device("a", 1)
    try await a.store.write { [self] tx in
      try tx.create(id("r0"), type: "thing")
      try tx.set("title", of: id("r0"), to: "one")
    }
    try await a.store.write { [self] tx in try tx.delete(id("r0")) }
    let deletion = try a.store.read { try $0.lastPosition() }
    try await settle([a], remote)
    try await a.store.compact(zone, keeping: everything)
    try await settle([a], remote)
    let manager = a.store.undoManager()
    #expect(try !manager.canUndo)
    let error = await #expect(throws: StoreError.self) { try await a.store.undo(deletion) }
    #expect(error?.code == .notUndoable)
    try await a.store.write { [self] tx in try tx.create(id("r0"), type: "thing") }
    #expect(try manager.canUndo)
    _ = try await manager.undo()
    #expect(try names(a).isEmpty)
    close([a])
  }

  @Test("An imported log has its floors at their places")
  func imported() async throws {
    var random = SeededRandom(seed: 4)
    let devices = try [device("a", 1), device("b", 2)]
    for _ in 0..<5 {
      for device in devices {
        for _ in 0..<4 { try await act(device, &random) }
      }
      try await settle(devices, remote)
      try await devices[0].store.compact(zone, keeping: everything)
      try await act(devices[1], &random)
    }
    try await settle(devices, remote)
    let copy = try Device(in: scratch.path, "copy", seed: 7)
    try await copy.importLog(of: devices[0])
    #expect(try copy.digests() == devices[0].digests())
    #expect(try copy.store.verify().isSound)
    try await settle(devices + [copy], remote)
    try await expectAgreement(devices + [copy], remote)
    close(devices + [copy])
  }

  @Test(
    "A zone without a floor is folded once beside one that is folded in passes; only zones with one are found"
  )
  func beside() async throws {
    var random = SeededRandom(seed: 6)
    let a = try device("a", 1)
    let (plain, named) = (ZoneID(name: "plain"), ZoneID(name: "named"))
    let note = RecordID(zone: plain, name: "n")
    try await a.store.write { tx in
      for zone in [plain, named] { try tx.createZone(zone) }
      try tx.create(note, type: "note")
    }
    func found() throws -> [ZoneNumber] { try a.store.read { try $0.readView.zonesWithFloors() } }
    #expect(try found().isEmpty)
    for round in 0..<3 {
      for _ in 0..<4 { try await act(a, &random) }
      try await a.store.write { tx in try tx.insertText("\(round) ", at: 0, in: "body", of: note) }
      try await settle([a], remote)
      try await a.store.compact(zone, keeping: everything)
      try await a.store.write { tx in try tx.nameFloor(1, of: named) }
    }
    try await settle([a], remote)
    let numbers = try a.store.read { tx in try [zone, named].map { try tx.readView.zones.number(of: $0) } }
    #expect(try found() == numbers)
    #expect(try a.store.information().zones.compactMap(\.floor).count == 1)
    let before = try shown(a)
    _ = try await a.store.rebuild()
    #expect(try a.store.read { try $0.record(note)?["body"] } == "2 1 0 ")
    #expect(try shown(a) == before)
    #expect(try a.store.verify().isSound)
    close([a])
  }

  @Test(
    "A policy names a floor when a round asks for every zone, each time that it rises by a quarter of its age"
  )
  func policy() async throws {
    let day: Int64 = 86_400_000
    let now = Shared<Int64>(1000 * day)
    let remote = MemoryRemote(identity: RemoteID(rawValue: 5), receivedMilliseconds: { UInt64(now.value) })
    let device = try Device(in: scratch.path, "p", seed: 1, clock: { now.value })
    func round() async throws {
      let replicator = device.replicator(remote) { configuration in
        configuration.policy.compaction = CompactionPolicy(
          millisecondsMax: 8 * 86_400_000, horizonMilliseconds: 8 * 86_400_000)
      }
      _ = try await replicator.syncOnce()
    }
    for step in 0..<30 {
      try await device.set("title", of: "r0", to: .int(Int64(step)))
      try await round()
      now.value += day
    }
    var floors: [UInt64] = []
    try device.store.read { tx in
      for position in 1...(try tx.lastPosition().rawValue) {
        let operations = try LogReader(tx.readView).entry(at: Position(rawValue: position)).transaction
          .operations
        for case .compact(let floor) in operations { floors.append(floor) }
      }
    }
    #expect(8...12 ~= floors.count && floors == floors.sorted(), "\(floors)")
    #expect(try device.store.information().zones[0].floor ?? 0 > 15)
    #expect(try device.store.verify().isSound)
    device.store.close()
  }

  @Test("A device whose clock is ahead lets nothing go that came lately, nor what a writer has not seen")
  func clockAhead() async throws {
    let day: Int64 = 86_400_000
    let now = Shared<Int64>(1000 * day)
    let remote = MemoryRemote(identity: RemoteID(rawValue: 5), receivedMilliseconds: { UInt64(now.value) })
    let ahead = try Device(in: scratch.path, "ahead", seed: 1, clock: { now.value + 30_000 * day })
    let other = try Device(in: scratch.path, "other", seed: 2, clock: { now.value })
    try await other.set("title", of: "r0", to: "one")
    for _ in 0..<2 {
      _ = try await other.sync(remote)
      _ = try await ahead.sync(remote)
      try await ahead.set("title", of: "r0", to: "two")
    }
    #expect(try ahead.store.compactionPlan(of: zone).limit == .age)
    #expect(try await ahead.store.compact(zone).next == nil)
    // Others write months later. What the first device has not seen stays while that counts as there.
    now.value += 40 * day
    try await ahead.set("title", of: "r1", to: "three")
    _ = try await ahead.sync(remote)
    let plan = try ahead.store.compactionPlan(of: zone)
    #expect(plan.limit == .writers([other.store.identity.replica]), "\(plan)")
    now.value += 60 * day
    try await ahead.set("title", of: "r1", to: "four")
    _ = try await ahead.sync(remote)
    #expect(try await ahead.store.compact(zone).next != nil)
    close([ahead, other])
  }
}
