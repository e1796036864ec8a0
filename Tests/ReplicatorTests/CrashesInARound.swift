import StoreTesting
import Testing

@testable import Replicator

@Suite("A round that is interrupted between any two effects")
struct CrashesInARound {
  /// What happens at the effect where a round is interrupted.
  enum Cut: CaseIterable {
    /// It is not performed: the process has ended.
    case before
    /// It is performed, and nobody gets the result.
    case after
    /// It fails, and the round continues as it can.
    case failing
    /// It is performed, but its answer is lost: for the round it is a failure.
    case answerLost
  }

  /// Performs a round of a device, interrupted at an effect.
  ///
  /// - Returns: how many effects it had.
  func round(_ device: Device, _ remote: any RemoteLog, cutAt: Int, _ cut: Cut) async -> Int {
    var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1)
    let runner = EffectRunner(
      store: device.store, remote: remote, selection: .all, pageBytesMax: 1 << 20,
      makeRandom: device.makeRandom)
    var effects = round.start()
    var count = 0
    while !effects.isEmpty {
      let effect = effects.removeFirst()
      guard count == cutAt else {
        effects += round.step(await runner.perform(effect))
        count += 1
        continue
      }
      count += 1
      if cut == .before { return count }
      if cut != .failing { _ = await runner.perform(effect) }
      if cut == .after { return count }
      var result = RoundResult.failed(failure(.unreachable))
      if case .zone(let zone, _) = effect { result = .zone(zone, .failed(failure(.unreachable))) }
      effects += round.step(result)
    }
    return count
  }

  @Test("Nothing is lost and nothing is done twice", arguments: Cut.allCases)
  func cut(_ cut: Cut) async throws {
    // Each effect is cut in some way, and in a wide run in all.
    let step = WideTests.choose(1, otherwise: 3)
    var effect = Cut.allCases.firstIndex(of: cut)! % step
    while true {
      let scratch = TemporaryDirectory()
      let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
      let devices = try await makeContest(in: scratch.path, remote)
      let before = try devices[0].store.syncState()
      let count = await round(devices[0], remote, cutAt: effect, cut)
      guard effect < count else { break }
      // Everything acknowledged is still in its own log.
      let now = try devices[0].store.syncState()
      #expect(now.zones.count >= before.zones.count - 1)
      try devices[0].reopen()
      try await settle(devices, remote)
      try await expectAgreement(devices, remote)
      #expect(try devices[0].digests().keys.sorted() == ["lists", "new", "notes"])
      for device in devices { device.store.close() }
      effect += step
    }
    // The world's round has effects of every kind.
    #expect(effect > 20)
  }

  @Test(
    "A round that is interrupted twice, at any two effects", .serialized,
    arguments: WideTests.choose(0..<40, otherwise: 0..<10))
  func twice(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try await makeContest(in: scratch.path, remote)
    for _ in 0..<4 {
      let device = devices[random.next(below: 2)]
      let cut = Cut.allCases[random.next(below: 4)]
      _ = await round(device, remote, cutAt: random.next(below: 25), cut)
      try device.reopen()
      try await device.set("title", of: "first", to: .int(Int64(random.next(below: 100))))
    }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices { device.store.close() }
  }
}
