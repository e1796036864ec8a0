public import EventStore

extension LogReplicator {
  /// Downloads an asset that a zone names, and replaces a damaged file of it.
  ///
  /// It may be cut short anywhere: the next call continues. ``ReplicatorConfiguration/assetProgress`` is
  /// called after each chunk.
  /// - Throws: ``RemoteError``; ``AssetProblem`` if the remote does not have it, or has it damaged;
  ///   `StoreError` `zoneUnknown`; `CancellationError`.
  public func downloadAsset(_ reference: AssetReference, in zone: ZoneID) async throws {
    _ = try await downloadAssetWithReport(reference, in: zone)
  }

  /// Like ``downloadAsset(_:in:)``, and returns what moved.
  package func downloadAssetWithReport(
    _ reference: AssetReference, in zone: ZoneID
  ) async throws -> AssetTransfer {
    let transfer = try await assetRunner.download(try asset(reference, zone), isRepair: true)
    try check(transfer, reference, zone)
    return transfer
  }

  /// Uploads an asset, and replaces what the remote has of it that is damaged.
  ///
  /// Rounds upload by themselves what their segments name, and what earlier segments were shipped without.
  /// This call is for an asset that the remote has lost.
  /// - Throws: ``RemoteError``; ``AssetProblem`` if it is not here, or is damaged, or the zone's log is
  ///   closed; `StoreError` `zoneUnknown`; `CancellationError`.
  public func uploadAsset(_ reference: AssetReference, in zone: ZoneID) async throws {
    _ = try await uploadAssetWithReport(reference, in: zone)
  }

  /// Like ``uploadAsset(_:in:)``, and returns what moved.
  package func uploadAssetWithReport(
    _ reference: AssetReference, in zone: ZoneID
  ) async throws -> AssetTransfer {
    let transfer = try await assetRunner.upload(try asset(reference, zone), isRepair: true)
    try check(transfer, reference, zone)
    return transfer
  }

  private var assetRunner: AssetRunner {
    AssetRunner(store: store, remote: remote, progress: configuration.assetProgress)
  }

  private func asset(_ reference: AssetReference, _ zone: ZoneID) throws -> RemoteAsset {
    guard let token = try store.read({ try $0.changeToken(of: zone) }) else {
      throw RemoteError(
        .zoneUnknown, "\(remote.name) does not have the zone “\(zone)” yet, as far as this store knows",
        hint: "sync the zone first")
    }
    return RemoteAsset(reference, of: zone, token.incarnation)
  }

  private func check(_ transfer: AssetTransfer, _ reference: AssetReference, _ zone: ZoneID) throws {
    switch transfer.end {
    case .whole, .unfinished: return
    case .problem(let kind): throw AssetProblem(reference, kind)
    case .gone:
      let failure = SyncFailure(
        .zoneUnknown, "the log of the zone “\(zone)” at \(remote.name) is closed",
        hint: "sync the store: the report says what became of the zone", scope: .zone)
      throw AssetProblem(reference, .failed(failure))
    case .elsewhere:
      throw RemoteError(
        .later, "asset \(reference.hash) is being downloaded by another task or process",
        hint: "wait until it is here, and try again if it does not come")
    }
  }
}
