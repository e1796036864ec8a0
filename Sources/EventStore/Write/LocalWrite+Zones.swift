import OperationFormat

/// Zones: to make, attach and delete them.
extension LocalWrite {
  /// Makes a zone if there is none of that name.
  ///
  /// - Returns: whether it is new.
  func makeZone(_ zone: ZoneID) throws -> Bool {
    let isNew = try markingUnexpectedFailure { try storage.zones.make(zone).isNew }
    if isNew { keep(.make(zone)) }
    return isNew
  }

  func attachZone(_ zone: ZoneID) throws {
    let (number, found) = try markingUnexpectedFailure { try storage.zones.visible(zone) }
    var row = found
    guard row.status == .local else { return }
    row.status = .attached
    storage.setZoneRow(row, number)
    try markingUnexpectedFailure { try storage.flush() }
    keep(.attach(zone))
  }

  /// Deletes a zone, and drops the write's operations in it.
  func deleteZone(_ zone: ZoneID) throws {
    let (number, row) = try markingUnexpectedFailure { try storage.zones.visible(zone) }
    try markingFailure {
      try store.fold.flush()
      store.fold.reset()
      dropDraft(of: number)
      try storage.zones.delete(zone, number, row)
    }
    keep(.delete(zone))
  }
}
