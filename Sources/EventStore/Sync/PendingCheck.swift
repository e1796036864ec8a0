import LMDB
import OperationFormat

/// Checks that a store's records of its unsent work agree. Where they do not, that is an error: it must never
/// look like “nothing to send”.
extension Tables {
  /// How many entries at the log's end are compared with the sequences that name them.
  static let logTailEntriesMax = 64

  /// Compares the last sequence of an own lane, the last that is placed in a remote log, and the log: what
  /// was placed was written, and the first and the last pending transaction are in the log where `sequences`
  /// says. Those between are read when they are cut.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: reads two entries at most, and none where nothing is pending, or they are not to be read.
  func checkPending(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, placed: UInt64, last: UInt64,
    readsEntries: Bool = true, _ transaction: borrowing LMDBTransaction
  ) throws {
    guard placed <= last else {
      throw StoreError.unmatched(
        "sequence \(placed) is in the remote log, and the last one here is \(last)")
    }
    guard placed < last, readsEntries else { return }
    for sequence in Set([placed + 1, last]) {
      guard let position = try position(of: replica, epoch, sequence, in: zone, transaction) else {
        throw StoreError.unmatched("sequence \(sequence) of \(last), which was not sent, has no position")
      }
      let found = try transaction.withValue(of: TableKey.log(position).span, in: log) { row in
        try LogEntryCodec.read(row, at: position).header
      }
      guard let found, found.zone == zone, found.replica == replica, found.epoch == epoch,
        found.sequence == sequence
      else {
        throw StoreError.unmatched("sequence \(sequence), which was not sent, is not at position \(position)")
      }
    }
  }

  /// Compares the last entries of the log with `sequences`: an entry that no sequence names would never be
  /// sent.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: reads ``logTailEntriesMax`` entries at most.
  func checkLogTail(_ transaction: borrowing LMDBTransaction) throws {
    var cursor = try transaction.openCursor(log)
    var isThere = try cursor.last()
    var left = Self.logTailEntriesMax
    while isThere, left > 0 {
      try cursor.withEntry { key, row in
        let position = Position(rawValue: try key.bigEndian64(at: 0))
        if try LogEntryCodec.removedRun(row, at: position) != nil { return }
        let header = try LogEntryCodec.read(row, at: position).header
        let named = try self.position(
          of: header.replica, header.epoch, header.sequence, in: header.zone, transaction)
        // The entries of a zone that was removed go after their sequences.
        if named == position { return }
        if try named == nil && zoneRow(header.zone, transaction)?.status.isGone ?? true { return }
        throw StoreError.unmatched("the log has sequence \(header.sequence) at position \(position), unnamed")
      }
      isThere = try cursor.previous()
      left -= 1
    }
  }
}

extension StoreError {
  fileprivate static func unmatched(_ what: String) -> StoreError {
    StoreError(.damaged, "the store's sync state does not fit its log: \(what)", hint: damageHint)
  }
}
