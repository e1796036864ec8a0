public import Models
public import Replicator

extension LogReplicator {
  /// Creates a replicator of a `Store`.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - remote: where its synced zones are shared.
  ///   - zones: which of them it syncs.
  ///   - configuration: what else may be chosen.
  public convenience init(
    store: Store, remote: any RemoteLog, zones: ZoneSelection = .all,
    configuration: ReplicatorConfiguration = ReplicatorConfiguration()
  ) {
    self.init(store: store.local, remote: remote, zones: zones, configuration: configuration)
  }
}
