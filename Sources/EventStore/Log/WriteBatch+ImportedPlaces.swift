import LMDB
import OperationFormat

extension WriteBatch {
  /// Checks, at the end of a log, that what it says of remote logs is no more than its transactions: a store that lacks one of a
  /// segment's would say that it is in sync, without it.
  ///
  /// - Throws: ``StoreError`` `importInvalid`.
  func checkImportedPlaces() throws {
    try storage.flush()
    let tables = storage.tables
    for (number, row) in try tables.zoneRows(storage.transaction) where !row.status.isGone {
      func hash(at place: (incarnation: IncarnationNumber, offset: UInt64)) throws -> ContentHash? {
        try tables.segment(at: place.offset, in: number, place.incarnation, storage.transaction)?.hash
      }
      if let token = row.token, token.offset > 0,
        try hash(at: (token.incarnation, token.offset)) != token.hash
      {
        throw Self.invalid("the token of a zone, at offset \(token.offset), does not match a segment")
      }
      if let base = row.base, try hash(at: base) == nil {
        throw Self.invalid("the base of a zone is at offset \(base.offset), where no segment is")
      }
    }
    var cursor = try storage.transaction.openCursor(tables.segments)
    var isThere = try cursor.first()
    while isThere {
      let (key, bytes) = cursor.withEntry { ($0.bytes, $1.bytes) }
      try checkImportedSegment(key.span.bytes, bytes.span.bytes)
      isThere = try cursor.next()
    }
  }

  private func checkImportedSegment(_ key: RawSpan, _ bytes: RawSpan) throws {
    let row = try SegmentRow(CheckedRow.content(of: bytes, under: key))
    guard row.rejection == nil, !row.isQuarantined else { return }
    let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 0))
    let incarnation = IncarnationNumber(rawValue: try key.bigEndian32(at: 4))
    let offset = try key.bigEndian64(at: 8)
    let last = try storage.lastSequence(of: row.replica, row.epoch, in: zone)
    if row.first <= row.last, row.last <= last { return }
    // One that was acknowledged behind where its lane was closed since is rejected when it is read. What it holds may have been issued
    // again by then.
    let closure = try storage.tables.closure(
      of: row.replica, row.epoch, in: zone, incarnation, storage.transaction)
    if let closure, closure < offset { return }
    throw Self.invalid(
      "the segment at offset \(offset) holds the sequences \(row.first) to \(row.last), and the log has them up to \(last)"
    )
  }

  private static func invalid(_ message: String) -> StoreError {
    StoreError(
      .importInvalid, message, hint: "the file was changed, or lines are missing: export the log again")
  }
}
