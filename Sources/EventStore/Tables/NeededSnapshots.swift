import LMDB
import OperationFormat

// A store that has sent again what a log had lost owes the remote a snapshot of it, whatever its size: stores that have
// retired the same can begin with nothing else. A row says so until the remote has one.

extension LaneTable {
  /// The offset behind which the remote of a zone needs a snapshot; nil if it needs none.
  func snapshotNeededBehind(in zone: ZoneNumber) throws -> UInt64? {
    try transaction.withCheckedValue(of: .rows(.neededSnapshots, of: zone), in: tables.replicas) { row in
      var reader = ByteReader(row)
      return try reader.readVarint("zone.needed")
    }
  }
}

extension LaneTable where Source == TableStorage {
  func setSnapshotNeeded(behind offset: UInt64, in zone: ZoneNumber) throws {
    try source.putChecked(.rows(.neededSnapshots, of: zone), in: tables.replicas) {
      $0.append(varint: offset)
    }
  }

  /// Forgets that the remote needs one, if it has one at an offset.
  func forgetSnapshotNeeded(having offset: UInt64, in zone: ZoneNumber) throws {
    guard let needed = try snapshotNeededBehind(in: zone), needed < offset else { return }
    try removeRows(.neededSnapshots, of: zone)
  }
}
