import LMDB
package import OperationFormat

extension LocalStore {
  /// Begins to read a zone's remote log again from an offset: what the store knew of the log from there on counts no more.
  ///
  /// Rejections, closures, places and rows of segments from the offset on are taken back, and the token stands before it.
  /// No transaction is taken away: the store's own ones that have no place any more are pending, those of others wait.
  /// ``endRereading(_:)`` is to be called once the log was read to its end; until then nothing of the zone may be shipped.
  /// If it is cut short, the next round continues.
  ///
  /// - Parameter offset: from 1; one behind the token stands for the token's next one.
  /// - Returns: the first offset that is read again; nil if the store knows no log of the zone.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the segments from the offset on
  @discardableResult
  package func beginRereading(_ zone: ZoneID, from offset: UInt64) async throws -> UInt64? {
    try await performFolded { try LogRereading($0).begin(zone, from: offset) }
  }

  /// Whether a zone's log is being read again.
  package func isRereading(_ zone: ZoneID) throws -> Bool {
    try read { transaction in
      let (number, _) = try transaction.readView.zones.visible(zone)
      return try transaction.readView.lanes.rereading(of: number) != nil
    }
  }

  /// Whether the store knows segments behind the token: it shipped them while nobody could read what lies before.
  package func hasSegmentsAhead(in zone: ZoneID) throws -> Bool {
    try read { transaction in
      let (number, row) = try transaction.readView.zones.visible(zone)
      guard let token = row.token else { return false }
      let start = TableKey.segment(number, token.incarnation, token.offset + 1)
      return try transaction.readView.segments.hasAny(from: start)
    }
  }

  /// Takes away what others' segment says otherwise of a lane that waits: the log counts.
  ///
  /// - Returns: whether a lane waited, and differs.
  package func yieldLane(of zone: ZoneID, to segment: RemoteSegment) async throws -> Bool {
    try await performIfChanged { try LogRereading($0).yieldLane(of: zone, to: segment) ? true : nil } ?? false
  }

  /// Ends what ``beginRereading(_:from:)`` began, once the zone's log was read to its end.
  ///
  /// What is in the log comes in the log's order here too, and what is pending behind it, so that folding meets causes
  /// before effects. Of others' transactions that have no place any more, those that lay in an entry which was given up
  /// are pending, and shipped as they were. Those that the log does not take, or has replaced, are taken out: the store
  /// is as one that is new. The store's own that had seen what the log does not have are issued again, with bases that reach
  /// no further than what they had seen of it. ``finishRenewal()`` is to be called afterwards: it folds the log again.
  ///
  /// - Returns: how many transactions were taken out.
  /// - Complexity: linear in the transactions from the offset on, in one commit
  @discardableResult
  package func endRereading(_ zone: ZoneID) async throws -> Int {
    try await performFolded { try LogRereading($0).end(zone) }
  }
}
