import OperationFormat

/// A transaction that a write has appended, kept to append and fold it again. It holds identities, because
/// numbers are undone with the commit.
struct KeptTransaction: Sendable {
  var header: TransactionHeader
  var position: Position
  var arrivalDelay: Int64
  var body: [UInt8]
  /// What it takes back.
  var undone: Undone?

  struct Undone {
    let root: Position
    /// Whether it belongs to the transaction before.
    let isAddition: Bool
  }
}

extension MetaTable where Source == TableStorage {
  /// Notes that the transaction at a position takes another one back.
  func noteUndo(_ undone: KeptTransaction.Undone, at position: Position) throws {
    try noteUndo(of: undone.root, at: position, isAddition: undone.isAddition)
  }
}

/// Repeats local writes whose commit was undone.
struct KeptWrite {
  let write: LocalWrite

  init(_ write: LocalWrite) { self.write = write }

  /// Appends and folds a write's transactions again, after its commit was undone.
  ///
  /// If another process has written since, they follow its transactions.
  func append(_ transactions: [KeptTransaction], _ changes: [ZoneChange]) throws {
    for change in changes { try doAgain(change) }
    for transaction in transactions {
      var again = transaction
      // If the zone was deleted since, its transactions are gone.
      guard let (zone, row) = try write.storage.zones.find(again.header.zone), row.status.isVisible else {
        continue
      }
      let replica = try write.storage.replicas.makeNumber(for: again.header.replica)
      // If another process has taken the next epoch, nothing of the previous one is shipped any more.
      again.header.epoch = row.ownEpoch(write.store.identity)
      again.header.sequence = try write.storage.lastSequence(of: replica, again.header.epoch, in: zone) + 1
      let isSame = again.header.id == transaction.header.id
      if try !isSame || !write.storage.lanes.renamings(of: zone).isEmpty { try checkNamesNoUnits(again) }
      let body = transaction.body.span.bytes
      write.store.clock.last = max(write.store.clock.last, try write.store.timestamp(ofBody: body))
      var header = try write.store.entryHeader(
        for: again.header, replica, zone, arrivalDelay: again.arrivalDelay)
      try follow(&header, row)
      again.header = try write.storage.log.transactionHeader(of: header)
      try write.store.appendParsed(header, body: body, receivedMilliseconds: nil)
      again.position = try write.storage.lastPosition()
      if let undone = again.undone { try write.storage.meta.noteUndo(undone, at: again.position) }
      write.keep(again)
    }
    try write.store.fold.flush()
  }

  /// Lets a transaction follow what its lane has now: it has seen what that had seen, and names a parent if
  /// it is the first.
  private func follow(_ header: inout LogEntryHeader, _ row: ZoneRow) throws {
    let (replica, epoch, zone) = (header.replica, header.epoch, header.zone)
    let parent = try write.storage.parent(of: replica, epoch, in: zone)
    let isFirst = header.sequence == 1
    var known = row
    known.base = header.base
    // Another process may have read the zone's log again, and the log may be shorter now.
    if let base = header.base, base.incarnation == row.token?.incarnation {
      known.base = row.base.flatMap {
        $0.incarnation == base.incarnation ? (base.incarnation, min(base.offset, $0.offset)) : nil
      }
    }
    let base = try write.store.base(known, after: header.sequence - 1, of: replica, epoch, parent, zone)
    header = LogEntryHeader(
      zone: zone, replica: replica, epoch: epoch, sequence: header.sequence, base: base,
      parent: isFirst ? parent : nil, arrivalDelay: header.arrivalDelay)
  }

  /// Refuses a transaction that comes after one of another process and names units of a list or a text: their
  /// numbers were counted without those that the other one made.
  private func checkNamesNoUnits(_ transaction: KeptTransaction) throws {
    var decoder = BodyDecoder()
    try decoder.parse(transaction.body.span.bytes)
    guard decoder.operations.contains(where: { $0.kind.namesUnits }) else { return }
    throw StoreError(
      .commitFailed,
      "another process wrote to zone “\(transaction.header.zone)” before this write could be committed again",
      hint: "nothing of it is in the store: write it once more")
  }

  /// Repeats what a write did to a zone, unless another process has deleted the zone.
  func doAgain(_ change: ZoneChange) throws {
    switch change {
    case .make(let zone): _ = try write.makeZone(zone)
    case .attach(let zone):
      if try write.storage.zones.find(zone) != nil { try write.attachZone(zone) }
    case .detach(let zone): if try isVisible(zone) { try write.detachZone(zone) }
    case .evict(let zone): if try isVisible(zone) { try write.evictZone(zone) }
    case .delete(let zone): if try isVisible(zone) { try write.deleteZone(zone) }
    case .noteUndo(let root): try write.noteUndo(of: root)
    }
  }

  private func isVisible(_ zone: ZoneID) throws -> Bool {
    try write.storage.zones.find(zone)?.row.status.isVisible ?? false
  }
}
