import OperationFormat

extension RemoteIngest {
  /// Records an entry of a remote log that was given up: it has an offset and a hash, and no transactions.
  ///
  /// - Throws: ``StoreError`` `mismatch` if the store has what was there, or another tombstone.
  func recordQuarantined(
    _ segment: RemoteSegment, _ zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ report: inout IngestReport
  ) throws {
    if let known = try storage.segments.row(at: segment.offset, in: zone, incarnation) {
      guard known.isQuarantined, known.hash == segment.hash else {
        // Its transactions count as shipped here, and no replica gets them from there.
        throw StoreError(
          .mismatch,
          "offset \(segment.offset) of zone “\(segment.zone)” was given up at the remote, and this store has "
            + "what was there",
          hint: "read the zone's log again from there: "
            + "`replay sync STORE --remote REMOTE --reread \("\(segment.zone)@\(segment.offset)".argument)`")
      }
    } else {
      let log = LogPrefix(zone: zone, incarnation: incarnation, end: segment.offset)
      let row = SegmentRow.quarantined(segment.hash, chain: try rules.chain(of: segment, log))
      try storage.segments.place(row, in: zone, incarnation, at: segment.offset)
    }
    try moveToken(of: zone, incarnation, to: segment.offset, segment.hash)
    report.token = try token(of: zone, segment.zone, segment.incarnation)
  }
}
