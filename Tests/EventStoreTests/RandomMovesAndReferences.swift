import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Random moves of records that refer to others")
struct RandomMovesAndReferences {
  let directory = TemporaryDirectory()
  private static let (trip, archive) = (ZoneID(name: "trip"), ZoneID(name: "archive"))

  /// One store's records by a model that follows every reference and every move each time.
  private struct Model {
    var alive: Set<RecordID> = []
    var went: [RecordID: ZoneID] = [:]
    /// A copy has those of its source, which work again if it returns.
    var cascades: [RecordID: Set<RecordID>] = [:]

    func isThere(_ record: RecordID) -> Bool {
      var (met, rest): (Set<RecordID>, [RecordID]) = ([], [record])
      while let next = rest.popLast() {
        guard met.insert(next).inserted else { continue }
        if alive.contains(next) {
          rest += cascades[next, default: []].filter { $0.zone == next.zone }
        } else if let zone = went[next] {
          rest.append(RecordID(zone: zone, name: next.name))
        } else {
          return false
        }
      }
      return true
    }
  }

  @Test("random moves, deletions and cascades in three zones", arguments: 1...4)
  func random(seed: UInt64) async throws {
    let store = try await directory.noteStore()
    let zones = [noteZone, Self.trip, Self.archive]
    for zone in zones.dropFirst() { try await store.makeZone(zone) }
    var generator = SeededGenerator(seed: seed)
    var model = Model()
    let names: [Name] = ["a", "b", "c", "d"]
    let all = zones.flatMap { zone in names.map { RecordID(zone: zone, name: $0) } }
    for round in 0..<250 {
      let (record, zone) = (all[generator.below(all.count)], zones[generator.below(3)])
      let (name, chance) = (names[generator.below(4)], generator.below(10))
      let copy = RecordID(zone: zone, name: record.name)
      if !model.alive.contains(record) {
        try await store.write { try $0.create(record, type: "note") }
        model.alive.insert(record)
        (model.went[record], model.cascades[record]) = (nil, nil)
      } else if chance < 4, model.isThere(record), zone != record.zone, !model.alive.contains(copy) {
        try await store.write { _ = try $0.move(record, to: zone) }
        model.alive.remove(record)
        model.alive.insert(copy)
        (model.went[record], model.went[copy], model.cascades[copy]) = (zone, nil, model.cascades[record])
      } else if chance < 6 {
        try await store.write { try $0.delete(record) }
        model.alive.remove(record)
        model.went[record] = nil
      } else {
        let reference = Value.reference(Reference(record: name, rule: .cascade))
        try await store.write { try $0.insert(reference, into: "set", of: record) }
        model.cascades[record, default: []].insert(RecordID(zone: record.zone, name: name))
      }
      let expected = all.filter { model.alive.contains($0) && model.isThere($0) }
      try store.read { tx in
        let found = try zones.flatMap { zone in try tx.records(in: zone).map(\.id) }
        #expect(Set(found) == Set(expected), "seed \(seed), round \(round)")
        let lost = all.filter { !model.alive.contains($0) && model.went[$0] != nil }
        let listed = try zones.flatMap { zone in try tx.forwardings(in: zone) }
        #expect(listed.map(\.from) == lost, "seed \(seed), round \(round)")
        for one in listed { #expect((try tx.current(one.from) != nil) == model.isThere(one.from)) }
      }
    }
    try await checkSound(store)
  }
}
