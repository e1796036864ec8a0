import LMDB
import OperationFormat

/// Lanes whose names differ between a zone's records and its log: see ``LaneRenaming``.
extension StoreTransaction {
  /// Refuses work that is not possible while lanes have other names in a zone's records than in its log.
  func checkNamesAreNew(of zone: ZoneNumber) throws {
    guard try !storage.lanes.renamings(of: zone).isEmpty else { return }
    throw StoreError(
      .outOfOrder, "the log of zone number \(zone.rawValue) is being folded again",
      hint: "let that end first: open the store once more, or run `replay sync`")
  }

  /// The operand of an operation on a list or a text, with the names that the log uses.
  ///
  /// - Parameters:
  ///   - operand: the operand with the names that the records use. It is folded already.
  ///   - own: the write's lane in the log.
  func operandInNewNames(
    _ kind: OperationKind, _ field: NameNumber, operand: RawSpan, _ renamings: [LaneRenaming], own: Lane
  ) throws -> ByteWriter {
    var change = try FieldChange(kind, decoding: operand)
    let cell = CellNumber(field, change.fieldKind)
    let record = try fold.recordNumber
    for renaming in renamings {
      let isOwn = renaming.new == own
      var kept = try storage.lanes.keptUnits(of: renaming.old, record, cell)
      if kept == nil, isOwn, change.insertedUnits > 0 {
        // The first insertion of the new lane here: all earlier units are the old lane's.
        let all = try fold.unitOrder(of: cell).nextNumber(of: renaming.old.replica, renaming.old.epoch)
        kept = all - change.insertedUnits
        try storage.lanes.setKeptUnits(all - change.insertedUnits, of: renaming.old, record, cell)
      }
      let units = UnitRenaming.Units(
        old: try maker(renaming.old), new: isOwn ? nil : try maker(renaming.new), kept: kept ?? .max)
      change = units.renamed(change)
    }
    var writer = ByteWriter()
    try change.encode(into: &writer)
    return writer
  }

  private func maker(_ lane: Lane) throws -> UnitMaker {
    UnitMaker(replica: try storage.replicaID(lane.replica), epoch: lane.epoch)
  }
}
