internal import OperationFormat

/// Errors that several implementations share.
extension RemoteError {
  /// There is no marker.
  static func notARemote(_ name: String) -> RemoteError {
    RemoteError(
      .notARemote, "there is no remote at \(name)",
      hint: "check the address and whether the disk or share is mounted; create a remote if there was none. "
        + "Where only its object `remote` was lost, `replay remote REMOTE --repair STORE` puts it back")
  }

  /// Something is at a place, and it cannot be seen what.
  static func unreadable(_ name: ObjectName) -> RemoteError {
    RemoteError(
      .damaged, "something lies at \(name), and yet nothing can be read there",
      hint: name.isOfAsset
        ? "it is not ours: move it away, or restore the right object from a backup" : foreignHint(name))
  }

  /// The task that made the call was cancelled. The call may have had its effect, or have it later.
  static func cancelled(_ name: String) -> RemoteError {
    RemoteError(
      .cancelled, "a call of \(name) was cancelled", hint: "make it again: what was done is found there",
      underlying: CancellationError())
  }

  /// Another remote than before.
  static func identityMismatch(_ name: String, _ expected: RemoteID, _ found: RemoteID) -> RemoteError {
    RemoteError(
      .identityMismatch, "\(name) is the remote \(found), not \(expected) as before",
      hint:
        "mount the right disk or share there. A store stays with the remote that it was first synced with: where that is "
        + "gone for good, export the store's log, import it into a new store, and sync that with the new remote"
    )
  }

  /// An object of more bytes than it can have.
  static func tooLarge(_ name: ObjectName, _ bytes: UInt64, _ bytesMax: Int) -> RemoteError {
    RemoteError(
      .damaged, "\(name) has \(bytes) bytes, and at most \(bytesMax) are allowed there",
      hint: name.isOfAsset ? "it is not ours: \(assetHint)" : foreignHint(name),
      offset: name.offset ?? name.amendedOffset)
  }

  /// Bytes at a place that are not what must lie there.
  static func damaged(_ code: Code, _ name: ObjectName, _ error: FormatError) -> RemoteError {
    RemoteError(
      error.code == .newerFormat ? .newerFormat : code, "\(name) cannot be read: \(error)",
      hint: error.code == .newerFormat
        ? "use a newer version of the program" : name.isOfAsset ? assetHint : repairHint(name),
      underlying: error, offset: name.offset ?? name.amendedOffset)
  }

  /// Nothing lies at a name, and something at the next one.
  static func missing(_ name: ObjectName) -> RemoteError {
    RemoteError(
      .missingSegment, "\(name) is missing, and there is more behind it", hint: repairHint(name),
      offset: name.offset ?? name.amendedOffset)
  }

  /// What to do about an object that is damaged or missing.
  static func repairHint(_ name: ObjectName) -> String {
    repairHint(at: name.offset ?? name.amendedOffset, inLog: name.incarnation != nil)
  }

  /// - Parameter inLog: whether the offset is one of a zone's log; else of the list of zones.
  static func repairHint(at offset: UInt64?, inLog: Bool) -> String {
    let hint =
      "restore it from a backup, or run `replay remote --repair` with a store that has what was there"
    return offset.map { "\(hint). \(givingUp($0, inLog: inLog))" } ?? hint
  }

  /// What to do about something that has an object's name and is none.
  private static func foreignHint(_ name: ObjectName) -> String {
    guard let offset = name.offset ?? name.amendedOffset else { return "it is not ours: \(repairHint(name))" }
    return
      "it is not ours: move it away. If an entry was there, restore it from a backup, or run `replay remote "
      + "--repair` with a store that has it. \(givingUp(offset, inLog: name.incarnation != nil))"
  }

  /// What is left if nobody has an entry. Of a log, who prints it knows the zone.
  private static func givingUp(_ offset: UInt64, inLog: Bool) -> String {
    "If no store has it, it may never have been written: then `replay remote REMOTE --quarantine "
      + "\(inLog ? "ZONE" : "")@\(offset)` lets all continue without it"
  }

  /// The same of what belongs to an asset.
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

  /// Whether one entry of a log is not what must be there, or is missing. What is wrong with the place itself says
  /// nothing of an entry, and has no offset.
  var isAboutOneObject: Bool {
    offset != nil && [.damaged, .damagedSegment, .missingSegment].contains(code)
  }

  /// Whether one entry of a log is of a newer format.
  var isOfNewerEntry: Bool { offset != nil && [.newerFormat, .newerSegment].contains(code) }

  /// The same error, about what lies at a name.
  func at(_ name: ObjectName) -> RemoteError {
    let isForeign = code == .damaged && (name.offset ?? name.amendedOffset) != nil
    return RemoteError(
      code, message, hint: isForeign ? Self.foreignHint(name) : hint,
      retryAfterMilliseconds: retryAfterMilliseconds, underlying: underlying,
      offset: name.offset ?? name.amendedOffset)
  }

  private func with(_ code: Code) -> RemoteError {
    RemoteError(code, message, hint: hint, underlying: underlying, offset: offset)
  }
}
