internal import OperationFormat

/// Errors that the remotes of objects share.
extension RemoteError {
  static func nameTaken(_ zone: ZoneID, _ remote: String) -> RemoteError {
    RemoteError(
      .nameTaken, "\(remote) has another zone “\(zone)”, which was made since",
      hint:
        "keep this one as a local zone (`detachZone`, or `replay zone detach STORE ZONE`), or move its records to a "
        + "zone of another name")
  }

  /// There is no marker.
  static func notARemote(_ name: String) -> RemoteError {
    RemoteError(
      .notARemote, "there is no remote at \(name)",
      hint: "check the address and whether the disk or share is mounted; create a remote if there was none. "
        + "If only its object `remote` was lost, `replay remote REMOTE --repair STORE` puts it back")
  }

  /// Something has an object's name, and cannot be read.
  static func unreadable(_ name: ObjectName) -> RemoteError {
    RemoteError(
      .damaged, "something has the name \(name), and it cannot be read",
      hint: name.isOfAsset
        ? "it is foreign: move it away, or restore the right object from a backup" : foreignHint(name))
  }

  /// Whether the remote takes nothing from this client, as long as nobody changes that.
  var takesNothing: Bool { [.readOnly, .denied, .overQuota].contains(code) }

  /// A put found an object of that name, and reads do not show it yet.
  static func notShown(_ name: ObjectName) -> RemoteError {
    RemoteError(
      .later, "another client has put \(name), and it cannot be read yet",
      hint: "it is tried again: a folder on a network, or an object store, may show it a moment later",
      offset: name.offset ?? name.amendedOffset)
  }

  /// The task that made the call was cancelled. The call may have had its effect, or have it later.
  static func cancelled(_ name: String) -> RemoteError {
    RemoteError(
      .cancelled, "a call of \(name) was cancelled", hint: "repeat it: it finds what was done before",
      underlying: CancellationError())
  }

  /// Another remote than before.
  static func identityMismatch(_ name: String, _ expected: RemoteID, _ found: RemoteID) -> RemoteError {
    RemoteError(
      .identityMismatch, "\(name) is the remote \(found), not \(expected) as before",
      hint:
        "mount the right disk or share there. A store belongs to the remote that it was first synced with: "
        + "if that is lost for good, `replay sync STORE --remote REMOTE --leave-remote` moves the store to this one "
        + "(`leaveRemote()` in an app)"
    )
  }

  /// An object that is too large.
  package static func tooLarge(_ name: ObjectName, _ bytes: UInt64, _ bytesMax: Int) -> RemoteError {
    RemoteError(
      .damaged, "\(name) has \(bytes) bytes, and at most \(bytesMax) are allowed there",
      hint: name.isOfAsset ? "it is foreign: \(assetHint)" : foreignHint(name),
      offset: name.offset ?? name.amendedOffset)
  }

  /// An object whose bytes are not valid.
  static func damaged(_ code: Code, _ name: ObjectName, _ error: FormatError) -> RemoteError {
    RemoteError(
      error.code == .newerFormat ? .newerFormat : code, "\(name) cannot be read: \(error)",
      hint: error.code == .newerFormat
        ? "use a newer version of the program"
        : name.isOfAsset ? assetHint : repairHint(name, isDamaged: true),
      underlying: error, offset: name.offset ?? name.amendedOffset)
  }

  /// An entry is missing, and another follows.
  static func missing(_ name: ObjectName) -> RemoteError {
    RemoteError(
      .missingSegment, "\(name) is missing, and others follow it", hint: repairHint(name),
      offset: name.offset ?? name.amendedOffset)
  }

  /// Nothing can be put beside a log that is closed.
  static func deleted(_ zone: ZoneID) -> RemoteError {
    RemoteError(.zoneUnknown, "zone “\(zone)” was deleted", hint: "sync it: the deletion comes here too")
  }

  /// The log was closed before, so that it can be neither deleted nor discarded.
  static func closed(_ zone: ZoneID) -> RemoteError {
    RemoteError(
      .zoneUnknown, "zone “\(zone)” has no open log",
      hint: "`replay remote REMOTE` lists logs, and their ends")
  }

  /// An entry was removed, because snapshots stand for it.
  static func expired(_ name: ObjectName, _ remote: String, first: UInt64) -> RemoteError {
    RemoteError(
      .expired, "\(name) of \(remote) was removed: the log begins at offset \(first)",
      hint:
        "sync again: the store begins with a snapshot, and keeps what it has not sent. If the remote has no "
        + "snapshot that can be read, let a store that has read further make one, or restore the remote",
      offset: name.offset)
  }

  /// The log begins with a snapshot that is damaged, and no other one can be read.
  ///
  /// - Parameter broken: what is missing or damaged of it.
  static func expired(
    _ snapshot: RemoteSnapshot, _ broken: ObjectName, _ remote: String, offset: UInt64?
  ) -> RemoteError {
    RemoteError(
      .expired,
      "the log of zone “\(snapshot.zone)” begins with a snapshot, and that at offset \(snapshot.offset) is damaged: "
        + "\(broken) of \(remote) is missing or cannot be read",
      hint:
        "nothing is lost here. Restore that file from a backup, or put it back from another store OTHER that has read up to "
        + "there: `replay remote REMOTE --repair OTHER`. If that is not possible, let a store that has the zone sync as it "
        + "writes: it makes a later snapshot once the log has grown by 4 MiB (`SyncPolicy.snapshotBytesMin`), and by as much "
        + "as the last snapshot has",
      offset: offset)
  }

  /// What to do about an object that is damaged or missing.
  ///
  /// - Parameter isDamaged: whether something was written there; else it may be missing.
  static func repairHint(_ name: ObjectName, isDamaged: Bool = false) -> String {
    repairHint(at: name.offset ?? name.amendedOffset, inLog: name.incarnation != nil, isDamaged: isDamaged)
  }

  /// The same for an offset.
  ///
  /// - Parameter inLog: whether the offset is one of a zone's log; else of the list of zones.
  static func repairHint(at offset: UInt64?, inLog: Bool, isDamaged: Bool) -> String {
    let hint = "restore it from a backup, or run \(repairCommand), with a store OTHER that has what was there"
    return offset.map { "\(hint). \(givingUp($0, inLog: inLog, isDamaged: isDamaged))" } ?? hint
  }

  /// With another store than the one that met the problem: `STORE` would be that.
  private static let repairCommand = "`replay remote REMOTE --repair OTHER`"

  /// What to do about something foreign that has an object's name.
  private static func foreignHint(_ name: ObjectName) -> String {
    guard let offset = name.offset ?? name.amendedOffset else { return "it is foreign: \(repairHint(name))" }
    return
      "it is foreign: move it away. If an entry was there, restore it from a backup, or run \(repairCommand), with a "
      + "store OTHER that has it. \(givingUp(offset, inLog: name.incarnation != nil, isDamaged: false))"
  }

  /// What to do if no store has an entry. The caller that prints it replaces `ZONE` by the zone.
  ///
  /// - Parameter isDamaged: whether something was written there; else it may be missing, or something foreign.
  private static func givingUp(_ offset: UInt64, inLog: Bool, isDamaged: Bool) -> String {
    "If no store has it, "
      + (isDamaged ? "what was written there is lost" : "it may never have been written")
      + ": then `replay remote REMOTE --quarantine \(inLog ? "ZONE" : "")@\(offset)` lets all continue without it"
  }

  /// What to do about a damaged part of an asset.
  static let assetHint =
    "restore it from a backup, or run `replay asset upload` with a store that has the asset"

  /// The same error, about one segment.
  var ofSegment: RemoteError {
    switch code {
    case .damaged: with(.damagedSegment)
    case .newerFormat: with(.newerSegment)
    default: self
    }
  }

  /// Whether one entry of a log is damaged or missing. An error of the whole place has no offset.
  var isAboutOneObject: Bool {
    offset != nil && [.damaged, .damagedSegment, .missingSegment].contains(code)
  }

  /// Whether something of one log is damaged or missing, or this user may not read it: that holds up no other log.
  var isAboutOneLog: Bool { isAboutOneObject || code == .damaged || code == .denied }

  /// Whether one entry of a log is of a newer format.
  var isOfNewerEntry: Bool { offset != nil && [.newerFormat, .newerSegment].contains(code) }

  /// The same error, about the object of a name.
  func at(_ name: ObjectName) -> RemoteError {
    let (isForeign, offset) = (code == .damaged, name.offset ?? name.amendedOffset)
    var error = RemoteError(
      code, message, hint: isForeign && offset != nil ? Self.foreignHint(name) : hint,
      retryAfterMilliseconds: retryAfterMilliseconds, underlying: underlying, offset: offset)
    error.isOfForeign = isForeign
    return error
  }

  private func with(_ code: Code) -> RemoteError {
    RemoteError(code, message, hint: hint, underlying: underlying, offset: offset)
  }
}
