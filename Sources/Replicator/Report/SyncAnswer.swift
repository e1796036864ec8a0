/// Who can do something about a failure.
public enum SyncAnswer: Hashable, Sendable {
  /// Nobody needs to: each round tries again, and nothing is lost.
  case wait
  /// The user of this device must choose, free or allow something.
  case askUser
  /// The remote is damaged or wrong, and no device can repair it alone.
  case askOperator
  /// Close the store, open it, and make a new replicator.
  case reopen
}

extension SyncFailure {
  /// Who can do something about it. A code that this version does not know is one to wait for.
  public var answer: SyncAnswer {
    if Self.userCodes.contains(code) { return .askUser }
    if Self.operatorCodes.contains(code) { return .askOperator }
    return Self.storeCodes.contains(code) ? .reopen : .wait
  }

  private static let userCodes: Set<String> = [
    "overQuota", "denied", "notARemote", "identityMismatch", "schemeUnknown", "remoteChanged", "newerFormat",
    "newerSegment", "full", "readOnly", "accessDenied", "laneClosed", "unauthenticated", "moved",
    "segmentRefused", "keyUnknown", "signatureMissing", "olderFormat", "notAStore", "alreadyOpen",
    "nameTaken", "unsupported", "retired",
  ]
  private static let operatorCodes: Set<String> = [
    "damaged", "damagedSegment", "missingSegment", "wentBack", "zoneUnknown", "mismatch",
    "expired", "incarnationChanged", "unsuitable",
  ]
  private static let storeCodes: Set<String> = ["closed", "removed", "commitUncertain"]
}
