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
      guard known == .quarantined(segment.hash) else {
        // Its transactions count as shipped here, and no replica gets them from there.
        throw StoreError(
          .mismatch,
          "offset \(segment.offset) of zone “\(segment.zone)” was given up at the remote, and this store has "
            + "what was there",
          hint: "read the zone's log again from there: "
            + "`replay sync STORE --remote REMOTE --reread \("\(segment.zone)@\(segment.offset)".argument)`")
      }
    } else {
      try storage.segments.record(.quarantined(segment.hash), in: zone, incarnation, at: segment.offset)
    }
    var row = try storage.zoneRow(zone)
    if row.moveToken(to: segment.offset, segment.hash, of: incarnation) { storage.setZoneRow(row, zone) }
    report.token = try token(of: zone, segment.zone, segment.incarnation)
  }
}

extension ZoneRow {
  /// Moves token and base to an offset, if it is the token's next one.
  ///
  /// - Returns: whether it was.
  mutating func moveToken(
    to offset: UInt64, _ hash: ContentHash, of incarnation: IncarnationNumber
  ) -> Bool {
    guard offset == (token?.offset ?? 0) + 1 else { return false }
    let isBehind = building != .none && isBaseBehindToken
    token = Token(incarnation: incarnation, offset: offset, hash: hash)
    if !isBehind { raiseBaseToToken() }
    return true
  }

  /// Whether the records are behind the token, and so what a new transaction has seen: they are being folded
  /// again.
  var isBaseBehindToken: Bool {
    guard let token, token.offset > 0 else { return false }
    return base.map { $0.incarnation == token.incarnation && $0.offset < token.offset } ?? true
  }

  mutating func raiseBaseToToken() {
    guard let token, token.offset > 0 else { return }
    if base?.incarnation != token.incarnation || base!.offset < token.offset {
      base = (token.incarnation, token.offset)
    }
  }
}
