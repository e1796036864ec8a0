import EventStore
import StoreTesting
import Testing

@testable import Replicator

@Suite("Assets that the remote does not have are asked for less and less")
struct AssetsAskedForAgain {
  /// A replicator that runs, whose timers fire when the test says.
  private struct Driven {
    let device: Device
    let remote: any RemoteLog
    var machine: ReplicatorMachine
    /// The last wait of each timer.
    var waits: [ReplicatorTimer: ClosedRange<Int64>] = [:]
    var reports: [SyncReport] = []

    init(_ device: Device, _ remote: any RemoteLog, _ change: (inout SyncPolicy) -> Void = { _ in }) {
      self.device = device
      self.remote = remote
      var policy = SyncPolicy()
      change(&policy)
      machine = ReplicatorMachine(policy: policy, selection: .all)
    }

    /// Gives the machine an event, and does what it says until it comes to rest.
    mutating func step(_ event: ReplicatorEvent) async {
      let runner = EffectRunner(
        store: device.store, remote: remote, selection: .all, pageBytesMax: 1 << 20,
        makeRandom: device.makeRandom)
      var effects = machine.step(event)
      while !effects.isEmpty {
        switch effects.removeFirst() {
        case .round(let effect): effects += machine.step(.completed(await runner.perform(effect)))
        case .setTimer(let timer, let range): waits[timer] = range
        case .report(let report): reports.append(report)
        }
      }
    }

    /// Whether the timer of assets was set since this was last asked, and to what at most.
    mutating func takeAssetWait() -> Int64? { waits.removeValue(forKey: .assets)?.upperBound }
  }

  /// A device that shipped a number of segments without their assets, and an eager one.
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

  @Test("rounds ask no more until the time comes, which is later each time")
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
    // A round that the app asks for asks.
    await driven.step(.syncRequested(.all))
    #expect(remote.calls == 55)
    // So does an explicit download.
    await #expect(throws: AssetProblem.self) {
      try await reader.replicator(remote).downloadAsset(assets[0], in: zone)
    }
    #expect(remote.calls == 56)
  }

  @Test("what a new segment names is asked for at once, and that alone")
  func namedAnew() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (writer, reader, assets) = try await makeDevices(directory, remote, missing: 5)
    var driven = Driven(reader, remote)
    await driven.step(.started)
    remote.fail(after: .max)
    // One that is there.
    let fresh = try await ship(writer, 7, remote, isMissing: false)
    var calls = remote.calls
    await driven.step(.remoteChanged)
    await driven.step(.timerFired(.push))
    // Its state and its chunk.
    #expect(remote.calls == calls + 2)
    #expect(try reader.store.hasAsset(fresh))
    // One that is not: asked for once.
    _ = try await ship(writer, 8, remote, isMissing: true)
    calls = remote.calls
    for _ in 0..<3 { await driven.step(.timerFired(.next)) }
    #expect(remote.calls == calls + 1)
    // One of the old, which the writer has again and names anew.
    let again = try await writer.setAsset(assetBytes(1000, seed: 3), of: "again")
    #expect(again == assets[3])
    try await writer.sync(remote)
    calls = remote.calls
    await driven.step(.timerFired(.next))
    #expect(remote.calls == calls + 2)
    #expect(try reader.store.hasAsset(again))
    #expect(driven.reports.allSatisfy { $0.isInSync })
    // What is left comes in its time, once it is there.
    for number in [0, 1, 2, 4, 8] {
      _ = try await writer.store.importAsset(bytes: assetBytes(1000, seed: UInt8(number)))
    }
    try await writer.sync(remote)
    calls = remote.calls
    await driven.step(.timerFired(.next))
    #expect(remote.calls == calls)
    await driven.step(.timerFired(.assets))
    // A zone's chunks in one round are bounded: what is left comes with the next.
    await driven.step(.timerFired(.push))
    let missing = try reader.store.information().assets.missing
    #expect(missing == 0)
    // Then the wait begins anew.
    _ = driven.takeAssetWait()
    _ = try await ship(writer, 9, remote, isMissing: true)
    await driven.step(.timerFired(.next))
    #expect(driven.takeAssetWait() == 30_000)
  }

  @Test("a timer that fires in the middle of a round makes the next one ask")
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

  @Test("many that are missing and many that come: a search in parts asks for each once")
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
    // The state of each, and twelve chunks; where a round ended, the one that came next is looked for again.
    #expect(remote.calls == 22 + 12)
    let missing = try reader.store.information().assets.missing
    #expect(missing == 10)
  }

  @Test("a lazy zone forgets how far it was, and eager again asks for all")
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
