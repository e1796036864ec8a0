import EventStore
import OperationFormat
import Replicator

/// The client of a device for a server that keeps the log: calls of the remote cross the network.
struct SimulatedRemoteLine: RemoteLog {
  let world: SimulatedWorld
  let process: SimulatedProcess

  private var network: SimulatedNetwork { SimulatedNetwork(world) }

  var name: String { "simulated" }

  func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    try await network.call(process, "zoneEvents") { [self] () throws(RemoteError) in
      try await server.zoneEvents(after: token)
    }
  }

  func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await network.call(process, "createZone \(zone)", writes: true) { [self] () throws(RemoteError) in
      try await server.createZone(zone, proposing: proposed)
    }
  }

  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await network.call(process, "deleteZone \(zone)", writes: true) { [self] () throws(RemoteError) in
      try await server.deleteZone(zone, incarnation)
    }
  }

  func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await network.call(process, "reopenZone \(zone)", writes: true) { [self] () throws(RemoteError) in
      try await server.reopenZone(zone, incarnation)
    }
  }

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    let sequences = segment.header.sequences
    return try await network.call(
      process, "append \(token.zone) \(sequences.lowerBound)…\(sequences.upperBound)", writes: true
    ) { [self] () throws(RemoteError) in try await server.append(segment, after: token) }
  }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    let outcome = try await network.call(
      process, "segments \(token.zone) after \(token.offset)",
      damage: { [self] outcome, choices in network.spoil(&outcome, &choices) },
      request: { [self] () throws(RemoteError) in
        try await server.segments(after: token, bytesMax: bytesMax)
      })
    return world.devices[process.device].isOlder
      ? outcome.asNewer { world.facts.isNewer($0, in: token.incarnation) } : outcome
  }

  func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    try await network.call(process, "putBack \(token.zone) \(entry.offset)", writes: true) {
      [self] () throws(RemoteError) in try await server.putBack(entry, after: token)
    }
  }

  func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    try await network.call(process, "beginLog \(snapshot.zone)", writes: true) {
      [self] () throws(RemoteError) in try await server.beginLog(with: snapshot)
    }
  }

  func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await network.call(process, "assetState \(asset)") { [self] () throws(RemoteError) in
      try await server.assetState(asset)
    }
  }

  func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await network.call(process, "putAssetChunk \(index) of \(asset)", writes: true) {
      [self] () throws(RemoteError) in
      try await server.putAssetChunk(bytes, at: index, of: asset)
    }
  }

  func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await network.call(process, "finishAsset \(manifest.asset.hash)", writes: true) {
      [self] () throws(RemoteError) in
      try await server.finishAsset(manifest, of: zone, incarnation)
    }
  }

  func assetChunk(
    at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) -> [UInt8]? {
    try await network.call(
      process, "assetChunk \(index) of \(asset)",
      damage: { [self] bytes, choices in bytes == nil ? nil : network.spoil(&bytes!, &choices) },
      request: { [self] () throws(RemoteError) in try await server.assetChunk(at: index, of: asset) })
  }

  func snapshots(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot]? {
    try await network.call(process, "snapshots \(zone)") { [self] () throws(RemoteError) in
      try await server.snapshots(of: zone, incarnation)
    }
  }

  func snapshotManifest(
    of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> SnapshotManifest? {
    try await network.call(process, "snapshotManifest \(snapshot.offset)") { [self] () throws(RemoteError) in
      try await server.snapshotManifest(of: snapshot)
    }
  }

  func snapshotPart(
    at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> [UInt8]? {
    try await network.call(
      process, "snapshotPart \(index) of \(snapshot.offset)",
      damage: { [self] bytes, choices in bytes == nil ? nil : network.spoil(&bytes!, &choices) },
      request: { [self] () throws(RemoteError) in try await server.snapshotPart(at: index, of: snapshot) })
  }

  func putSnapshotPart(
    _ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await network.call(process, "putSnapshotPart \(index) of \(snapshot.offset)", writes: true) {
      [self] () throws(RemoteError) in
      try await server.putSnapshotPart(bytes, at: index, of: snapshot)
    }
  }

  func finishSnapshot(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {
    try await network.call(process, "finishSnapshot \(snapshot.offset)", writes: true) {
      [self] () throws(RemoteError) in
      try await server.finishSnapshot(manifest, of: snapshot)
    }
  }

  func removeSnapshot(_ snapshot: RemoteSnapshot, parts: Int) async throws(RemoteError) {
    try await network.call(process, "removeSnapshot \(snapshot.offset)", writes: true) {
      [self] () throws(RemoteError) in try await server.removeSnapshot(snapshot, parts: parts)
    }
  }

  func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64? {
    try await network.call(process, "trim to \(snapshot.offset)", writes: true) {
      [self] () throws(RemoteError) in try await server.trim(to: snapshot, manifest)
    }
  }

  func changes() -> AsyncStream<RemoteHint> { AsyncStream { $0.finish() } }

  func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    let heads = try await network.call(process, "heads") { [self] () throws(RemoteError) in
      try await server.heads(of: tokens, list: list)
    }
    return HintFaults(world).heads(heads, of: tokens, to: world.devices[process.device])
  }

  func announce() async {
    do throws(RemoteError) {
      try await network.call(process, "announce") { [self] () throws(RemoteError) in
        await (try server).announce()
      }
    } catch {
      // Others learn of it later.
    }
  }

  /// The remote that answers, as the device sees it now.
  private var server: any RemoteLog {
    get throws(RemoteError) {
      let device = world.devices[process.device]
      return try world.place.log(as: device.mount)
    }
  }
}

extension SimulatedNetwork {
  fileprivate func spoil(_ outcome: inout FetchOutcome, _ choices: inout SimulationChoices)
    -> SimulationFault?
  {
    guard case .segments(var page, let hasMore) = outcome, !page.isEmpty else { return nil }
    let index = choices.next(below: page.count)
    let fault = spoil(&page[index].bytes, &choices)
    outcome = .segments(page, hasMore: hasMore)
    return fault
  }
}
