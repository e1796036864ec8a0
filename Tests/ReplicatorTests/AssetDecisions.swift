import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

@Suite("What a zone's round decides about assets")
struct AssetDecisions {
  private let assets = (1...3).map { number in
    AssetReference(hash: hash(UInt64(number)), byteCount: UInt64(number))
  }

  private func state(_ policy: AssetPolicy, pending: UInt64 = 1) -> ZoneSyncState {
    var state = zoneState(pending: pending)
    state.assetPolicy = policy
    return state
  }

  private func moved(_ chunks: Int, _ end: AssetTransfer.End = .whole) -> ZoneResult {
    var transfer = AssetTransfer(end)
    transfer.chunks = chunks
    transfer.bytes = UInt64(chunks) * 10
    return .uploaded(transfer)
  }

  private func came(_ chunks: Int, _ end: AssetTransfer.End = .whole) -> ZoneResult {
    var transfer = AssetTransfer(end)
    transfer.chunks = chunks
    transfer.bytes = UInt64(chunks) * 10
    return .downloaded(transfer)
  }

  private func found(_ asset: AssetReference?, end: UInt64 = 7) -> ZoneResult {
    .foundAsset(WantedAsset(asset, logEnd: Position(rawValue: end)))
  }

  @Test("a segment's assets are sent before it, each once in a round")
  func uploads() {
    var round = ZoneRound(state(.lazy), steps: .ship)
    #expect(round.start() == .prepare)
    let first = packed(1...1)
    #expect(
      round.step(.prepared(first, naming: Array(assets.prefix(2))))
        == .upload(assets[0], incarnation, chunksMax: nil))
    #expect(round.step(moved(2)) == .upload(assets[1], incarnation, chunksMax: nil))
    #expect(round.step(moved(0)) == .append(first, after: 0))
    #expect(
      round.step(.appended(.appended(SegmentPlace(offset: 1))))
        == .acknowledge(first.header, SegmentPlace(offset: 1)))
    #expect(round.step(acknowledged(to: 1)) == .prepare)
    let second = packed(2...2)
    #expect(round.step(.prepared(second, naming: assets)) == .upload(assets[2], incarnation, chunksMax: nil))
    #expect(round.step(moved(1)) == .append(second, after: 1))
    #expect(round.report.sentAssets == 2)
    #expect(round.report.assetBytesSent == 30)
    #expect(round.report.status == .unfinished)
    #expect(
      round.step(.appended(.appended(SegmentPlace(offset: 2))))
        == .acknowledge(second.header, SegmentPlace(offset: 2)))
    #expect(round.step(acknowledged(to: 2)) == .prepare)
    #expect(round.step(.prepared(nil)) == nil)
    #expect(round.report.status == .inSync)
  }

  @Test("a missing or wrong one is reported and skipped; one that fails delays its segment")
  func problems() {
    var round = ZoneRound(state(.lazy), steps: .ship)
    _ = round.start()
    let segment = packed(1...1)
    _ = round.step(.prepared(segment, naming: assets))
    #expect(
      round.step(moved(0, .problem(.missingHere))) == .upload(assets[1], incarnation, chunksMax: nil))
    #expect(
      round.step(moved(1, .problem(.damagedHere))) == .upload(assets[2], incarnation, chunksMax: nil))
    #expect(round.step(.failed(failure(.overQuota))) == nil)
    #expect(round.report.status == .failed(failure(.overQuota)))
    #expect(
      round.report.assetProblems == [
        AssetProblem(assets[0], .missingHere), AssetProblem(assets[1], .damagedHere),
      ])
    #expect(round.report.sentAssets == 0)
    #expect(round.report.sentSegments == 0)
  }

  @Test("the append notices a closed log")
  func gone() {
    var round = ZoneRound(state(.lazy), steps: .ship)
    _ = round.start()
    let segment = packed(1...1)
    _ = round.step(.prepared(segment, naming: assets))
    #expect(round.step(moved(0, .gone)) == .append(segment, after: 0))
    #expect(round.step(.appended(.gone(.deleted))) == .withdraw(incarnation))
  }

  @Test("chunks are counted for the round, and the rest waits for the next")
  func limits() {
    var round = ZoneRound(state(.eager), steps: .all, assetChunksMax: 3)
    #expect(round.start() == .fetch(after: token(0)))
    #expect(round.step(.fetched(.segments([], hasMore: false))) == .prepare)
    let segment = packed(1...1)
    #expect(round.step(.prepared(segment, naming: assets)) == .upload(assets[0], incarnation, chunksMax: 3))
    #expect(round.step(moved(2)) == .upload(assets[1], incarnation, chunksMax: 1))
    #expect(round.step(moved(1, .unfinished)) == nil)
    #expect(round.report.status == .unfinished)
    #expect(round.report.sentSegments == 0)

    var spent = ZoneRound(state(.eager), steps: .all, assetChunksMax: 2)
    _ = spent.start()
    _ = spent.step(.fetched(.segments([], hasMore: false)))
    _ = spent.step(.prepared(segment, naming: assets))
    #expect(spent.step(moved(2)) == nil)
    #expect(spent.report.status == .unfinished)
    #expect(spent.report.sentAssets == 1)

    // Missing assets are counted too: other zones wait for the round.
    var absent = ZoneRound(state(.eager, pending: 0), steps: .all, assetChunksMax: 4)
    _ = absent.start()
    _ = absent.step(.fetched(.segments([], hasMore: false)))
    _ = absent.step(.prepared(nil))
    for _ in 0..<ZoneAssets.absentMax {
      #expect(absent.step(found(assets[0])) == .download(assets[0], incarnation, chunksMax: 4))
      _ = absent.step(came(0, .problem(.missingAtRemote)))
    }
    #expect(absent.step(found(assets[1])) == nil)
    #expect(absent.report.status == .unfinished)
  }

  @Test("an eager zone's assets are fetched after its segments, one after the other")
  func downloads() {
    var round = ZoneRound(state(.eager, pending: 0), steps: .all)
    #expect(round.start() == .fetch(after: token(0)))
    #expect(
      round.step(.fetched(.segments([stored(1)], hasMore: false))) == .fold([stored(1)], after: token(0)))
    #expect(round.step(folded(to: 1)) == .prepare)
    #expect(round.step(.prepared(nil)) == .findAsset(after: nil, namedAfter: nil))
    #expect(round.step(found(assets[0])) == .download(assets[0], incarnation, chunksMax: nil))
    #expect(round.step(came(3)) == .findAsset(after: assets[0], namedAfter: nil))
    #expect(round.step(found(assets[1])) == .download(assets[1], incarnation, chunksMax: nil))
    #expect(round.step(came(0, .problem(.missingAtRemote))) == .findAsset(after: assets[1], namedAfter: nil))
    #expect(round.step(found(assets[2])) == .download(assets[2], incarnation, chunksMax: nil))
    #expect(round.step(came(0, .elsewhere)) == .findAsset(after: assets[2], namedAfter: nil))
    #expect(round.step(found(nil)) == nil)
    #expect(round.report.status == .inSync)
    #expect(round.report.receivedAssets == 1)
    #expect(round.report.assetBytesReceived == 30)
    #expect(round.report.assetProblems == [AssetProblem(assets[1], .missingAtRemote)])
  }

  @Test("a lazy zone fetches none, nor does a round that only sends")
  func noDownloads() {
    for (policy, steps) in [(AssetPolicy.lazy, SyncSteps.all), (.eager, .ship)] {
      var round = ZoneRound(state(policy, pending: 0), steps: steps)
      if steps == .all {
        #expect(round.start() == .fetch(after: token(0)))
        #expect(round.step(.fetched(.segments([], hasMore: false))) == .prepare)
      } else {
        #expect(round.start() == .prepare)
      }
      #expect(round.step(.prepared(nil)) == nil)
    }
  }

  @Test("downloads in parts: every round ends, and begins with the segments of others")
  func parts() async throws {
    let directory = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try (1...2).map { try Device(in: directory.path, "d\($0)", seed: $0) }
    let bytes = assetBytes(3 * AssetManifest.chunkBytes + 1)
    let asset = try await devices[0].setAsset(bytes, of: "first")
    /// Performs a round as a running replicator does.
    func round(_ device: Device) async -> SyncReport {
      var round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1, assetChunksMax: 1)
      return await device.perform(&round, remote)
    }
    var statuses: [ZoneStatus] = []
    for _ in 0..<5 { statuses += await round(devices[0]).zones.map(\.status) }
    #expect(statuses == [.unfinished, .unfinished, .unfinished, .inSync, .inSync])
    _ = await round(devices[1])
    try await devices[1].store.setAssetPolicy(.eager, of: zone)
    for number in 0..<3 {
      try await devices[0].set("title", of: "first", to: .int(Int64(number)))
      _ = await round(devices[0])
      let report = await round(devices[1])
      #expect(report.zones.map(\.status) == [.unfinished])
      #expect(report.received == 1)
    }
    let last = await round(devices[1])
    #expect(last.zones.map(\.status) == [.inSync])
    #expect(last.zones.map(\.receivedAssets) == [1])
    let content = try devices[1].content(asset)
    #expect(content == bytes)
  }
}
