extension FoldSchedule {
  /// Runs the schedule, and gives what the heads of a cell say once all replicas are settled, greatest first:
  /// values, or “alive”, “dead” and “moved to p0”.
  ///
  /// - Parameter cell: −1 for the record's existence; from 0 on the registers of its fields, then other kinds.
  /// - Throws: what the check finds.
  func heads(record: Int, cell: Int) throws -> [String] {
    Self.heads(of: cell, in: record, try settled())
  }

  /// Runs the schedule, and gives what the heads of a record's existence and registers say once all replicas are
  /// settled, greatest first: those of its existence, then of each field.
  ///
  /// - Throws: what the check finds.
  package func heads(ofRecord record: Int) throws -> [[String]] {
    let history = try settled()
    return (-1..<fields).map { Self.heads(of: $0, in: record, history) }
  }

  private func settled() throws -> FoldHistory {
    var world = FoldWorld(self, fault: nil)
    try world.run(orders: 1, exhaustiveTransactionsMax: 6)
    return world.history
  }

  private static func heads(of cell: Int, in record: Int, _ history: FoldHistory) -> [String] {
    var heads: [OracleHead] = []
    history.findHeads(of: cell, in: record, history.whole, into: &heads)
    return heads.map { head in
      if cell >= 0 { return history.cells.kind(of: cell).words(head.content) }
      if let place = FoldExistence.place(head.content) { return "moved to p\(place)" }
      return head.content == FoldExistence.dead ? "dead" : "alive"
    }
  }
}
