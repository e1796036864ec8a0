import Foundation
import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

@Suite("Zones whose records are compacted")
struct CompactedZones {
  private let scratch = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
  /// Lets all that was read be compacted, whoever holds it up.
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
          try tx.withRecord(record.id) { try "\($0.system.modified.timestamp) \($0.system.modified.replica)" } ?? ""
        return "\(record.id.name) \(record.type) \(modified) \(fields)"
      }
    }
  }

  private func names(_ device: Device) throws -> [String] {
    try device.store.read { try $0.records(in: zone).map { "\($0.id.name)" } }
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
      case 10: if text > 2 { try tx.removeText(place % (text - 1)..<place % (text - 1) + 1, from: "body", of: id) }
      case 11: try tx.insertElements([.int(Int64(number))], at: place % (items + 1), in: "items", of: id)
      case 12: if items > 1 { try tx.moveElement(from: place % items, to: number % items, in: "items", of: id) }
      default: if items > 1 { try tx.removeElements(place % items..<place % items + 1, from: "items", of: id) }
      }
    }
  }

  @Test("Stores that compact at random places agree, byte for byte", arguments: ProcessInfo.processInfo.environment["SEEDS"].map { $0.split(separator: ",").map { UInt64($0)! } } ?? Array(1...(WideTests.areWanted ? 400 : 8)))
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
    let dumps = try devices.map { try $0.store.read { try $0.dump(of: zone) } }
    for (index, dump) in dumps.enumerated() where dump != dumps[0] {
      print("DIFF \(seed) device \(index)")
      if ProcessInfo.processInfo.environment["SEEDS"] != nil {
        print("FIRST"); for line in dumps[0] { print("0 \(line)") }
        print("OTHER"); for line in dump { print("x \(line)") }
        for device in [devices[0], devices[index]] {
          print("LOG")
          try device.store.read { tx in
            let number = try tx.readView.zones.number(of: zone)
            let last = try tx.lastPosition()
            for position in 1...last.rawValue {
              guard let entry = try? LogReader(tx.readView).entry(at: Position(rawValue: position)) else { continue }
              let t = entry.transaction
              let replica = try tx.readView.replicas.number(of: t.replica)!
              let inc = try tx.readView.zoneRowIfThere(number)!.token!.incarnation
              let place = try tx.readView.placements.placement(of: replica, t.epoch, t.sequence, in: number, inc)
              print("L \(position) \(t.id) base \(t.base?.offset ?? 0) place \(place?.offset ?? 0) \(t.operations)")
            }
          }
        }
      }
      for line in dump where !dumps[0].contains(line) { print("+ \(line)") }
      for line in dumps[0] where !dump.contains(line) { print("- \(line)") }
    }
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
    let made = try a.store.makeSnapshot(of: zone)
    #expect(made.floor == 21 && made.records == 1)
    close([a, b])
  }

  @Test("What a store wrote without having seen the floor is not lost, and a dropped record waits to be created")
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
}

extension ReadTransaction {
  /// All that a zone's rows have, to be compared between stores.
  fileprivate func dump(of zone: ZoneID) throws -> [String] {
    var lines: [String] = []
    let view = readView
    func text(_ head: Head) throws -> String {
      "\(head.timestamp) \(try view.replicas.identity(of: head.id.replica)).\(head.id.epoch).\(head.id.sequence).\(head.id.index)"
    }
    try view.forEachRow(in: zone) { name, row, state in
      lines.append("\(name) uncreated \(row.isUncreated)")
      try row.withUnpacked { row in
        let index = try CellIndex(row)
        for entry in index.entries {
          try index.withRow(of: entry, in: row) { row in
            let reader = CellReader(entry.cell, in: StoredRow(row), state, view)
            let field = entry.cell == .existence ? "-" : "\(try view.names.identity(of: entry.cell.field))"
            switch entry.cell.layout {
            case .heads?:
              for owned in try reader.heads() { lines.append("  \(field) \(try text(owned.head)) \(owned.payload)") }
            case .elements?:
              try reader.forEachElement { element in
                for owned in element.heads {
                  lines.append("  \(field) \(element.identity) \(try text(owned.head)) \(owned.payload)")
                }
              }
            default:
              let order = try reader.unitOrder()
              lines.append("  \(field) \(order.root)")
              try order.tree.forEachLeaf { _, leaf in
                for piece in leaf.pieces {
                  let id = try view.replicas.identity(of: piece.first.replica)
                  lines.append(
                    "    \(id).\(piece.first.number)+\(piece.count) \(piece.isVisible) left \(piece.left.map { $0.number }.map { "\($0)" } ?? "-") right \(piece.right.map { "\($0.number)" } ?? "-") \(piece.level) \(String(decoding: leaf.bytes[piece.text], as: UTF8.self))"
                  )
                }
              }
            }
          }
        }
      }
      return true
    }
    return lines
  }
}
