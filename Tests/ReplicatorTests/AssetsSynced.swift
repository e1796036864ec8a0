import Synchronization
import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

@Suite("Synced assets")
struct AssetsSynced {
  private static let chunkBytes = AssetManifest.chunkBytes

  private func devices(_ directory: TemporaryDirectory, _ count: UInt64 = 2) throws -> [Device] {
    try (1...count).map { try Device(in: directory.path, "d\($0)", seed: $0) }
  }

  @Test(
    "another device reads an asset after requesting it", arguments: RemotePlace.Kind.allCases,
    [0, 1, 70_000, chunkBytes, 2 * chunkBytes + 1])
  func lazily(_ kind: RemotePlace.Kind, _ count: Int) async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: directory.path)
    let devices = try devices(directory)
    let bytes = assetBytes(count)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    let sent = try await devices[0].sync(place.remote)
    #expect(sent.isInSync)
    #expect(sent.zones[0].assetBytesSent == UInt64(count))
    try await settle(devices, place.remote)
    let named = try devices[1].asset(of: "first")
    #expect(named == asset)
    let isHere = try devices[1].store.hasAsset(asset)
    #expect(!isHere)
    let report = try devices[1].store.verify()
    #expect(report.missingAssets == 1)

    let steps = Mutex<[UInt64]>([])
    var configuration = ReplicatorConfiguration()
    configuration.assetProgress = { step in
      #expect(step.direction == .download)
      steps.withLock { $0.append(step.bytesDone) }
    }
    let replicator = LogReplicator(
      store: devices[1].store, remote: place.remote, configuration: configuration)
    try await replicator.downloadAsset(asset, in: zone)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
    let told = steps.withLock { $0 }
    #expect(told == told.sorted() && told.first == 0 && told.last == UInt64(count))
    // Another request costs nothing.
    try await replicator.downloadAsset(asset, in: zone)
    #expect(steps.withLock { $0.count } == told.count)
    let left = try devices[1].store.verify()
    #expect(left.problems == [])
    #expect(left.missingAssets == 0)
    try await expectAgreement(devices, place.remote)
  }

  @Test("an eager zone has all its assets, and a lazy zone beside it none")
  func eagerly() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices(directory)
    let other = ZoneID(name: "other")
    var assets: [AssetReference] = []
    for number in 0..<5 as Range<UInt8> {
      let bytes = assetBytes(100_000, seed: number)
      assets.append(try await devices[0].setAsset(bytes, of: Name("n\(number)")))
    }
    // The same bytes under another name, and in another zone.
    _ = try await devices[0].setAsset(assetBytes(100_000, seed: 4), of: "again")
    _ = try await devices[0].setAsset(assetBytes(100_000, seed: 4), of: "there", in: other)
    let lazyAsset = try await devices[0].setAsset(assetBytes(100_000, seed: 9), of: "lazy", in: other)
    let sent = try await devices[0].sync(remote)
    #expect(sent.zones.map(\.sentAssets) == [5, 2])
    try await devices[1].sync(remote)
    #expect(assets.filter { (try? devices[1].store.hasAsset($0)) == true }.isEmpty)
    try await devices[1].store.setAssetPolicy(.eager, of: zone)
    let received = try await devices[1].sync(remote)
    #expect(received.zones.map(\.receivedAssets) == [5, 0])
    #expect(received.assetProblemCount == 0)
    for (number, asset) in assets.enumerated() {
      let content = try devices[1].content(asset)
      #expect(content == assetBytes(100_000, seed: UInt8(number)))
    }
    let isHere = try devices[1].store.hasAsset(lazyAsset)
    #expect(!isHere)
    // Then there is nothing to do, and nothing is committed.
    let commit = try devices[1].store.lastCommitID
    let idle = try await devices[1].sync(remote)
    #expect(!idle.hasMoved)
    let same = try devices[1].store.lastCommitID
    #expect(same == commit)
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
  }

  @Test("bytes over the threshold are an asset on every device")
  func overTheThreshold() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let writer = try Device(
      in: directory.path, "writer", seed: 1, configure: { $0.assetThresholdBytes = 1000 })
    let reader = try Device(in: directory.path, "reader", seed: 2)
    try await writer.set("small", of: "first", to: .bytes(assetBytes(1000)))
    try await writer.set("photo", of: "first", to: .bytes(assetBytes(1001)))
    try await settle([writer, reader], remote)
    let small = try reader.store.read { try $0.value(of: "small", in: RecordID(zone: zone, name: "first")) }
    #expect(small == .bytes(assetBytes(1000)))
    let asset = try #require(try reader.asset(of: "first"))
    try await reader.replicator(remote).downloadAsset(asset, in: zone)
    let content = try reader.content(asset)
    #expect(content == assetBytes(1001))
    try await expectAgreement([writer, reader], remote)
  }

  @Test("running replicators fetch an eager zone's assets automatically")
  func running() async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(.folder, in: directory.path)
    let devices = try devices(directory)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, place.remote)
    try await devices[1].store.setAssetPolicy(.eager, of: zone)
    let bytes = assetBytes(9 * Self.chunkBytes + 3)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    let arrived = AsyncStream.makeStream(of: Void.self)
    await withTaskGroup(of: Void.self) { group in
      for (index, device) in devices.enumerated() {
        var configuration = ReplicatorConfiguration()
        configuration.policy.commitDelayMilliseconds = 1
        configuration.policy.pollMilliseconds = 20
        configuration.policy.assetChunksInRoundMax = 2
        let replicator = LogReplicator(
          store: device.store, remote: place.remote, configuration: configuration)
        group.addTask {
          await replicator.run { report in
            if index == 1, report.zones.contains(where: { $0.receivedAssets > 0 }) {
              arrived.continuation.yield()
            }
          }
        }
      }
      for await _ in arrived.stream { break }
      group.cancelAll()
    }
    let content = try devices[1].content(asset)
    #expect(content == bytes)
    try await expectAgreement(devices, place.remote)
  }

  @Test("an interrupted upload continues, and writes no chunk twice", arguments: 0...4)
  func resumedUpload(_ callsBefore: Int) async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let devices = try devices(directory)
    try await devices[0].set("title", of: "first", to: 1)
    try await devices[0].sync(remote)
    let bytes = assetBytes(3 * Self.chunkBytes + 100)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    // The state, and then some chunks.
    remote.fail(after: 1 + callsBefore)
    await #expect(throws: SyncFailure.self) { try await devices[0].sync(remote) }
    #expect(remote.puts.count == min(callsBefore, 4))
    remote.fail(after: .max)
    try devices[0].reopen()
    let report = try await devices[0].sync(remote)
    #expect(report.isInSync)
    #expect(report.zones[0].sentAssets == (callsBefore < 4 ? 1 : 0))
    #expect(remote.puts == [0, 1, 2, 3])
    try await devices[1].sync(remote)
    try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
  }

  @Test("an interrupted download continues, and reads no chunk twice", arguments: 0...3)
  func resumedDownload(_ chunksBefore: Int) async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let devices = try devices(directory)
    let bytes = assetBytes(3 * Self.chunkBytes + 100)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    try await settle(devices, remote)
    remote.fail(after: 1 + chunksBefore)
    await #expect(throws: RemoteError.self) {
      try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
    }
    try devices[1].reopen()
    remote.fail(after: .max)
    try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
    // The interrupted read counts as requested once: the chunk was never read.
    #expect(remote.gets == [0, 1, 2, 3])
  }

  @Test("damage of a download by a power failure is noticed, and only the damaged part is read again")
  func tornDownload() async throws {
    let directory = TemporaryDirectory()
    let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
    let devices = try devices(directory)
    let bytes = assetBytes(3 * Self.chunkBytes)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    try await settle(devices, remote)
    remote.fail(after: 3)
    await #expect(throws: RemoteError.self) {
      try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
    }
    remote.fail(after: .max)
    var torn = Array(bytes.prefix(2 * Self.chunkBytes + 1000))
    torn[Self.chunkBytes + 5] ^= 1
    replaceFile("\(devices[1].directory)/assets/partial/\(asset.hash)", with: torn)
    try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
    #expect(remote.gets == [0, 1, 2, 1, 2])
  }

  @Test("two devices that import the same bytes at the same time do not harm each other")
  func twoUploaders() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices(directory)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    let bytes = assetBytes(Self.chunkBytes + 7)
    let asset = try await devices[0].setAsset(bytes, of: "a")
    _ = try await devices[1].setAsset(bytes, of: "b")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for device in devices { group.addTask { _ = try await device.sync(remote) } }
      try await group.waitForAll()
    }
    try await settle(devices, remote)
    let third = try Device(in: directory.path, "third", seed: 3)
    try await third.sync(remote)
    try await third.replicator(remote).downloadAsset(asset, in: zone)
    let content = try third.content(asset)
    #expect(content == bytes)
  }

  @Test("for a zone that is created again, its assets are written again")
  func nextLife() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices(directory)
    let bytes = assetBytes(100_000)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    try await settle(devices, remote)
    try await devices[0].store.write { try $0.deleteZone(zone) }
    try await settle(devices, remote)
    let again = try await devices[0].setAsset(bytes, of: "second")
    #expect(again == asset)
    let report = try await devices[0].sync(remote)
    #expect(report.zones.map(\.sentAssets) == [1])
    try await devices[1].sync(remote)
    try await devices[1].replicator(remote).downloadAsset(asset, in: zone)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
  }

  @Test(
    "on a bad network everything arrives at the end", arguments: WideTests.choose(1...6, otherwise: 1...2))
  func badNetwork(_ seed: UInt64) async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices(directory, 3)
    var faulty: [FaultyRemote] = []
    for (index, device) in devices.enumerated() {
      faulty.append(FaultyRemote(remote, seed: seed * 10 + UInt64(index)))
      let bytes = assetBytes(Self.chunkBytes + index, seed: UInt8(index))
      _ = try await device.setAsset(bytes, of: Name("n\(index)"))
      try await device.store.setAssetPolicy(.eager, of: zone)
    }
    for _ in 0..<200 {
      for (device, remote) in zip(devices, faulty) {
        do {
          try await device.sync(remote)
        } catch is SyncFailure {
          // The next round continues.
        }
      }
      let missing = try devices.map { try $0.store.information().assets }
      if missing.allSatisfy({ $0.count == 3 && $0.missing == 0 }) { break }
    }
    #expect(faulty.reduce(0) { $0 + $1.faults } > 5)
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices {
      for index in devices.indices {
        let asset = try #require(try device.asset(of: Name("n\(index)")))
        let content = try device.content(asset)
        #expect(content == assetBytes(Self.chunkBytes + index, seed: UInt8(index)))
      }
    }
  }
}
