import OperationFormat

/// Segments that are too much for one commit: they go into the log, and are folded later.
extension WriteBatch {
  /// Folds a segment, unless that takes more than one commit may do.
  ///
  /// - Throws: ``FoldBoundReached``: what was done is to be undone.
  func foldBounded(_ segment: RemoteSegment, _ report: inout FoldReport) throws {
    fold.bound.begin(foldsLater ? .none : .givesUp)
    defer { fold.bound.end() }
    try fold(segment, &report)
  }

  /// Folds segments of a zone. Where its records are behind its token, or are to be from here on, they go into the log alone:
  /// ``LocalStore/finishRenewal()`` folds them. Until then what is written has not seen them.
  ///
  /// - Parameters:
  ///   - isTooMuch: whether the first segment alone was more than one commit may do.
  ///   - foldAll: folds them.
  /// - Returns: nil if the log is being folded again for another reason.
  /// - Throws: ``FoldBoundReached``: what was done is to be undone.
  func foldOrAppend(
    of zone: ZoneID?, isTooMuch: Bool, _ foldAll: (inout FoldReport) throws -> Void
  ) throws -> FoldReport? {
    var report = FoldReport()
    let isFoldingAgain = try zone.map { try self.isFoldingAgain($0) } ?? false
    guard isFoldingAgain || isTooMuch, let zone else {
      do {
        try foldAll(&report)
        return report
      } catch is FoldBoundReached {
        throw FoldBoundReached(segments: report.segments)
      }
    }
    let (number, before) = try storage.zone(zone)
    if isFoldingAgain, before.building == .none || !before.isBaseBehindToken { return nil }
    foldsLater = true
    defer { foldsLater = false }
    try foldAll(&report)
    report.foldedBeside = report.segments
    if isFoldingAgain { return report }
    var row = try storage.zoneRow(number)
    row.base = before.base.flatMap { $0.incarnation == row.token?.incarnation ? $0 : nil }
    storage.setZoneRow(row, number)
    try foldAgain(number)
    return report
  }

  /// Whether the log is being folded again for a zone: for it, or for all.
  private func isFoldingAgain(_ zone: ZoneID) throws -> Bool {
    guard try isFoldingAgain else { return false }
    guard try storage.unfinishedRebuild()?.place.isPartial ?? false else { return true }
    return try isFoldedAgain(storage.zone(zone).0)
  }
}
