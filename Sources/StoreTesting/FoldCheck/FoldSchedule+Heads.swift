extension FoldSchedule {
  /// Runs the schedule, and gives what the heads of a cell say once all replicas are settled, greatest first:
  /// values, or “alive”, “dead” and “moved to p0”.
  ///
  /// - Parameter field: the field's number, −1 for the record's existence.
  /// - Throws: what the check finds.
  func heads(record: Int, field: Int) throws -> [String] {
    try heads(ofRecord: record)[field + 1]
  }

  /// Runs the schedule, and gives what the heads of a record's cells say once all replicas are settled,
  /// greatest first: those of its existence, then of each field.
  ///
  /// - Throws: what the check finds.
  package func heads(ofRecord record: Int) throws -> [[String]] {
    var world = FoldWorld(self, fault: nil)
    try world.run(orders: 1, exhaustiveTransactionsMax: 6)
    let history = world.history
    let view = history.whole
    var heads: [OracleHead] = []
    return (-1..<fields).map { field in
      history.findHeads(of: field, in: record, view, into: &heads)
      return heads.map { head in
        if field >= 0 { return FoldValue(rawValue: UInt8(head.content)).description }
        if let place = FoldExistence.place(head.content) { return "moved to p\(place)" }
        return head.content == FoldExistence.dead ? "dead" : "alive"
      }
    }
  }
}
