import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

@Suite("Assets that the remote lacks are requested less and less often")
struct AssetsAskedForAgain {
  /// A running replicator whose timers the test fires.
  private struct Driven {
    let device: Device
    let remote: any RemoteLog
    var machine: ReplicatorMachine
    /// The last delay of each timer.
    var waits: [ReplicatorTimer: ClosedRange<Int64>] = [:]
    var reports: [SyncReport] = []

    init(_ device: Device, _ remote: any RemoteLog, _ change: (inout SyncPolicy) -> Void = { _ in }) {
      self.device = device
      self.remote = remote
      var policy = SyncPolicy()
      change(&policy)
      machine = ReplicatorMachine(policy: policy, selection: .all)
    }

    /// Gives an event to the machine, and performs its effects until it rests.
    mutating func step(_ event: ReplicatorEvent) async {
      let runner = EffectRunner(
        store: device.store, remote: remote, selection: .all, pageBytesMax: 1 << 20,
        makeRandom: device.makeRandom)
      var effects = machine.step(event)
      while !effects.isEmpty {
        switch effects.removeFirst() {
        case .round(let effect): effects += machine.step(.completed(await runner.perform(effect)))
        case .setTimer(let timer, let range): waits[timer] = range
        case .announce: await runner.announce()
        case .report(let report): reports.append(report)
        }
      }
    }

    /// The greatest delay of the timer of assets since the last call; nil if it was not set.
    mutating func takeAssetWait() -> Int64? { waits.removeValue(forKey: .assets)?.upperBound }
  }

  /// A device that sent a number of segments without their assets, and an eager device.
  private func makeDevices(
    _ directory: TemporaryDirectory, _ remote: any RemoteLog, missing count: Int
  ) async throws -> (writer: Device, reader: Device, assets: [AssetReference]) {
    let writer = try Device(in: directory.path, "writer", seed: 1)
    let reader = try Device(in: directory.path, "reader", seed: 2)
    var assets: [AssetReference] = []
    for number in 0..<count {
      assets.append(try await ship(writer, number, remote, isMissing: true))
    }
    try await reader.sync(remote)
    try await reader.store.setAssetPolicy(.eager, of: zone)
    return (writer, reader, assets)
  }

  private func ship(
    _ device: Device, _ number: Int, _ remote: any RemoteLog, isMissing: Bool
  ) async throws -> AssetReference {
    let bytes = assetBytes(1000, seed: UInt8(number))
    let asset = try await device.setAsset(bytes, of: Name("n\(number)"))
    if isMissing { try device.overwrite(asset, with: nil) }
    try await device.sync(remote)
    return asset
  }

  @Test("rounds do not request them before a time, which is later each time")
  func later() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (_, reader, assets) = try await makeDevices(directory, remote, missing: 5)
    var driven = Driven(reader, remote)
    remote.fail(after: .max)
    await driven.step(.started)
    #expect(remote.calls == 5)
    #expect(driven.reports.last?.assetProblemCount == 5)
    var waits = [driven.takeAssetWait()]
    for time in 1...9 {
      for _ in 0..<4 { await driven.step(.timerFired(.next)) }
      #expect(remote.calls == 5 * time)
      #expect(driven.reports.last?.assetProblemCount == 0)
      #expect(driven.takeAssetWait() == nil)
      await driven.step(.timerFired(.assets))
      #expect(remote.calls == 5 * (time + 1))
      waits.append(driven.takeAssetWait())
    }
    let minute: Int64 = 60_000
    #expect(waits == [30_000, 1, 2, 4, 8, 16, 32, 60, 60, 60].map { $0 == 30_000 ? $0 : $0 * minute })
    // A round that the app requests does request them.
    await driven.step(.syncRequested(.all))
    #expect(remote.calls == 55)
    // So does an explicit download.
    await #expect(throws: AssetProblem.self) {
      try await reader.replicator(remote).downloadAsset(assets[0], in: zone)
    }
    #expect(remote.calls == 56)
  }

  @Test("only the assets of a new segment are requested immediately")
  func namedAgain() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (writer, reader, assets) = try await makeDevices(directory, remote, missing: 5)
    var driven = Driven(reader, remote)
    await driven.step(.started)
    remote.fail(after: .max)
    // An asset that exists.
    let fresh = try await ship(writer, 7, remote, isMissing: false)
    var calls = remote.calls
    await driven.step(.remoteChanged(.anything))
    await driven.step(.timerFired(.push))
    // Its state and its chunk.
    #expect(remote.calls == calls + 2)
    #expect(try reader.store.hasAsset(fresh))
    // An asset that is missing: requested once.
    _ = try await ship(writer, 8, remote, isMissing: true)
    calls = remote.calls
    for _ in 0..<3 { await driven.step(.timerFired(.next)) }
    #expect(remote.calls == calls + 1)
    // One of the old assets, which the writer has again and refers to again.
    let again = try await writer.setAsset(assetBytes(1000, seed: 3), of: "again")
    #expect(again == assets[3])
    try await writer.sync(remote)
    calls = remote.calls
    await driven.step(.timerFired(.next))
    #expect(remote.calls == calls + 2)
    #expect(try reader.store.hasAsset(again))
    #expect(driven.reports.allSatisfy { $0.isInSync })
    // The rest is requested at its time, when it exists.
    for number in [0, 1, 2, 4, 8] {
      _ = try await writer.store.importAsset(bytes: assetBytes(1000, seed: UInt8(number)))
    }
    try await writer.sync(remote)
    calls = remote.calls
    await driven.step(.timerFired(.next))
    #expect(remote.calls == calls)
    await driven.step(.timerFired(.assets))
    // The chunks of a zone in one round are limited: the rest comes with the next.
    await driven.step(.timerFired(.push))
    let missing = try reader.store.information().assets.missing
    #expect(missing == 0)
    // Then the delay starts again.
    _ = driven.takeAssetWait()
    _ = try await ship(writer, 9, remote, isMissing: true)
    await driven.step(.timerFired(.next))
    #expect(driven.takeAssetWait() == 30_000)
  }

  @Test("a timer that fires during a round makes the next round request them")
  func firesInARound() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (_, reader, _) = try await makeDevices(directory, remote, missing: 2)
    var driven = Driven(reader, remote)
    await driven.step(.started)
    remote.fail(after: .max)
    let begun = driven.machine.step(.timerFired(.next))
    #expect(begun.count == 1)
    #expect(driven.machine.step(.timerFired(.assets)).isEmpty)
    for effect in begun {
      guard case .round(let effect) = effect else { continue }
      let runner = EffectRunner(
        store: reader.store, remote: remote, selection: .all, pageBytesMax: 1 << 20,
        makeRandom: reader.makeRandom)
      await driven.step(.completed(await runner.perform(effect)))
    }
    #expect(remote.calls == 0)
    await driven.step(.timerFired(.push))
    #expect(remote.calls == 2)
  }

  @Test("many missing and many available ones: a search in parts requests each once")
  func inParts() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (writer, reader, _) = try await makeDevices(directory, remote, missing: 10)
    for number in 20..<32 { _ = try await ship(writer, number, remote, isMissing: false) }
    var driven = Driven(reader, remote) { $0.assetChunksInRoundMax = 2 }
    remote.fail(after: .max)
    await driven.step(.started)
    var rounds = 1
    while driven.reports.last?.zones.contains(where: { $0.status == .unfinished }) == true {
      await driven.step(.timerFired(.push))
      rounds += 1
      try #require(rounds < 100)
    }
    #expect(rounds >= 6)
    // The state of each, and twelve chunks; where a round ended, the next one is requested again.
    #expect(remote.calls == 22 + 12)
    let missing = try reader.store.information().assets.missing
    #expect(missing == 10)
  }

  @Test("a lazy zone forgets its position; when it is eager again, all are requested")
  func policyChanges() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (_, reader, _) = try await makeDevices(directory, remote, missing: 3)
    var driven = Driven(reader, remote)
    await driven.step(.started)
    remote.fail(after: .max)
    try await reader.store.setAssetPolicy(.lazy, of: zone)
    await driven.step(.timerFired(.next))
    #expect(remote.calls == 0)
    try await reader.store.setAssetPolicy(.eager, of: zone)
    await driven.step(.timerFired(.next))
    #expect(remote.calls == 3)
  }
}
