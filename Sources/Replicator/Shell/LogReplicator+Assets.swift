public import EventStore

extension LogReplicator {
  /// Brings an asset here that a zone names, if the remote has it. A file that is here and damaged is replaced.
  ///
  /// It may be cut short anywhere: the next call goes on where it ended. ``ReplicatorConfiguration/assetProgress`` is
  /// told how far it is.
  /// - Throws: ``RemoteError``; ``AssetProblem`` if the remote does not have it, or has it damaged; `StoreError` `zoneUnknown`;
  ///   `CancellationError`.
  public func downloadAsset(_ reference: AssetReference, in zone: ZoneID) async throws {
    _ = try await bringAsset(reference, in: zone)
  }

  /// As ``downloadAsset(_:in:)``, and tells what moved.
  package func bringAsset(_ reference: AssetReference, in zone: ZoneID) async throws -> AssetTransfer {
    let transfer = try await assetRunner.download(try asset(reference, zone), isRepair: true)
    try check(transfer, reference, zone)
    return transfer
  }

  /// Brings an asset that is here to the remote, which replaces what it has of it that is damaged.
  ///
  /// A round uploads what its segments name by itself, and what earlier ones were shipped without once it is here: this
  /// is for an asset that the remote has lost.
  /// - Throws: ``RemoteError``; ``AssetProblem`` if it is not here, or is damaged, or the zone's log is closed; `StoreError`
  ///   `zoneUnknown`; `CancellationError`.
  public func uploadAsset(_ reference: AssetReference, in zone: ZoneID) async throws {
    _ = try await sendAsset(reference, in: zone)
  }

  /// As ``uploadAsset(_:in:)``, and tells what moved.
  package func sendAsset(_ reference: AssetReference, in zone: ZoneID) async throws -> AssetTransfer {
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
        code: RemoteError.Code.zoneUnknown.rawValue,
        message: "the log of the zone “\(zone)” at \(remote.name) is closed",
        hint: "sync the store: the report says what became of the zone", scope: .zone)
      throw AssetProblem(reference, .failed(failure))
    case .elsewhere:
      throw RemoteError(
        .later, "asset \(reference.hash) is being downloaded by another task or process",
        hint: "wait until it is here, and try again if it does not come")
    }
  }
}
