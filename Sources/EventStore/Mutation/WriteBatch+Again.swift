import OperationFormat

extension WriteBatch {
  /// Appends and folds once more what a local write made, after its commit was undone.
  ///
  /// Another process may have written meanwhile: the transactions come after its own.
  func appendAgain(_ transactions: [Kept], _ changes: [ZoneChange]) throws {
    for change in changes { try doAgain(change) }
    for transaction in transactions {
      var again = transaction
      // A zone that was deleted meanwhile takes with it what came before.
      guard let (zone, row) = try storage.findZone(again.header.zone), row.status.isVisible else { continue }
      let replica = try storage.interned.replicas.makeNumber(
        for: again.header.replica, in: storage.tables.replicas, storage.transaction)
      again.header.sequence = try storage.lastSequence(of: replica, again.header.epoch, in: zone) + 1
      let isFirst = again.header.sequence == transaction.header.sequence
      if try !isFirst || !storage.renamings(of: zone).isEmpty { try checkNamesNoUnits(again) }
      if again.header.sequence > 1 { again.header.parent = nil }
      let body = again.body.span.bytes
      clock.last = max(clock.last, try timestamp(ofBody: body))
      try appendParsed(
        try number(again.header, replica, zone, arrivalDelay: again.arrivalDelay), body: body,
        receivedMilliseconds: nil)
      kept.append(again)
    }
    try fold.flush()
  }

  /// Refuses a transaction that comes after one of another process and names units of a list or a text: their numbers were
  /// counted without those that the other one made.
  private func checkNamesNoUnits(_ transaction: Kept) throws {
    var layout = BodyLayout()
    try layout.parse(transaction.body.span.bytes)
    guard layout.operations.contains(where: { $0.kind.namesUnits }) else { return }
    throw StoreError(
      .commitFailed,
      "another process wrote to zone “\(transaction.header.zone)” before this write could be committed again",
      hint: "nothing of it is in the store: write it once more")
  }
}
