package import LMDB
import OperationFormat

/// Lookups that reading and writing share. All are one or two reads of LMDB.
extension Tables {
  package func zoneRow(_ zone: ZoneNumber, _ transaction: borrowing Transaction) throws -> ZoneRow? {
    try transaction.withCheckedValue(of: TableKey.zoneRow(zone), in: zones) { try ZoneRow($0) }
  }

  /// The last position of the log, `.start` if it is empty.
  package func lastPosition(_ transaction: borrowing Transaction) throws -> Position {
    var cursor = try transaction.openCursor(log)
    guard try cursor.last() else { return .start }
    return try cursor.withEntry { key, row in
      let position = Position(rawValue: try key.bigEndian64(at: 0))
      return try LogEntryCodec.removedRun(row, at: position)?.upperBound ?? position
    }
  }

  package func position(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ transaction: borrowing Transaction
  ) throws -> Position? {
    let key = TableKey.sequence(zone, replica, epoch, sequence)
    return try transaction.withCheckedValue(of: key, in: sequences) { row in
      var reader = ByteReader(row)
      return Position(rawValue: try reader.readVarint("row"))
    }
  }

  /// The last sequence that the store has of a replica's epoch in a zone; 0 if none.
  package func lastSequence(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ transaction: borrowing Transaction
  ) throws -> UInt64 {
    var cursor = try transaction.openCursor(sequences)
    guard try cursor.seek(atMost: TableKey.sequence(zone, replica, epoch, .max).span) else { return 0 }
    return try cursor.withCheckedEntry { key, _ in
      try key.bigEndian32(at: 0) == zone.rawValue && key.bigEndian32(at: 4) == replica.rawValue
        && key.bigEndian32(at: 8) == epoch ? key.bigEndian64(at: 12) : 0
    }
  }

  /// The run of placed sequences that holds one, in an incarnation of a zone's remote log.
  package func placement(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber, _ transaction: borrowing Transaction
  ) throws -> (first: UInt64, last: UInt64, offset: UInt64)? {
    let key = TableKey.placement(zone, incarnation, replica, epoch, last: sequence)
    var cursor = try transaction.openCursor(placements)
    guard try cursor.seek(atOrAfter: key.span) else { return nil }
    return try cursor.withCheckedEntry { found, row in
      for offset in stride(from: 0, to: 16, by: 4)
      where try found.bigEndian32(at: offset) != key.span.bigEndian32(at: offset) {
        return nil
      }
      var reader = ByteReader(row)
      let first = try reader.readVarint("row")
      let offset = try reader.readVarint("row")
      let last = try found.bigEndian64(at: 16)
      return first <= sequence && sequence <= last ? (first, last, offset) : nil
    }
  }

  /// The last placed sequence of a replica's epoch in an incarnation; 0 if none.
  package func lastPlaced(
    _ replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ transaction: borrowing Transaction
  ) throws -> UInt64 {
    let end = TableKey.placement(zone, incarnation, replica, epoch, last: .max)
    var cursor = try transaction.openCursor(placements)
    guard try cursor.seek(atMost: end.span) else { return 0 }
    return try cursor.withCheckedEntry { found, _ in
      for offset in stride(from: 0, to: 16, by: 4)
      where try found.bigEndian32(at: offset) != end.span.bigEndian32(at: offset) {
        return 0
      }
      return try found.bigEndian64(at: 16)
    }
  }

  package func segment(
    at offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ transaction: borrowing Transaction
  ) throws -> SegmentRow? {
    try transaction.withCheckedValue(of: TableKey.segment(zone, incarnation, offset), in: segments) {
      try SegmentRow($0)
    }
  }

  /// The last offset of an incarnation where a segment lies, as far as the store knows; 0 if none does.
  package func lastSegment(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, _ transaction: borrowing Transaction
  ) throws -> UInt64 {
    var cursor = try transaction.openCursor(segments)
    guard try cursor.seek(atMost: TableKey.segment(zone, incarnation, .max).span) else { return 0 }
    return try cursor.withCheckedEntry { key, _ in
      try key.bigEndian32(at: 0) == zone.rawValue && key.bigEndian32(at: 4) == incarnation.rawValue
        ? key.bigEndian64(at: 8) : 0
    }
  }

  /// What a replica's epoch continues in a zone, nil if it continues nothing.
  func parent(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ transaction: borrowing Transaction
  ) throws -> (replica: ReplicaNumber, epoch: UInt32, through: UInt64)? {
    try transaction.withCheckedValue(of: TableKey.lineage(zone, replica, epoch), in: replicas) { row in
      var reader = ByteReader(row)
      return (
        replica: ReplicaNumber(rawValue: try reader.readUInt32Varint("parent")),
        epoch: try reader.readUInt32Varint("parent.epoch"), through: try reader.readVarint("row")
      )
    }
  }

  /// The identities that a replica's epoch continues in a zone, nearest first, at most `Limits.lineageMax`.
  package func lineage(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ transaction: borrowing Transaction
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32, through: UInt64)] {
    var lineage: [(replica: ReplicaNumber, epoch: UInt32, through: UInt64)] = []
    var at = (replica: replica, epoch: epoch)
    // Rows that name each other in a circle end here.
    while lineage.count < Limits.lineageMax,
      let parent = try parent(of: at.replica, at.epoch, in: zone, transaction)
    {
      lineage.append(parent)
      at = (parent.replica, parent.epoch)
    }
    return lineage
  }

  package func elements(
    under prefix: ElementKey, _ transaction: borrowing Transaction
  ) throws -> [(key: ElementKey, row: [UInt8])] {
    var found: [(key: ElementKey, row: [UInt8])] = []
    try forEachElement(under: prefix, from: prefix, transaction) { key, row in
      found.append((ElementKey(bytes: key.bytes), row.bytes))
      return true
    }
    return found
  }

  package func forEachElement(
    under prefix: ElementKey, from key: ElementKey, _ transaction: borrowing Transaction,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    var cursor = try transaction.openCursor(elements)
    var isThere = try cursor.seek(atOrAfter: key.bytes.span.bytes)
    while isThere {
      let goesOn = try cursor.withEntry { key, row in
        try key.hasPrefix(prefix.bytes) && body(key, row)
      }
      guard goesOn else { return }
      isThere = try cursor.next()
    }
  }

  package func policies(_ transaction: borrowing Transaction) throws -> [NameNumber: ExistencePolicy] {
    try transaction.withValue(of: TableKey.meta(.policies).span, in: meta) { row in
      var policies: [NameNumber: ExistencePolicy] = [:]
      var reader = ByteReader(row)
      while reader.remaining > 0 {
        let type = NameNumber(rawValue: try reader.readUInt32Varint("policy.type"))
        let byte = try reader.readUInt8("row")
        guard let policy = ExistencePolicy(rawValue: byte) else {
          throw FormatError(
            .unknownTag, at: reader.position, in: "policy", expected: "0 to 2", found: "\(byte)")
        }
        policies[type] = policy
      }
      return policies
    } ?? [:]
  }
}

extension Cursor {
  /// Stands on the greatest entry whose key is at most `key`.
  package mutating func seek(atMost key: RawSpan) throws(LMDBError) -> Bool {
    if try seek(to: key) { return true }
    return try seek(before: key)
  }
}
