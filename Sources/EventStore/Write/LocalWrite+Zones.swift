import OperationFormat

/// Zones as a whole: made, attached, deleted.
extension LocalWrite {
  /// Makes a zone if the store does not show it yet, and gives whether it is new.
  func makeZone(_ zone: ZoneID) throws -> Bool {
    let isNew = try guarding { try storage.zones.make(zone).isNew }
    if isNew { keep(.make(zone)) }
    return isNew
  }

  func attachZone(_ zone: ZoneID) throws {
    let (number, found) = try guarding { try storage.zones.visible(zone) }
    var row = found
    guard row.status == .local else { return }
    row.status = .attached
    storage.setZoneRow(row, number)
    try guarding { try storage.flush() }
    keep(.attach(zone))
  }

  /// Deletes a zone, and what the write has done in it.
  func deleteZone(_ zone: ZoneID) throws {
    let (number, row) = try guarding { try storage.zones.visible(zone) }
    try folding {
      try store.fold.flush()
      store.fold.reset()
      dropDraft(of: number)
      try storage.zones.delete(zone, number, row)
    }
    keep(.delete(zone))
  }
}
