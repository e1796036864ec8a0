import ChildProcesses
import Synchronization
import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Assets that are sent after their segment")
struct AssetsSentLate {
  private let bytes = assetBytes(AssetManifest.chunkBytes + 5)

  /// A device whose segment was sent without its asset, and another device.
  private func shipped(
    in directory: TemporaryDirectory, _ remote: any RemoteLog, isDamaged: Bool = false
  ) async throws -> (devices: [Device], asset: AssetReference) {
    let devices = try (1...2).map { try Device(in: directory.path, "d\($0)", seed: $0) }
    let asset = try await devices[0].setAsset(bytes, of: "first")
    try devices[0].overwrite(asset, with: isDamaged ? bytes.reversed() : nil)
    let report = try await devices[0].sync(remote)
    #expect(report.isInSync)
    #expect(
      report.zones[0].assetProblems == [AssetProblem(asset, isDamaged ? .damagedHere : .missingHere)])
    return (devices, asset)
  }

  @Test(
    "the next round after a new import sends it; until then rounds request nothing",
    arguments: [false, true])
  func importedAgain(_ isDamaged: Bool) async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (devices, asset) = try await shipped(in: directory, remote, isDamaged: isDamaged)
    // The list of zones has one more zone since.
    try await devices[0].sync(remote)
    try devices[0].reopen()
    let commit = try devices[0].store.lastCommitID
    remote.fail(after: .max)
    for _ in 0..<3 {
      let idle = try await devices[0].sync(remote)
      #expect(idle.isInSync && !idle.hasMoved)
      #expect(idle.assetProblemCount == 0)
    }
    #expect(remote.calls == 0)
    #expect(try devices[0].store.lastCommitID == commit)
    _ = try await devices[0].store.importAsset(bytes: bytes)
    try devices[0].reopen()
    let report = try await devices[0].sync(remote)
    #expect(report.zones[0].sentAssets == 1)
    #expect(report.hasMoved && report.isInSync)
    #expect(try !devices[0].store.syncState().zones[0].hasUnsentAssets)
    let calls = remote.calls
    let after = try await devices[0].sync(remote)
    #expect(!after.hasMoved)
    #expect(remote.calls == calls)
    try await devices[1].sync(remote)
    try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
    try await expectAgreement(devices, remote)
  }

  @Test("if a store that had imported the log sent the segment, the store with the asset sends it")
  func shippedByImporter() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try (1...3).map { try Device(in: directory.path, "d\($0)", seed: $0) }
    let asset = try await devices[0].setAsset(bytes, of: "first")
    try await devices[1].importLog(of: devices[0])
    try await devices[1].sync(remote)
    let reports = [try await devices[0].sync(remote), try await devices[0].sync(remote)]
    #expect(reports.map { $0.zones[0].sentAssets }.reduce(0, +) == 1)
    #expect(try !devices[0].store.syncState().zones[0].hasUnsentAssets)
    try await devices[2].sync(remote)
    try await devices[2].replicator(remote).downloadAsset(asset, in: zone)
    #expect(try devices[2].content(asset) == bytes)
    for device in devices { device.store.close() }
  }

  @Test("one that another device sends is not owed any more after it was downloaded")
  func broughtByAnother() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (devices, asset) = try await shipped(in: directory, remote)
    _ = try await devices[1].setAsset(bytes, of: "second")
    try await settle(devices, remote)
    #expect(try devices[0].store.syncState().zones[0].hasUnsentAssets)
    try await devices[0].replicator(remote).downloadAsset(asset, in: zone)
    let report = try await devices[0].sync(remote)
    // It was already there.
    #expect(report.zones[0].sentAssets == 0)
    #expect(try !devices[0].store.syncState().zones[0].hasUnsentAssets)
    let content = try devices[0].content(asset)
    #expect(content == bytes)
  }

  @Test("one that arrives through another zone is sent to this zone's log")
  func downloadedFromElsewhere() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let (devices, asset) = try await shipped(in: directory, remote)
    let other = ZoneID(name: "other")
    _ = try await devices[1].setAsset(bytes, of: "there", in: other)
    try await settle(devices, remote)
    try await devices[0].store.setAssetPolicy(.eager, of: other)
    try await devices[0].sync(remote)
    let report = try await devices[0].sync(remote)
    #expect(report.zones.filter { $0.zone == zone }.map(\.sentAssets) == [1])
    let third = try Device(in: directory.path, "third", seed: 3)
    try await third.sync(remote)
    try await third.replicator(remote).downloadAsset(asset, in: zone)
    let content = try third.content(asset)
    #expect(content == bytes)
  }

  /// Disconnects the first device's round at each of its calls, until it completes. Then everything is
  /// settled, and the other device gets the asset.
  ///
  /// - Parameters:
  ///   - prepare: makes the devices and the asset that is sent late.
  ///   - resume: what happens after the disconnection at a step.
  /// - Returns: how many calls the round makes.
  private func cutOffAtEachCall(
    _ doesFirst: Bool, prepare: (TemporaryDirectory, StepRemote) async throws -> ([Device], AssetReference),
    resume: (_ devices: [Device], StepRemote, _ step: Int) async throws -> Void
  ) async throws -> Int {
    var step = 0
    while true {
      let directory = TemporaryDirectory()
      let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
      let (devices, asset) = try await prepare(directory, remote)
      remote.fail(after: step, doesFirst: doesFirst)
      do {
        try await devices[0].sync(remote)
      } catch is SyncFailure {
        // Disconnected.
      }
      let wasCut = remote.hasFailed
      try devices[0].reopen()
      remote.fail(after: .max)
      try await resume(devices, remote, step)
      try await settle(devices, remote)
      #expect(try !devices[0].store.syncState().zones[0].hasUnsentAssets)
      try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
      let content = try devices[1].content(asset)
      #expect(content == bytes)
      for device in devices { device.store.close() }
      if !wasCut { return step }
      step += 1
      try #require(step < 100)
    }
  }

  @Test(
    "disconnected at any call, before or after its effect, it arrives at the end", arguments: [false, true])
  func cutOff(_ doesFirst: Bool) async throws {
    let calls = try await cutOffAtEachCall(doesFirst) { directory, remote in
      let (devices, asset) = try await shipped(in: directory, remote)
      _ = try await devices[0].store.importAsset(bytes: bytes)
      return (devices, asset)
    } resume: { _, _, _ in
    }
    // State, two chunks, the end.
    #expect(calls == 4)
  }

  @Test(
    "disconnected at any call that sends the segment without its asset, it is still owed",
    arguments: [false, true])
  func cutOffAtFirst(_ doesFirst: Bool) async throws {
    let calls = try await cutOffAtEachCall(doesFirst) { directory, _ in
      let devices = try (1...2).map { try Device(in: directory.path, "d\($0)", seed: $0) }
      let asset = try await devices[0].setAsset(bytes, of: "first")
      try devices[0].overwrite(asset, with: nil)
      return (devices, asset)
    } resume: { devices, remote, step in
      // Imported immediately, or when the segment is there.
      if step.isMultiple(of: 2) { try await settle(devices, remote) }
      _ = try await devices[0].store.importAsset(bytes: bytes)
    }
    // State and append.
    #expect(calls == 2)
  }

  @Test("the next round finishes what one may not")
  func inParts() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let (devices, asset) = try await shipped(in: directory, remote)
    _ = try await devices[0].store.importAsset(bytes: bytes)
    var statuses: [ZoneStatus] = []
    for _ in 0..<3 {
      var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1, assetChunksMax: 1)
      let report = await devices[0].perform(&round, remote)
      statuses += report.zones.map(\.status)
    }
    #expect(statuses == [.unfinished, .inSync, .inSync])
    try await devices[1].sync(remote)
    try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
  }

  @Test("a file that is found damaged before sending is reported once, and waits for the next import")
  func damagedAgain() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let (devices, asset) = try await shipped(in: directory, remote)
    _ = try await devices[0].store.importAsset(bytes: bytes)
    try devices[0].overwrite(asset, with: bytes.reversed())
    let told = try await devices[0].sync(remote)
    #expect(told.zones[0].assetProblems == [AssetProblem(asset, .damagedHere)])
    remote.fail(after: .max)
    let silent = try await devices[0].sync(remote)
    #expect(silent.assetProblemCount == 0)
    #expect(remote.calls == 0)
    _ = try await devices[0].store.importAsset(bytes: bytes)
    let sent = try await devices[0].sync(remote)
    #expect(sent.zones[0].sentAssets == 1)
  }

  @Test("two replicators at one store both send it without harm")
  func twoReplicators() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let (devices, asset) = try await shipped(in: directory, remote)
    _ = try await devices[0].store.importAsset(bytes: bytes)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          let report = try await devices[0].sync(remote.reopened())
          #expect(report.isInSync)
        }
      }
      try await group.waitForAll()
    }
    #expect(try !devices[0].store.syncState().zones[0].hasUnsentAssets)
    try await devices[1].sync(remote)
    try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
  }

  @Test("a running replicator automatically sends what another process imports", .timeLimit(.minutes(20)))
  func anotherProcess() async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(.folder, in: directory.path)
    let (devices, asset) = try await shipped(in: directory, place.remote)
    let file = directory.path + "/photo"
    replaceFile(file, with: bytes)
    // Nothing polls except for other processes' commits.
    let running = Running(
      devices[0], place.remote, TestTime { $0 == 50 || $0 == 250 || $0 == TestTime.commitPoll })
    await running.report { _ in true }
    let run = await ChildProcess.run("import", devices[0].directory, file)
    #expect(run.end == .exit(0))
    let report = await running.report { $0.zones.contains { $0.sentAssets > 0 } }
    #expect(report?.isInSync == true)
    await running.end()
    try await devices[1].sync(place.remote)
    try await devices[1].replicator(place.remote).downloadAsset(asset, in: zone)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
  }
}
