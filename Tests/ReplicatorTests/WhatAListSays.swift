import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("What follows from the events of a list of zones")
struct WhatAListSays {
  private static let zones = (0..<4).map { ZoneID(owner: $0 % 2 == 0 ? "" : "ann", name: Name("z\($0 / 2)")) }
  private static let incarnations = (1...6).map { IncarnationID(rawValue: $0) }
  private static let kinds: [ZoneEvent.Kind] = [
    .created, .created, .created, .created, .deleted, .purged, .reset, .revoked, .reopened, .reopened,
  ]

  private static func found(_ random: inout SeededRandom, at offset: Int) -> FoundZoneEvent {
    let hash = ContentHash(of: Array("\(offset)".utf8).span.bytes)
    switch Int.random(in: 0..<12, using: &random) {
    case 0: return .tombstone(Array("given up \(offset)".utf8))
    case 1: return .unreadable(RemoteError(.damaged, "bad", hint: "", offset: UInt64(offset)), hash: hash)
    default: return .event(event(&random), previous: .zero, hash: hash)
    }
  }

  private static func event(_ random: inout SeededRandom) -> ZoneEvent {
    ZoneEvent(
      kind: kinds.randomElement(using: &random)!, zone: zones.randomElement(using: &random)!,
      incarnation: incarnations.randomElement(using: &random)!)
  }

  private func expectSame(
    _ list: borrowing ZoneList, _ oracle: NaiveZoneList, _ seed: UInt64,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let state = oracle.state
    var same: [Bool] = []
    same.append(list.offset == UInt64(oracle.found.count))
    same.append(list.hasGaps == state.hasGaps)
    same.append(list.unreadable == oracle.unreadable)
    same.append(list.problems.keys.sorted() == oracle.unreadable)
    same.append(list.hash == oracle.found.last?.hash ?? .zero)
    same.append(list.isLastKnown == (oracle.found.last?.event != nil))
    for zone in Self.zones { same.append(list.openLog(of: zone) == state.open[zone]) }
    for incarnation in Self.incarnations {
      let (log, other) = (list.log(incarnation), state.logs[incarnation])
      same.append(log?.zone == other.map { ZoneLogs.ZoneKey($0.zone) })
      same.append(log?.fate == other?.fate)
    }
    for (index, counts) in state.counts.enumerated() {
      same.append(list.counts(at: UInt64(index) + 1) == counts)
    }
    for offset in oracle.unreadable {
      same.append(list.later(than: offset - 1) == oracle.events(after: offset - 1))
    }
    #expect(!same.contains(false), "seed \(seed)", sourceLocation: sourceLocation)
  }

  private func list(_ oracle: NaiveZoneList, collides: Bool) throws -> ZoneList {
    var list = ZoneList(
      of: RemoteID(rawValue: 9), logs: collides ? ZoneLogs(hash: { _ in 7 }) : ZoneLogs())
    for found in oracle.found { try list.add(found) }
    return list
  }

  @Test(
    "is the same as if all events were kept and applied again, also if all places in its tables collide",
    arguments: [false, true])
  func oracle(collides: Bool) throws {
    var (mended, reread) = (0, 0)
    let seeds = WideTests.choose(2000, otherwise: 400)
    for seed in 1...UInt64(seeds) {
      var random = SeededRandom(seed: seed)
      var oracle = NaiveZoneList()
      var list = try self.list(oracle, collides: collides)
      for offset in 1...Int.random(in: 1...24, using: &random) {
        oracle.found.append(Self.found(&random, at: offset))
        try list.add(oracle.found[offset - 1])
      }
      expectSame(list, oracle, seed)
      // What could not be read is found, given up, or stays as it is.
      for offset in oracle.unreadable.shuffled(using: &random) {
        var found = Self.found(&random, at: Int(offset))
        if Bool.random(using: &random) {
          let event = ZoneEvent(
            kind: .created, zone: ZoneID(name: Name("new \(offset)")),
            incarnation: IncarnationID(rawValue: UInt128(offset) << 64))
          found = .event(event, previous: .zero, hash: found.hash)
        }
        if list.mend(at: offset, found) {
          if case .unreadable = found { continue }
          mended += 1
        } else {
          reread += 1
        }
        oracle.found[Int(offset) - 1] = found
        if list.unreadable.contains(offset) { list = try self.list(oracle, collides: collides) }
        expectSame(list, oracle, seed)
      }
    }
    #expect(mended > seeds / 10 && reread > seeds / 10, "\(mended) \(reread)")
  }

  @Test("A table of rows is the same as a dictionary, also if all places collide", arguments: [false, true])
  func table(collides: Bool) {
    var random = SeededRandom(seed: 1)
    for count in [0, 1, 2, 11, 12, 13, 24, 25, collides ? 300 : 20_000] {
      var table = collides ? RowTable(hash: { _ in -1 }) : RowTable()
      var keys: [UInt128] = []
      var model: [UInt128: Int] = [:]
      for row in 0..<count {
        // Some keys have several rows: the last one counts.
        let key = UInt128(UInt64.random(in: 0..<UInt64(max(1, count)), using: &random)) << 70
        keys.append(key)
        model[key] = row
        table.set(key, to: row, in: keys)
      }
      #expect(table.count == model.count)
      #expect(keys.allSatisfy { table.row(of: $0, in: keys) == model[$0] })
      #expect((0..<100).allSatisfy { table.row(of: UInt128($0) << 70 | 1, in: keys) == nil })
    }
  }

  @Test("A list with more events than are read is an error, and keeps what was read")
  func tooMany() throws {
    var list = ZoneList(of: RemoteID(rawValue: 9), eventsMax: 2)
    func event(_ number: UInt128) -> FoundZoneEvent {
      let event = ZoneEvent(
        kind: .created, zone: ZoneID(name: Name("\(number)")), incarnation: IncarnationID(rawValue: number))
      return .event(event, previous: .zero, hash: .zero)
    }
    for number in 1...2 as ClosedRange<UInt128> { try list.add(event(number)) }
    do {
      try list.add(event(3))
      Issue.record("a third event was added")
    } catch {
      #expect(error.code == .damaged)
    }
    let (offset, log) = (list.offset, list.log(IncarnationID(rawValue: 3)))
    #expect(offset == 2 && log == nil)
  }
}
