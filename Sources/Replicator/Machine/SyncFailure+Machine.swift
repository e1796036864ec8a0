import EventStore

/// The failures that the machine itself makes, and the codes that it decides by.
extension SyncFailure {
  /// The log rejects each time what this store issues again. To continue would fill the log.
  static let rejectedAgain = SyncFailure(
    Code(StoreError.Code.laneClosed), "the log rejects what this store sends, also where it sends it again",
    hint: "nothing is lost: `replay info` lists what was rejected, and why. Please report it", scope: .zone)

  /// The store's row of a deleted zone is damaged: a zone without a log is removed when it is deleted.
  static let deletionWithoutLog = SyncFailure(
    Code(StoreError.Code.damaged), "the store has a deletion of this zone that names no log",
    hint: "run `replay verify`", scope: .zone)

  /// A result came that the phase does not wait for: a bug of the machine, or of what drives it.
  static func misplaced(_ result: String, in phase: String, scope: Scope) -> SyncFailure {
    SyncFailure(
      .failed, "the replicator got the result “\(result)” in the phase “\(phase)”, where it does not belong",
      hint: "nothing is lost, and the next round begins from what is stored. Please report it", scope: scope)
  }
}

extension SyncFailure.Code {
  static let denied = Self(RemoteError.Code.denied)
  static let keyOutdated = Self(RemoteError.Code.keyOutdated)
  static let readOnly = Self(RemoteError.Code.readOnly)
  static let segmentRefused = Self(RemoteError.Code.segmentRefused)
  static let wentBack = Self(RemoteError.Code.wentBack)
  static let expired = Self(RemoteError.Code.expired)
  static let zoneUnknown = Self(RemoteError.Code.zoneUnknown)
  static let incarnationChanged = Self(StoreError.Code.incarnationChanged)

  /// Whether a zone may be fetched on, and its assets downloaded, after an attempt to send has failed so.
  var stopsOnlyShipping: Bool {
    isForLong || self == .keyOutdated || self == Self(RemoteError.Code.overQuota)
  }

  /// Whether the next attempt to send would fail in the same way: rounds make none until something may have
  /// changed.
  var isForLong: Bool { self == .readOnly || self == .segmentRefused }

  /// Whether only the app's user can help: to try again soon does not.
  var waitsForUser: Bool {
    [Self(RemoteError.Code.unauthenticated), Self(RemoteError.Code.moved)].contains(self)
  }

  /// Whether nothing may be fetched or appended any more: the log is not the one that was folded, the zone is
  /// not here, or the remote does not let this user in. Such a failure is never about one segment.
  var stopsZone: Bool {
    [.denied, .wentBack, .expired, .zoneUnknown, .incarnationChanged].contains(self)
      || [RemoteError.Code.nameTaken, .unsupported].contains { self == Self($0) }
  }
}
