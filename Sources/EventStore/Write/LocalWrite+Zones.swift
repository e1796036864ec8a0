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
    guard let (number, found) = try markingUnexpectedFailure({ try storage.zones.find(zone) }) else {
      throw StoreError.unknown(zone)
    }
    var row = found
    guard row.status != .attached else { return }
    row.status = .attached
    row.restoresLog = row.hasReadLog
    storage.setZoneRow(row, number)
    try markingUnexpectedFailure { try storage.flush() }
    keep(.attach(zone))
  }

  func detachZone(_ zone: ZoneID) throws {
    let (number, found) = try markingUnexpectedFailure { try storage.zones.visible(zone) }
    guard found.status == .attached else { return }
    var row = found
    row.detach()
    storage.setZoneRow(row, number)
    try markingUnexpectedFailure { try storage.flush() }
    keep(.detach(zone))
  }

  /// Removes the copy of a zone here, which the remote has too.
  func evictZone(_ zone: ZoneID) throws {
    let (number, row) = try markingUnexpectedFailure { try storage.zones.visible(zone) }
    guard row.status == .attached else {
      throw StoreError(
        .unsettled, "zone “\(zone)” is not synced, so that the remote may not have all of it",
        hint: "attach it and sync it first; one that is needed nowhere any more is deleted with `deleteZone`")
    }
    try markingUnexpectedFailure {
      try store.fold.flush()
      guard try !hasOperations(in: number) && storage.zones.isWholeAtRemote(number, row) else {
        throw StoreError(
          .unsettled, "zone “\(zone)” cannot be removed here only: the remote does not have all of it",
          hint: "sync first, until nothing waits to be sent")
      }
    }
    try markingFailure {
      store.fold.reset()
      dropDraft(of: number)
      try storage.zones.evict(zone, number, row)
    }
    keep(.evict(zone))
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

  /// Names a floor of a zone's log, in a transaction of its own.
  func nameFloor(_ floor: UInt64, of zone: ZoneID) throws {
    let draft = try draft(for: zone)
    guard draft.encoder.operationCount == 0 else {
      throw StoreError(
        .outOfOrder, "a floor of zone “\(zone)” is to be named beside other changes of it",
        hint: "name it in a write of its own")
    }
    _ = try draft.beginOperation()
    draft.encoder.appendCompact(floor: floor)
    draft.content.floor = floor
  }
}
