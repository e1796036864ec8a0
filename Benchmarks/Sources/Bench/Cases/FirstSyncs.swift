import EventStore
import OperationFormat
import Replicator
import Stores

/// The first sync of a new store: by the snapshot that its remote has, or by the log.
extension Case {
  static var firstSync: Case {
    Case(
      title: "first sync of 10⁶ records", unit: "records", aims: [Comparison.Aim(than: .other, ratio: 3)],
      otherwise: "the log is folded"
    ) { place, sizes in
      let count = sizes.count(1_000_000)
      let ours = Participant.newStore(
        place, "snapshot", try await remote(place, "by-snapshot", count, 1), count)
      var log = Participant.newStore(place, "log", try await remote(place, "by-log", count, .max), count)
      log.name = .other
      return (count, [ours, log])
    }
  }

  /// A remote with the records of a store.
  ///
  /// - Parameter snapshotBytesMin: how much of its log asks for a snapshot.
  private static func remote(
    _ place: Place, _ name: String, _ records: Int, _ snapshotBytesMin: UInt64
  ) async throws -> MemoryRemote {
    let dataset = Dataset(records: records)
    try Engine.make(place.path + "/" + name, dataset)
    let engine = try Engine(place.path + "/" + name, dataset, durability: .consistent)
    try engine.store.writeBlockingThisThread { try $0.attachZone(Dataset.zone) }
    let remote = MemoryRemote(identity: RemoteID(rawValue: 6))
    var configuration = ReplicatorConfiguration()
    configuration.policy.snapshotBytesMin = snapshotBytesMin
    let replicator = LogReplicator(store: engine.store, remote: remote, configuration: configuration)
    // A round sends so many segments; the last one makes the snapshot.
    var report = try await replicator.syncOnce()
    while !report.isInSync { report = try await replicator.syncOnce() }
    engine.store.close()
    return remote
  }
}

extension Participant {
  /// A new store that reads a zone of a remote.
  fileprivate static func newStore(
    _ place: Place, _ name: String, _ remote: MemoryRemote, _ records: Int
  ) -> Participant {
    var store: LocalStore?
    return Participant(
      name: .tributary,
      prepare: { store = try LocalStore(directory: try place.empty(name), durability: .consistent) },
      turn: {
        let replicator = LogReplicator(store: store!, remote: remote)
        var report = try await replicator.syncOnce()
        while !report.isInSync { report = try await replicator.syncOnce() }
      },
      finish: {
        defer { store?.close() }
        let count = try store!.read { try $0.records(in: Dataset.zone).count }
        guard count == records else { throw Disagreement(description: "\(count) of \(records) records came") }
        return [.read: UInt64(count)]
      })
  }
}
