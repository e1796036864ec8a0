import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

/// Two worlds do the same at random. In one of them history goes at random steps: stores retire theirs, the remote's log is
/// trimmed, records are compacted. After each step every store shows the same in both.
@Suite("Worlds with and without their history")
struct HistoryThatIsRemoved {
  private struct World {
    var scratch: TemporaryDirectory
    var place: RemotePlace
    var devices: [Device]
    var removes: Bool
    /// The place in the log that each device's first unsent transaction has seen; nil if nothing is unsent.
    var bases: [UInt64?]

    func offset(_ index: Int) throws -> UInt64 {
      try devices[index].store.syncState().zones.first?.token?.offset ?? 0
    }

    /// The last place that every transaction to come has seen.
    func seenByAll() throws -> UInt64 {
      try devices.indices.map { try bases[$0] ?? offset($0) }.min() ?? 0
    }

    mutating func write(
      _ index: Int, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
    ) async throws {
      if bases[index] == nil { bases[index] = try offset(index) }
      try await devices[index].store.write(body)
    }

    mutating func sync(_ index: Int) async throws {
      let report = try await devices[index].replicator(place.remote) { [removes] in
        $0.policy.snapshotBytesMin = removes ? 1 : 1 << 40
      }.syncOnce()
      #expect(report.isInSync, "\(report)")
      bases[index] = nil
    }

    func trim() async throws -> Bool {
      let remote = try #require(place.remote as? any LogOfObjects)
      let objects = try await place.objects.list()
      let audit = try await RemoteAudit(of: remote, objects: objects)
      let trim = RemoteTrim(remote)
      let policy = LogFloorChoice(now: 1 << 47, olderThanMilliseconds: 0)
      guard let plan = trim.plan(audit, objects, policy).first, plan.objects > 0 else { return false }
      try await trim.run(plan)
      return true
    }

    /// All that a user sees of the records of a device.
    func shown(_ index: Int) throws -> [String] {
      try devices[index].store.read { tx in
        try tx.records(in: zone).filter { $0.id.name != "pad" }.map { record in
          let fields = record.fields.map { "\($0.key)=\($0.value)" }.sorted()
          let modified =
            try tx.withRecord(record.id) {
              try "\($0.system.modified.timestamp) \($0.system.modified.replica)"
            } ?? ""
          return "\(record.id.name) \(record.type) \(modified) \(fields)"
        }
      }
    }

    func close() { for device in devices { device.store.close() } }
  }

  private func world(removes: Bool) async throws -> World {
    let scratch = TemporaryDirectory()
    let parent = scratch.path
    let place = try await RemotePlace(.memory, in: parent)
    let devices = try (1...3).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    var world = World(
      scratch: scratch, place: place, devices: devices, removes: removes, bases: [nil, nil, nil])
    for index in devices.indices {
      try await world.write(index) { tx in
        try tx.createZone(zone)
        try tx.attachZone(zone)
        if index == 0 { try tx.create(RecordID(zone: zone, name: "pad"), type: "pad") }
      }
      try await world.sync(index)
    }
    return world
  }

  /// One of the app's writes.
  private struct Write {
    var record: RecordID
    var what: Int
    var number: Int
    var place: Int

    init(_ random: inout SeededRandom) {
      record = RecordID(zone: zone, name: Name("r\(random.next(below: 4))"))
      (what, number, place) = (random.next(below: 11), random.next(below: 100), random.next(below: 1000))
    }

    func run(_ tx: inout WriteTransaction) throws {
      guard try tx.contains(record) else {
        try tx.create(record, type: "thing")
        try tx.insertText("begin", at: 0, in: "body", of: record)
        try tx.insertElements([.int(1), .int(2)], at: 0, in: "items", of: record)
        return
      }
      let (text, items) = try (
        tx.count(of: "body", in: record, as: .text), tx.count(of: "items", in: record, as: .list)
      )
      let value = Value.int(Int64(number))
      switch what {
      case 0: try tx.delete(record)
      case 1, 2: try tx.set(Name("f\(number % 3)"), of: record, to: value)
      case 3: try tx.add(value, to: "count", of: record)
      case 4: try tx.insert(.int(Int64(number % 4)), into: "tags", of: record)
      case 5: try tx.remove(.int(Int64(number % 4)), from: "tags", of: record)
      case 6: try tx.put(value, at: Name("k\(number % 3)"), in: "map", of: record)
      case 7: try tx.insertText("<\(number)>", at: place % (text + 1), in: "body", of: record)
      case 8:
        if text > 2 {
          try tx.removeText(place % (text - 1)..<place % (text - 1) + 1, from: "body", of: record)
        }
      case 9: try tx.insertElements([value], at: place % (items + 1), in: "items", of: record)
      default:
        if items > 1 { try tx.moveElement(from: place % items, to: number % items, in: "items", of: record) }
      }
    }
  }

  /// How often each kind of history went.
  private struct Removed {
    var retired = 0
    var trimmed = 0
    var floors = 0
  }

  /// What removes history in one of two worlds.
  private func remove(
    _ random: inout SeededRandom, _ index: Int, _ worlds: inout [World], _ removed: inout Removed
  ) async throws {
    switch random.next(below: 3) {
    case 0:
      // What waits to be sent is never retired.
      guard worlds[0].bases[index] == nil else { return }
      try await worlds[0].devices[index].store.retireHistory(of: zone)
      _ = try await worlds[0].devices[index].store.reclaim()
      removed.retired += 1
    case 1: if try await worlds[0].trim() { removed.trimmed += 1 }
    default:
      let floor = try worlds[0].seenByAll()
      guard floor > 0 else { return }
      try await worlds[0].write(index) { try $0.nameFloor(floor, of: zone) }
      // One transaction in the other world too, so that times and places are the same.
      try await worlds[1].write(index) { try $0.set("pad", of: RecordID(zone: zone, name: "pad"), to: 1) }
      removed.floors += 1
    }
  }

  @Test(
    "show the same after each step, whatever history went, when and where",
    arguments: WideTests.choose(1...60, otherwise: 1...1))
  func sameAtEachStep(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    var worlds = [try await world(removes: true), try await world(removes: false)]
    var removed = Removed()
    for step in 0..<150 {
      let index = random.next(below: 3)
      switch random.next(below: 10) {
      case 0..<5:
        let write = Write(&random)
        for world in worlds.indices { try await worlds[world].write(index) { try write.run(&$0) } }
      case 5..<8: for world in worlds.indices { try await worlds[world].sync(index) }
      default: try await remove(&random, index, &worlds, &removed)
      }
      for device in 0..<3 {
        let (found, expected) = try (worlds[0].shown(device), worlds[1].shown(device))
        try #require(found == expected, "seed \(seed), step \(step), device \(device)")
        try #require(try worlds[0].offset(device) == worlds[1].offset(device))
      }
    }
    #expect(removed.retired > 0 && removed.trimmed > 0 && removed.floors > 0, "\(removed)")
    try await settle(worlds[0].devices, worlds[0].place.remote)
    let digests = try worlds[0].devices.map { try $0.digests() }
    #expect(Set(digests).count == 1)
    for device in worlds[0].devices { #expect(try device.store.verify().isSound) }
    for world in worlds { world.close() }
  }
}
