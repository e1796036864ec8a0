import LMDB
import OperationFormat

/// What the tables say of a remote log, against what the log holds.
extension Tables {
  /// What is wrong with a segment's row: a store that lacks one of its transactions would say that it is in
  /// sync, without it.
  ///
  /// - Parameter key: the row's key in `segments`.
  /// - Returns: nil if the log has the segment's sequences and their place, or need not.
  /// - Throws: `FormatError` if the row, or another that it leads to, cannot be read.
  func problem(
    ofSegment key: RawSpan, _ bytes: RawSpan, _ transaction: borrowing LMDBTransaction
  ) throws -> String? {
    let row = try SegmentRow(CheckedRow.content(of: bytes, under: key))
    // What was rejected, and what was quarantined unread, has no sequences that could have a place.
    if row.rejection != nil || row == .quarantined(row.hash) { return nil }
    let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 0))
    let incarnation = IncarnationNumber(rawValue: try key.bigEndian32(at: 4))
    let offset = try key.bigEndian64(at: 8)
    // One that was acknowledged behind where its lane was closed since is rejected when it is read. What it
    // holds may have been issued again by then.
    let closure = try closure(of: row.replica, row.epoch, in: zone, incarnation, transaction)
    if let closure, closure < offset { return nil }
    let last = try lastSequence(of: row.replica, row.epoch, in: zone, transaction)
    guard row.first > 0, row.first <= row.last, row.last <= last else {
      return "the segment at offset \(offset) holds the sequences \(row.first) to \(row.last), "
        + "and the log has them up to \(last)"
    }
    let place = try placement(of: row.replica, row.epoch, row.last, in: zone, incarnation, transaction)
    return place == nil ? "the segment at offset \(offset) has no place for its sequence \(row.last)" : nil
  }
}
