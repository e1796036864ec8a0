import LMDB
import OperationFormat

/// What a lane of this store was before its first transactions were issued again.
///
/// The row is written in the commit that issues them again, and never changes but for ``count``. It is all that tells
/// afterwards that there was a fork.
struct ReissuedLane {
  /// The lane of which the log did not take all, or has another branch.
  var former: Lane
  /// The first transaction of it that was issued again: as sequence 1.
  var first: UInt64
  /// How many transactions of the new lane were those of the former one, from sequence 1 on.
  var count: UInt64
  /// Where the log has other transactions under these sequences; nil where it only took no more of the former lane.
  var branch: BaseNumbers?
  /// When they were issued again, in milliseconds since 1970, by this store's clock.
  var milliseconds: Int64
}

// | bytes | what |
// |---|---|
// | 1 | version, 1 |
// | varint ×4 | replica's number and epoch of the former lane, first sequence of it, count |
// | varint ×2 | incarnation's number and offset of the log's branch; 0 and 0 for none |
// | 8 | time, little-endian |

extension ReissuedLane {
  func append(to writer: inout ByteWriter) {
    writer.append(1)
    writer.append(varint: UInt64(former.replica.rawValue))
    writer.append(varint: UInt64(former.epoch))
    writer.append(varint: first)
    writer.append(varint: count)
    writer.append(varint: UInt64(branch?.incarnation.rawValue ?? 0))
    writer.append(varint: branch?.offset ?? 0)
    writer.append(littleEndian: milliseconds)
  }

  init(_ row: RawSpan, in zone: ZoneNumber) throws(FormatError) {
    var reader = ByteReader(row)
    _ = try reader.readVersion(upTo: 1, "reissued lane")
    let replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("reissued.replica"))
    former = Lane(zone: zone, replica: replica, epoch: try reader.readUInt32Varint("reissued.epoch"))
    first = try reader.readVarint("reissued.first", in: 1...UInt64.max)
    count = try reader.readVarint("reissued.count", in: 0...UInt64.max - first)
    let incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("reissued.incarnation"))
    let offset = try reader.readVarint("reissued.offset")
    branch = incarnation == .none ? nil : (incarnation, offset)
    milliseconds = try reader.readLittleEndian("reissued.time")
    try reader.finish("reissued lane")
  }
}

extension TableKey {
  static func reissuedLane(_ lane: Lane) -> TableKey {
    rows(.reissuedLanes, of: lane.zone).appending(lane.replica, lane.epoch)
  }
}

extension LaneTable {
  /// The replica and epoch of a lane.
  func identity(of lane: Lane) throws -> StoreIdentity {
    StoreIdentity(replica: try replicas.identity(of: lane.replica), epoch: lane.epoch)
  }

  /// What a lane was before it was issued again; nil if it was written under its name.
  func reissue(of lane: Lane) throws -> ReissuedLane? {
    try transaction.withCheckedValue(of: .reissuedLane(lane), in: tables.replicas) {
      try ReissuedLane($0, in: lane.zone)
    }
  }

  /// The lanes of a zone that were issued again, in the order of their numbers.
  func reissued(of zone: ZoneNumber) throws -> [(lane: Lane, reissue: ReissuedLane)] {
    var found: [(lane: Lane, reissue: ReissuedLane)] = []
    let prefix = TableKey.rows(.reissuedLanes, of: zone)
    try transaction.forEachEntry(in: tables.replicas, under: prefix.span.bytes) { key, row in
      let lane = try Lane(from: key, in: zone)
      found.append((lane, try ReissuedLane(CheckedRow.content(of: row, under: key), in: zone)))
      return true
    }
    return found
  }
}

extension LaneTable where Source == TableStorage {
  func setReissue(_ reissue: ReissuedLane, of lane: Lane) throws {
    try source.putChecked(.reissuedLane(lane), in: tables.replicas) { reissue.append(to: &$0) }
  }

  /// Notes that a lane's transactions from one on are not under its name any more: others may come there.
  func endReissue(of lane: Lane, before first: UInt64) throws {
    guard var known = try reissue(of: lane), known.count >= first else { return }
    known.count = first - 1
    try setReissue(known, of: lane)
  }
}
