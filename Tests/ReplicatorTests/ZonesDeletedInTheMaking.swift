import EventStore
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

@Suite("Zones that are deleted while the remote creates them")
struct ZonesDeletedInTheMaking {
  let scratch = TemporaryDirectory()
  let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func expectGone(_ maker: Device, _ other: Device) async throws {
    for _ in 0..<3 {
      _ = try await maker.sync(remote)
      _ = try await other.sync(remote)
    }
    for device in [maker, other] {
      #expect(try device.store.read { try $0.zones() } == [])
      #expect(try device.store.syncState().zones == [])
      let isSound = try device.store.verify().isSound
      #expect(isSound)
    }
    maker.store.close()
    other.store.close()
  }

  @Test("the deletion reaches the remote, whether the call or its answer was lost, or neither")
  func lostAnswers() async throws {
    for (index, fault) in [\FaultyRemote.Rates.requestLost, \.answerLost, \.duplicated].enumerated() {
      let (maker, other) = (
        try Device(in: scratch.path, "maker \(index)", seed: 1),
        try Device(in: scratch.path, "other \(index)", seed: 2)
      )
      let faulty = FaultyRemote(remote, seed: 3, rates: .init())
      // The list of zones is read before the network fails.
      _ = try await maker.sync(faulty)
      try await maker.set("title", of: "record", to: 1)
      let runner = EffectRunner(
        store: maker.store, remote: faulty, selection: .all, pageBytesMax: 1 << 20,
        makeRandom: maker.makeRandom)
      var rates = FaultyRemote.Rates()
      rates[keyPath: fault] = 100
      faulty.rates = rates
      let made = await runner.perform(.zone(zone, .create))
      faulty.rates = .init()
      try await maker.store.write { try $0.deleteZone(zone) }
      if case .zone(_, .created(let incarnation)) = made {
        // The answer arrives late: the zone was deleted here since.
        guard
          case .zone(_, .deletedMeanwhile(incarnation)) = await runner.perform(
            .zone(zone, .adopt(incarnation)))
        else {
          Issue.record("not told that it was deleted")
          return
        }
      }
      // The other device may read the list before the deletion is sent.
      _ = try await other.sync(remote)
      try await expectGone(maker, other)
    }
  }

  @Test("a page of events that was read meanwhile does not restore it")
  func latePage() async throws {
    let (maker, other) = (
      try Device(in: scratch.path, "maker", seed: 1), try Device(in: scratch.path, "other", seed: 2)
    )
    try await maker.set("title", of: "record", to: 1)
    let runner = EffectRunner(
      store: maker.store, remote: remote, selection: .all, pageBytesMax: 1 << 20, makeRandom: maker.makeRandom
    )
    _ = await runner.perform(.zone(zone, .create))
    try await maker.store.write { try $0.deleteZone(zone) }
    guard case .zoneEvents(let page) = await runner.perform(.fetchZoneEvents(after: nil)) else {
      Issue.record("no page")
      return
    }
    #expect(page.events.map(\.kind) == [.created])
    _ = await runner.perform(.applyZoneEvents(page))
    #expect(try maker.store.read { try $0.zones() } == [])
    #expect(try maker.store.syncState().zones.map(\.attachment) == [.deleting])
    // Also after a crash: the proposal is in the store.
    try maker.reopen()
    try await expectGone(maker, other)
  }

  @Test("a zone that is created again with the name is another one, and stays")
  func madeAgain() async throws {
    let maker = try Device(in: scratch.path, "maker", seed: 1)
    try await maker.set("title", of: "record", to: 1)
    let runner = EffectRunner(
      store: maker.store, remote: remote, selection: .all, pageBytesMax: 1 << 20, makeRandom: maker.makeRandom
    )
    _ = await runner.perform(.zone(zone, .create))
    try await maker.store.write { try $0.deleteZone(zone) }
    try await maker.set("title", of: "later", to: 2)
    for _ in 0..<3 { _ = try await maker.sync(remote) }
    let other = try Device(in: scratch.path, "other", seed: 2)
    _ = try await other.sync(remote)
    #expect(try other.recordNames() == ["notes:later"])
    maker.store.close()
    other.store.close()
  }

  @Test("each attempt of a creation proposes the same, and makes no commit")
  func sameProposal() async throws {
    let maker = try Device(in: scratch.path, "maker", seed: 1)
    try await maker.set("title", of: "record", to: 1)
    let first = try await maker.store.proposeIncarnation(IncarnationID(rawValue: 5), of: zone)
    let commit = try maker.store.lastCommitID
    let second = try await maker.store.proposeIncarnation(IncarnationID(rawValue: 6), of: zone)
    #expect(first == IncarnationID(rawValue: 5) && second == first)
    #expect(try maker.store.lastCommitID == commit)
    #expect(try maker.store.verify().isSound)
    _ = try await maker.sync(remote)
    #expect(try maker.store.syncState().zones.first?.token?.incarnation == first)
    maker.store.close()
  }
}
