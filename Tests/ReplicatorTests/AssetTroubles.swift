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

@Suite("Problems of assets stop nothing else")
struct AssetTroubles {
  private static let chunkBytes = AssetManifest.chunkBytes

  private func devices(_ directory: TemporaryDirectory) throws -> [Device] {
    try (1...2).map { try Device(in: directory.path, "d\($0)", seed: $0) }
  }

  @Test(
    "disconnected at any call of an upload or download, with or without its effect, all arrives at the end",
    arguments: [false, true])
  func cutOff(_ doesFirst: Bool) async throws {
    let bytes = assetBytes(Self.chunkBytes + 5)
    var step = 0
    while true {
      let directory = TemporaryDirectory()
      let remote = StepRemote(MemoryRemote(identity: RemoteID(rawValue: 9)))
      let devices = try devices(directory)
      try await devices[0].set("title", of: "first", to: 1)
      try await settle(devices, remote)
      try await devices[1].store.setAssetPolicy(.eager, of: zone)
      let asset = try await devices[0].setAsset(bytes, of: "first")
      remote.fail(after: step, doesFirst: doesFirst)
      for device in devices {
        do {
          try await device.sync(remote)
        } catch is SyncFailure {
          // Disconnected.
        }
        try device.reopen()
      }
      let wasCut = remote.hasFailed
      // The remote has no segment without its asset, because segments come after their assets.
      remote.fail(after: .max)
      let reader = try Device(in: directory.path, "reader", seed: 3)
      try await reader.sync(remote)
      if try reader.asset(of: "first") != nil {
        try await reader.replicator(remote).downloadAsset(asset, in: zone)
        let read = try reader.content(asset)
        #expect(read == bytes)
      } else {
        #expect(wasCut)
      }
      try await settle(devices, remote)
      let content = try devices[1].content(asset)
      #expect(content == bytes)
      try await expectAgreement(devices, remote)
      for device in devices { device.store.close() }
      if !wasCut { break }
      step += WideTests.choose(1, otherwise: 3)
      try #require(step < 100)
    }
    // State, two chunks, the end, the append; state and two chunks.
    #expect(step >= 8)
  }

  #if DEBUG
    @Test(
      "a file system that fails at any call of a download: the log continues, and the asset arrives"
    )
    func fileFaults() async throws {
      let bytes = assetBytes(Self.chunkBytes + 5)
      var step = 0
      while true {
        let directory = TemporaryDirectory()
        let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
        let writer = try Device(in: directory.path, "writer", seed: 1)
        let asset = try await writer.setAsset(bytes, of: "first")
        try await writer.sync(remote)
        let calls = CallLimit()
        let reader = try Device(
          in: directory.path, "reader", seed: 2, configure: { $0.assetFault = { _ in calls.fault() } })
        try await reader.sync(remote)
        try await reader.store.setAssetPolicy(.eager, of: zone)
        try await writer.set("title", of: "second", to: .int(Int64(step)))
        try await writer.sync(remote)
        calls.fail(after: step)
        let report = try await reader.sync(remote)
        let wasCut = calls.hasFailed
        calls.fail(after: .max)
        // The disk is full for the asset, but the segments of others arrive.
        #expect(report.isInSync)
        #expect(report.received == 1)
        #expect(report.assetProblemCount == (wasCut ? 1 : 0))
        if let problem = report.zones[0].assetProblems.first {
          guard case .failed(let failure) = problem.kind else {
            Issue.record("\(problem)")
            return
          }
          #expect(failure.code == StoreError.Code.full.rawValue)
        }
        try reader.reopen()
        try await reader.sync(remote)
        let content = try reader.content(asset)
        #expect(content == bytes)
        let verified = try reader.store.verify()
        #expect(verified.problems == [])
        if !wasCut { break }
        step += WideTests.choose(1, otherwise: 3)
        try #require(step < 100)
      }
      #expect(step > 8)
    }
  #endif

  @Test(
    "a missing, cut or damaged file is not sent, but its segment is; the asset is repaired later",
    arguments: 0..<3)
  func wrongHere(_ kind: Int) async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices(directory)
    let bytes = assetBytes(Self.chunkBytes + 5)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    let sound = try await devices[0].setAsset(assetBytes(1000, seed: 7), of: "sound")
    var flipped = bytes
    flipped[Self.chunkBytes + 2] ^= 8
    try devices[0].overwrite(asset, with: kind == 0 ? nil : kind == 1 ? Array(bytes.dropLast()) : flipped)
    let report = try await devices[0].sync(remote)
    #expect(report.isInSync)
    #expect(report.zones[0].assetProblems == [AssetProblem(asset, kind == 0 ? .missingHere : .damagedHere)])
    #expect(report.zones[0].sentAssets == 1)
    try await devices[1].sync(remote)
    try await devices[1].store.setAssetPolicy(.eager, of: zone)
    for _ in 0..<2 {
      let waiting = try await devices[1].sync(remote)
      #expect(waiting.isInSync)
      #expect(waiting.zones[0].assetProblems == [AssetProblem(asset, .missingAtRemote)])
    }
    let isThere = try devices[1].store.hasAsset(sound)
    #expect(isThere)
    // Later writes do not wait for it.
    try await devices[0].set("title", of: "first", to: "later")
    try await devices[0].sync(remote)
    let later = try await devices[1].sync(remote)
    #expect(later.received == 1)
    await #expect(throws: AssetProblem.self) {
      try await devices[0].replicator(remote).uploadAsset(asset, in: zone)
    }
    let healed = try await devices[0].store.importAsset(bytes: bytes)
    #expect(healed == asset)
    try await devices[0].replicator(remote).uploadAsset(asset, in: zone)
    let received = try await devices[1].sync(remote)
    #expect(received.zones[0].receivedAssets == 1)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
    try await expectAgreement(devices, remote)
  }

  @Test(
    "a changed byte in a chunk or manifest at the remote is reported, and repaired by a store with the asset",
    arguments: 0..<4)
  func wrongThere(_ kind: Int) async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(.folder, in: directory.path)
    let devices = try devices(directory)
    let bytes = assetBytes(Self.chunkBytes + 5)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    try await settle(devices, place.remote)
    let incarnation = try #require(try devices[0].store.syncState().zones[0].token?.incarnation)
    let name: ObjectName =
      kind < 2
      ? .assetChunk(UInt64(kind), of: asset.hash, in: incarnation)
      : .assetManifest(of: asset.hash, in: incarnation)
    var wrong = try #require(try await place.objects.get(name, bytesMax: Self.chunkBytes))
    // In the hash of a chunk, and in the bytes under the checksum.
    wrong[kind == 3 ? 50 : wrong.count - 1] ^= 0x40
    try await place.replace(name, with: wrong)
    try await devices[1].store.setAssetPolicy(.eager, of: zone)
    for number in 0..<2 {
      try await devices[0].set("title", of: "second", to: .int(Int64(number)))
      try await devices[0].sync(place.remote)
      let report = try await devices[1].sync(place.remote)
      #expect(report.isInSync)
      #expect(report.received == 1)
      #expect(report.zones[0].assetProblems == [AssetProblem(asset, .damagedAtRemote)])
    }
    await #expect(throws: AssetProblem.self) {
      try await devices[1].replicator(place.remote).downloadAsset(asset, in: zone)
    }
    try await devices[0].replicator(place.remote).uploadAsset(asset, in: zone)
    let report = try await devices[1].sync(place.remote)
    #expect(report.zones[0].receivedAssets == 1)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
  }

  /// An obstacle for an asset.
  enum InTheWay: CaseIterable {
    case file
    case link
    case directoryAsChunk
    case directoryAsManifest
  }

  @Test(
    "an obstacle in an asset's place at the remote stops no zone; when it is removed, the asset arrives",
    arguments: InTheWay.allCases)
  func inTheWay(_ what: InTheWay) async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(.folder, in: directory.path)
    let devices = try devices(directory)
    let other = ZoneID(name: "other")
    for zone in [zone, other] { try await devices[0].set("title", of: "first", to: 1, in: zone) }
    try await settle(devices, place.remote)
    let incarnation = try #require(try devices[0].store.syncState().zones[0].token?.incarnation)
    let bytes = assetBytes(1000)
    let asset = try await devices[0].store.importAsset(bytes: bytes)
    let chunk = ObjectName.assetChunk(0, of: asset.hash, in: incarnation)
    let parts = chunk.components
    let root = try #require(place.objects as? FolderObjects).directory
    func path(_ count: Int) -> String { root + "/" + parts.prefix(count).joined(separator: "/") }
    let junk: String
    switch what {
    case .file:
      junk = path(3)
      replaceFile(junk, with: [1])
    case .link:
      junk = path(3)
      symlink("/nothing/there", junk)
    case .directoryAsChunk, .directoryAsManifest:
      junk = what == .directoryAsChunk ? path(5) : path(4) + "/manifest"
      for made in [path(3), path(4), junk] { mkdir(made, 0o700) }
    }
    for number in 0..<3 {
      try await devices[0].set("photo", of: "first", to: .asset(asset))
      try await devices[0].set("title", of: "first", to: .int(Int64(number)), in: other)
      let report = try await devices[0].sync(place.remote)
      #expect(report.isInSync && report.sent >= 2, "\(report)")
      let problems = report.zones[0].assetProblems
      #expect(problems.map(\.reference) == [asset] && report.assetProblemCount == 1)
      guard case .failed(let failure)? = problems.first?.kind else {
        Issue.record("\(problems)")
        return
      }
      #expect(failure.code == "damagedAsset" && failure.message.contains(junk), "\(failure)")
      try await devices[1].sync(place.remote)
      #expect(try devices[1].asset(of: "first") == asset)
    }
    await #expect(throws: AssetProblem.self) {
      try await devices[0].replicator(place.remote).uploadAsset(asset, in: zone)
    }
    #expect(remove(junk) == 0)
    let brought = try await devices[0].sync(place.remote)
    #expect(brought.assetProblemCount == 0, "\(brought)")
    // Its chunk had been sent before.
    #expect(brought.zones[0].sentAssets == (what == .directoryAsManifest ? 0 : 1))
    try await devices[1].replicator(place.remote).downloadAsset(asset, in: zone)
    #expect(try devices[1].content(asset) == bytes)
    try await expectAgreement(devices, place.remote)
    for device in devices { device.store.close() }
  }

  @Test("a manifest that matches no file, written before the asset, is repaired by a store with the asset")
  func forgedManifest() async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(.folder, in: directory.path)
    let devices = try devices(directory)
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, place.remote)
    let incarnation = try #require(try devices[0].store.syncState().zones[0].token?.incarnation)
    let bytes = assetBytes(1000)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    let forged = try #require(AssetManifest(asset: asset, chunks: [.zero]))
    try await place.replace(.assetManifest(of: asset.hash, in: incarnation), with: forged.bytes)
    try await settle(devices, place.remote)
    try await devices[1].store.setAssetPolicy(.eager, of: zone)
    let report = try await devices[1].sync(place.remote)
    #expect(report.zones[0].assetProblems == [])
    let content = try devices[1].content(asset)
    #expect(content == bytes)
  }

  @Test("a damaged file is replaced by a download")
  func damagedReader() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices(directory)
    let bytes = assetBytes(300_000)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    try await settle(devices, remote)
    for device in devices {
      try await device.replicator(remote).downloadAsset(asset, in: zone)
      var flipped = bytes
      flipped[7] ^= 1
      try device.overwrite(asset, with: flipped)
      #expect(throws: StoreError.self) { try device.content(asset) }
      try await device.replicator(remote).downloadAsset(asset, in: zone)
      let content = try device.content(asset)
      #expect(content == bytes)
    }
  }

  @Test("a reference with a wrong size refers to no asset, and stops nothing")
  func wrongReference() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices(directory)
    let bytes = assetBytes(100_000)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    try await devices[0].sync(remote)
    let incarnation = try #require(try devices[0].store.syncState().zones[0].token?.incarnation)
    var maker = ForgedSegments(zone, incarnation)
    for byteCount: UInt64 in [0, 99_999, 100_001, 1 << 41, .max] {
      let wrong = AssetReference(hash: asset.hash, byteCount: byteCount)
      let segment = try maker.next(naming: [wrong])
      _ = try await remote.append(segment, after: 0)
    }
    try await devices[1].sync(remote)
    try await devices[1].store.setAssetPolicy(.eager, of: zone)
    let report = try await devices[1].sync(remote)
    #expect(report.isInSync)
    #expect(report.assetProblemCount == 5)
    let content = try devices[1].content(asset)
    #expect(content == bytes)
    for device in devices {
      try await device.sync(remote)
      let verified = try device.store.verify()
      #expect(verified.problems == [])
      #expect(verified.assets == 1)
      #expect(verified.missingAssets == 5)
      let information = try device.store.information()
      #expect(information.assets.count == 6)
      #expect(information.assets.bytes == .max)
      let reclaimed = try await device.store.reclaim()
      #expect(reclaimed.assets == 0)
    }
  }
}

/// Lets calls fail with a full disk after a number of calls.
private final class CallLimit: Sendable {
  private let state = Mutex((calls: 0, last: Int.max))

  var hasFailed: Bool { state.withLock { $0.calls > $0.last } }

  func fail(after count: Int) { state.withLock { $0 = (0, count) } }

  func fault() -> FileFault? {
    state.withLock { state in
      state.calls += 1
      return state.calls > state.last ? .before(ENOSPC) : nil
    }
  }
}

/// Segments of a replica with arbitrary references.
private struct ForgedSegments {
  let zone: ZoneID
  let incarnation: IncarnationID
  private var sequence: UInt64 = 0
  private var previous = ContentHash.zero

  init(_ zone: ZoneID, _ incarnation: IncarnationID) {
    self.zone = zone
    self.incarnation = incarnation
  }

  mutating func next(naming assets: [AssetReference]) throws -> PackedSegment {
    sequence += 1
    let transaction = LogTransaction(
      replica: ReplicaID(rawValue: 77), epoch: 0, sequence: sequence, zone: zone, base: nil,
      timestamp: Timestamp(rawValue: 1_000_000 << 16),
      operations: assets.map { .set(record: "forged", type: "note", field: "photo", value: .asset($0)) })
    let bytes = [try transaction.encoded()]
    let header = try SegmentHeader.describing(
      bytes, incarnation: incarnation, baseProof: { _ in .zero }, previousHash: previous)
    previous = header.contentHash
    return try SegmentPacker.pack(SegmentCut(header: header, isStored: false, transactions: bytes))
  }
}
