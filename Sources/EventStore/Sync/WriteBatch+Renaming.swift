import LMDB
import OperationFormat

/// What is written between the commit that issues transactions again and the one that puts the records of the log in the place
/// of the present ones: see ``LaneRenaming``.
extension WriteBatch {
  /// Remembers that a zone's records call a lane, from a sequence on, and its units otherwise than the log does by now.
  func note(_ units: UnitRenaming, from first: UInt64, of old: Lane, as new: Lane) throws {
    try storage.addRenaming(LaneRenaming(old: old, new: new, shift: first - 1))
    let state = try storage.zoneRow(old.zone).state
    for (cell, kept) in units.kept
    where try fold.find(Array(cell.record.rawValue.utf8).span.bytes, in: state) {
      let number = CellNumber(try internName(cell.field), cell.isText ? .text : .list)
      try storage.setKeptUnits(kept, of: old, try fold.recordNumber, number)
    }
  }

  /// What an operation of a local write says of a list or a text of the record at hand, in the names that the log uses.
  ///
  /// - Parameters:
  ///   - operand: the same in the names that the records use, folded already.
  ///   - own: the write's lane in the log.
  func operandInNewNames(
    _ kind: OperationKind, _ field: NameNumber, operand: RawSpan, _ renamings: [LaneRenaming], own: Lane
  ) throws -> ByteWriter {
    var change = try FieldChange(kind, decoding: operand)
    let isText = kind == .insertText || kind == .removeText
    let cell = CellNumber(field, isText ? .text : .list)
    let record = try fold.recordNumber
    for renaming in renamings {
      let isOwn = renaming.new == own
      var kept = try storage.keptUnits(of: renaming.old, record, cell)
      if kept == nil, isOwn, change.insertedUnits > 0 {
        // The first insertion here under the new lane: all that was there before is the old one's.
        let all = try fold.sequence(of: cell).nextNumber(of: renaming.old.replica, renaming.old.epoch)
        kept = all - change.insertedUnits
        try storage.setKeptUnits(all - change.insertedUnits, of: renaming.old, record, cell)
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

  /// Refuses what cannot be done while a zone's records call lanes otherwise than its log.
  func checkNamesAreNew(of zone: ZoneNumber) throws {
    guard try !storage.renamings(of: zone).isEmpty else { return }
    throw StoreError(
      .outOfOrder, "the log of zone number \(zone.rawValue) is being folded again",
      hint: "let that end first: open the store once more, or run `replay sync`")
  }
}
