import LMDB
package import OperationFormat

/// Longer code of planted bugs in a store.
extension LocalStore {
  /// Folds segments as a planted bug would; nil if no planted bug changes the fold.
  func ingestAsPlanted(_ segments: [RemoteSegment]) async throws -> IngestReport? {
    guard let last = segments.last else { return nil }
    if PlantedBug.tokenBeforeData.isPlanted {
      try await core.perform { store in
        let token = try store.storage.zones.visible(last.zone).row.token
        guard segments[0].offset <= (token?.offset ?? 0) + 1 else { return }
        try store.moveToken(to: last.offset, last.hash, of: last.incarnation, last.zone)
      }
    }
    if PlantedBug.tokenInSecondTransaction.isPlanted { return try await foldBeforeToken(segments, last) }
    if PlantedBug.unknownOperationDropped.isPlanted {
      let stripped = try segments.map { try $0.withoutUnknownOperations() }
      return try await core.perform { try $0.ingest(stripped) }
    }
    return nil
  }

  private func foldBeforeToken(_ segments: [RemoteSegment], _ last: RemoteSegment) async throws
    -> IngestReport
  {
    let report = try await core.perform { store in
      let (zone, before) = try store.storage.zones.visible(last.zone)
      let report = try store.ingest(segments)
      var row = try store.storage.zoneRow(zone)
      // An offset of 0 is like no token.
      row.token?.offset = before.token?.offset ?? 0
      row.token?.hash = before.token?.hash ?? .zero
      row.base = before.base
      store.storage.setZoneRow(row, zone)
      return report
    }
    try await core.perform { store in
      try store.moveToken(to: last.offset, last.hash, of: last.incarnation, last.zone)
    }
    return report
  }

  /// An acknowledgement as a planted bug would change it.
  func asPlanted(_ acknowledgement: Acknowledgement) throws -> Acknowledgement {
    guard PlantedBug.acknowledgesOneTooMany.isPlanted else { return acknowledgement }
    let sequences = acknowledgement.sequences
    let pending = try read { try $0.pendingCount(in: acknowledgement.zone) }
    let count = sequences.upperBound - sequences.lowerBound
    guard pending > 1, count < UInt64(pending - 1) else { return acknowledgement }
    var more = acknowledgement
    more.sequences = sequences.lowerBound...sequences.upperBound + 1
    return more
  }

  /// Commits the token of the list of zones first, and its events afterwards.
  func applyAfterToken(
    _ events: [ZoneEvent], _ start: UInt64, _ token: DatabaseToken, _ chosen: Set<ZoneID>?
  ) async throws -> ZoneListReport {
    let before = try syncState().databaseToken
    if before.map({ $0.remote == token.remote && $0.offset < token.offset && start <= $0.offset }) ?? true {
      try await core.perform { try $0.storage.meta.setDatabaseToken(token) }
    }
    return try await core.perform { store in
      if let before {
        try store.storage.meta.setDatabaseToken(before)
      } else {
        let key = TableKey.meta(.remote)
        _ = try store.storage.transaction.delete(key.span, in: store.storage.tables.meta)
      }
      return try ZoneCatalog(store).apply(events, [], start, token, chosen)
    }
  }

  /// Records a segment as if it had been folded.
  ///
  /// - Returns: the zone's token afterwards.
  package func skip(_ header: SegmentHeader, at offset: UInt64) async throws -> ChangeToken? {
    try await core.perform { try $0.skip(header, at: offset) }
    return try read { try $0.changeToken(of: header.zone) }
  }

  /// Counts the transactions of a segment as sent.
  package func forgetPending(_ header: SegmentHeader) async throws {
    try await core.perform { store in
      let (zone, row) = try store.storage.zones.visible(header.zone)
      guard let incarnation = row.token?.incarnation else { return }
      try store.forgetPending(of: zone, incarnation, through: header.sequences.upperBound)
    }
  }
}

extension StoreTransaction {
  fileprivate func ingest(_ segments: [RemoteSegment]) throws -> IngestReport {
    var report = IngestReport()
    var ingest = RemoteIngest(self)
    for segment in segments { try ingest.ingest(segment, &report) }
    report.segments = segments.count
    return report
  }
}

extension RemoteSegment {
  /// The segment without operations of unknown kinds, except in transactions that have no others.
  fileprivate func withoutUnknownOperations() throws -> RemoteSegment {
    var segment = self
    for (index, bytes) in transactions.enumerated() {
      let span = bytes.span
      guard var transaction = try? LogTransaction(decoding: span.bytes) else { continue }
      let known = transaction.operations.filter { if case .unknown = $0 { false } else { true } }
      guard !known.isEmpty, known.count < transaction.operations.count else { continue }
      transaction.operations = known
      transaction.names = nil
      segment.transactions[index] = try transaction.encoded()
    }
    return segment
  }
}
