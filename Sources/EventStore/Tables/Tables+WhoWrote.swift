import LMDB
import OperationFormat

extension Tables {
  /// The lanes of a zone: how many transactions of each the store has, and the last sequence.
  func lanes(
    of zone: ZoneNumber, _ transaction: borrowing LMDBTransaction
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32, count: UInt64, last: UInt64)] {
    var lanes: [(replica: ReplicaNumber, epoch: UInt32, count: UInt64, last: UInt64)] = []
    var cursor = try transaction.openCursor(sequences)
    let start = TableKey.state(StateNumber(rawValue: zone.rawValue))
    var isThere = try cursor.seek(atOrAfter: start.span)
    while isThere {
      let found = try cursor.withEntry { key, _ in
        (
          try key.bigEndian32(at: 0), try key.bigEndian32(at: 4), try key.bigEndian32(at: 8),
          try key.bigEndian64(at: 12)
        )
      }
      guard found.0 == zone.rawValue else { break }
      let replica = ReplicaNumber(rawValue: found.1)
      let last = try lastSequence(of: replica, found.2, in: zone, transaction)
      // Sequences are gapless from the first that the log still has.
      lanes.append((replica, found.2, last - found.3 + 1, last))
      let next = TableKey.sequence(zone, replica, found.2, .max)
      isThere = try cursor.seek(atOrAfter: next.span)
    }
    return lanes
  }
}
