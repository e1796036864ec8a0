import LMDB
import OperationFormat

/// A lane that has one name in the log and another one in a zone's records.
///
/// Transactions that are issued again get the new lane in the log at once, and in the records when the log is
/// folded again. A transaction that is written in between has the new lane in the log, and the old one in the
/// records. The rows go when the new records replace the old ones.
struct LaneRenaming: Hashable {
  /// Its name in the records.
  var old: Lane
  /// Its name in the log.
  var new: Lane
  /// How many more sequences the old lane has than the new one.
  var shift: UInt64
}

extension [LaneRenaming] {
  /// A causal context with the names that the records use.
  func inOldNames(_ context: CausalContext) -> CausalContext {
    var found = context
    for renaming in self {
      let (old, new) = (renaming.old, renaming.new)
      if new.replica == context.replica, new.epoch == context.epoch {
        (found.replica, found.epoch) = (old.replica, old.epoch)
        found.sequence += renaming.shift
      }
      for seen in context.lineage where seen.replica == new.replica && seen.epoch == new.epoch {
        found.lineage.append((old.replica, old.epoch, seen.sequence + renaming.shift))
      }
    }
    return found
  }
}

extension TableKey {
  fileprivate static func renamedLane(_ lane: Lane) -> TableKey {
    rows(.renamedLanes, of: lane.zone).appending(lane.replica, lane.epoch)
  }

  fileprivate static func keptUnits(_ lane: Lane, _ record: UInt32, _ cell: CellNumber) -> TableKey {
    var key = rows(.keptUnits, of: lane.zone).appending(lane.replica, lane.epoch)
    key.append(record)
    key.append(cell.rawValue)
    return key
  }
}

extension LaneTable where Source == TableStorage {
  /// The lanes whose names differ between a zone's records and its log; nearly always none.
  func renamings(of zone: ZoneNumber) throws -> [LaneRenaming] {
    guard try source.zoneRow(zone).building != .none else { return [] }
    return try names(under: .rows(.renamedLanes, of: zone)).map { replica, epoch in
      let old = Lane(zone: zone, replica: replica, epoch: epoch)
      let found = try transaction.withCheckedValue(of: .renamedLane(old), in: tables.replicas) { row in
        var reader = ByteReader(row)
        let new = Lane(
          zone: zone, replica: ReplicaNumber(rawValue: try reader.readUInt32Varint("renamed.replica")),
          epoch: try reader.readUInt32Varint("renamed.epoch"))
        return LaneRenaming(old: old, new: new, shift: try reader.readVarint("renamed.shift"))
      }
      guard let found else { preconditionFailure("a row that a cursor has found is missing") }
      return found
    }
  }

  func addRenaming(_ renaming: LaneRenaming) throws {
    try source.putChecked(.renamedLane(renaming.old), in: tables.replicas) {
      $0.append(varint: UInt64(renaming.new.replica.rawValue))
      $0.append(varint: UInt64(renaming.new.epoch))
      $0.append(varint: renaming.shift)
    }
    source.forgetLineages()
  }

  /// How many units of a lane keep their names in a list or a text; nil if all do.
  func keptUnits(of lane: Lane, _ record: UInt32, _ cell: CellNumber) throws -> UInt64? {
    try transaction.withCheckedValue(of: .keptUnits(lane, record, cell), in: tables.replicas) { row in
      var reader = ByteReader(row)
      return try reader.readVarint("renamed.kept")
    }
  }

  func setKeptUnits(_ count: UInt64, of lane: Lane, _ record: UInt32, _ cell: CellNumber) throws {
    try source.putChecked(.keptUnits(lane, record, cell), in: tables.replicas) { $0.append(varint: count) }
  }

  /// Removes a zone's renamings, after its records were rebuilt from the log.
  func removeRenamings(of zone: ZoneNumber) throws {
    for kind in [LaneRowKind.renamedLanes, .keptUnits] { try removeRows(kind, of: zone) }
    source.forgetLineages()
  }
}
