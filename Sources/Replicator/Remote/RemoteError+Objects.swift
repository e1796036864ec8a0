internal import OperationFormat

/// Errors that several implementations share.
extension RemoteError {
  /// There is no marker.
  static func notARemote(_ name: String) -> RemoteError {
    RemoteError(
      .notARemote, "there is no remote at \(name)",
      hint: "check the address and whether the disk or share is mounted; create a remote if there was none")
  }

  /// Something is at a place, and it cannot be seen what.
  static func unreadable(_ name: ObjectName) -> RemoteError {
    RemoteError(
      .damaged, "something lies at \(name), and yet nothing can be read there",
      hint: "it is not ours: move it away, or restore the right object from a backup")
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
      hint: "mount the right disk or share there; a store stays with the remote that it was first synced with"
    )
  }

  /// An object of more bytes than it can have.
  static func tooLarge(_ name: ObjectName, _ bytes: UInt64, _ bytesMax: Int) -> RemoteError {
    RemoteError(
      .damaged, "\(name) has \(bytes) bytes, and at most \(bytesMax) are allowed there",
      hint: "it is not ours: move it away, or restore the right object from a backup")
  }

  /// Bytes at a place that are not what must lie there.
  static func damaged(_ code: Code, _ name: ObjectName, _ error: FormatError) -> RemoteError {
    RemoteError(
      error.code == .newerFormat ? .newerFormat : code, "\(name) cannot be read: \(error)",
      hint: error.code == .newerFormat
        ? "use a newer version of the program" : "restore the object from a backup or from another copy",
      underlying: error)
  }

  /// The same error, about one segment.
  var ofSegment: RemoteError {
    switch code {
    case .damaged: RemoteError(.damagedSegment, message, hint: hint, underlying: underlying)
    case .newerFormat: RemoteError(.newerSegment, message, hint: hint, underlying: underlying)
    default: self
    }
  }
}
