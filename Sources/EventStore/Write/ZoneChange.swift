import OperationFormat

/// What a write did to a zone as a whole: enough to do it again after a commit that was undone.
enum ZoneChange: Hashable, Sendable {
  case make(ZoneID)
  case attach(ZoneID)
  case delete(ZoneID)

  var isDeletion: Bool { if case .delete = self { true } else { false } }
}

/// Zones as a whole: made, attached, deleted.
extension LocalWrite {
  /// Makes a zone if the store does not show it yet, and gives whether it is new.
  func makeZone(_ zone: ZoneID) throws -> Bool {
    let isNew = try guarding { try storage.makeZone(zone).isNew }
    if isNew { keep(.make(zone)) }
    return isNew
  }

  func attachZone(_ zone: ZoneID) throws {
    let (number, found) = try guarding { try storage.zone(zone) }
    var row = found
    guard row.status == .local else { return }
    row.status = .attached
    storage.setZoneRow(row, number)
    try guarding { try storage.flush() }
    keep(.attach(zone))
  }

  /// Deletes a zone, and what the write has done in it. Where the remote may have it too, its row stays, so that the
  /// remote can be told.
  func deleteZone(_ zone: ZoneID) throws {
    let (number, found) = try guarding { try storage.zone(zone) }
    try folding {
      try store.fold.flush()
      store.fold.reset()
      dropDraft(of: number)
      var row = found
      let isShared: Bool
      let proposed = try storage.tables.proposedIncarnation(of: number, storage.transaction)
      if let token = row.token {
        isShared =
          try row.status == .attached
          || storage.tables.hasSegments(in: number, token.incarnation, storage.transaction)
      } else if let proposed {
        // The remote may be making it: what it makes is deleted there.
        row.token = ZoneRow.Token(incarnation: proposed, offset: 0, hash: .zero)
        storage.setZoneRow(row, number)
        isShared = true
      } else {
        isShared = false
      }
      if !isShared, row.token != nil {
        // The remote has another zone of that name, which this one kept from appearing.
        row.token = nil
        storage.setZoneRow(row, number)
        try storage.readZoneListAgain()
      }
      try storage.retireZone(zone, number, as: isShared ? .deleting : .removed)
    }
    keep(.delete(zone))
  }

  /// Does once more what a write did to a zone. Another process may have deleted it meanwhile.
  func doAgain(_ change: ZoneChange) throws {
    switch change {
    case .make(let zone): _ = try makeZone(zone)
    case .attach(let zone): if try isVisible(zone) { try attachZone(zone) }
    case .delete(let zone): if try isVisible(zone) { try deleteZone(zone) }
    }
  }

  private func isVisible(_ zone: ZoneID) throws -> Bool {
    try storage.findZone(zone)?.row.status.isVisible ?? false
  }
}
