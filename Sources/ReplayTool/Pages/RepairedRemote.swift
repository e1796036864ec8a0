import EventStore
import Replicator

/// What a repair has put back at a remote.
struct RepairedRemote {
  /// The lost folders and manifests of assets that were made again.
  var made: [String]
  var steps: [RemoteRepair.Step]
  /// The snapshots that were not whole.
  var snapshots: [RemoteRepair.SnapshotStep]
  /// Where the store is to read again, since the list of zones is another one than it has read.
  var rereading: (zone: ZoneID, offset: UInt64)?
}
