import Testing

@testable import Replicator
@testable import StoreTesting

@Suite("A round that is cancelled at any point")
struct CancelledRounds {
  /// Performs a round of a device and cancels it at its n-th event: before a call of the remote, after it, or
  /// after a commit of the store.
  ///
  /// - Returns: whether there were that many events.
  private func cancel(_ device: Device, _ remote: any RemoteLog, at number: Int) async -> Bool {
    let trap = Trap(atCall: number)
    let observation = device.store.onCommit { trap.count() }
    defer { observation.cancel() }
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = device.makeRandom
    // One zone after the other, so that a number always means the same event.
    configuration.policy.zonesAtOnceMax = 1
    let replicator = LogReplicator(
      store: device.store,
      remote: TellingRemote(remote: remote, tell: { trap.count() }, tellAfter: { trap.count() }),
      configuration: configuration)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let round = Task {
      for await _ in gate {}
      return try await replicator.syncOnce()
    }
    trap.arm { round.cancel() }
    open.finish()
    do {
      let report = try await round.value
      #expect(!trap.isReached && report.isInSync, "cancelled at \(number)")
    } catch {
      #expect(trap.isReached && error is CancellationError, "cancelled at \(number): \(error)")
    }
    return trap.isReached
  }

  @Test("at each call of the remote, before and after it, and after each commit: the next round continues")
  func everywhere() async throws {
    let step = WideTests.choose(1, otherwise: 3)
    var number = 0
    var isReached = true
    while isReached {
      number += step
      let scratch = TemporaryDirectory()
      let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
      let devices = try await makeContest(in: scratch.path, remote)
      isReached = await cancel(devices[0], remote, at: number)
      let report = try devices[0].store.verify()
      #expect(report.isSound, "cancelled at \(number): \(report)")
      try await settle(devices, remote)
      try await expectAgreement(devices, remote)
      let zones = try devices[0].digests().keys.sorted()
      #expect(zones == ["lists", "new", "notes"], "cancelled at \(number)")
      for device in devices { device.store.close() }
    }
    print("cancelled rounds: \(number / step - 1) places")
    // At least one call of each kind, for each zone.
    #expect(number > 30)
  }
}
