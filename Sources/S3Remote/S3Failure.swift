internal import HTTPTypes
internal import Replicator

/// What an answer of an object store means that is no success.
enum S3Failure: Hashable, Sendable {
  /// There is no object of that key.
  case absent
  /// The condition of a put does not hold: an object has the key.
  case exists
  /// The store is too busy, or another put of the same key is not over: whether it was done is not known.
  case busy
  /// The time of this device is too far from that of the store.
  case clock
  /// No such bucket.
  case noBucket
  /// Who calls is not known.
  case unknownCaller
  /// The credentials have ended.
  case ended
  case denied
  case full
  /// The bucket is in another region or at another endpoint.
  case elsewhere
  /// The store cannot do this.
  case unsupported
  /// An object has no byte there.
  case noSuchRange
  /// It comes from no object store, or says something that is not known.
  case other

  /// Nil for a success.
  ///
  /// Between a device and its store may be others that answer: a proxy, or a network that wants a login. What they say
  /// means nothing for an object: so an error counts by the code in its body.
  init?(_ answer: S3Answer) {
    let code = answer.code
    switch (answer.status.code, code) {
    case (200, _), (204, _), (206, _): return nil
    case (404, "NoSuchKey"): self = .absent
    case (404, "NoSuchBucket"): self = .noBucket
    case (412, "PreconditionFailed"), (304, _): self = .exists
    // Another put of the key is not over: nothing is known.
    case (409, _): self = .busy
    case (429, _), (500, _), (502, _), (503, _), (504, _), (307, "TemporaryRedirect"): self = .busy
    case (403, "RequestTimeTooSkewed"), (403, "RequestExpired"): self = .clock
    case (_, "ExpiredToken"), (_, "TokenRefreshRequired"): self = .ended
    case (_, "InvalidAccessKeyId"), (_, "SignatureDoesNotMatch"), (_, "InvalidToken"): self = .unknownCaller
    case (507, _), (_, "QuotaExceeded"), (_, "XMinioStorageFull"): self = .full
    case (_, "PermanentRedirect"), (_, "AuthorizationHeaderMalformed"),
      (_, "IllegalLocationConstraintException"):
      self = .elsewhere
    case (_, "NotImplemented"), (405, "MethodNotAllowed"): self = .unsupported
    case (416, "InvalidRange"): self = .noSuchRange
    case (401, let code) where !code.isEmpty: self = .unknownCaller
    case (403, let code) where !code.isEmpty: self = .denied
    default: self = .other
    }
  }
}

extension RemoteError {
  /// An answer of an object store that is not what was asked for.
  init(_ answer: S3Answer, of address: S3Address) {
    let said = answer.code.isEmpty ? "status \(answer.status.code)" : answer.code
    let (code, message, hint): (Code, String, String) =
      switch S3Failure(answer) {
      case .busy:
        (.later, "is too busy (\(said))", "it is tried again by itself")
      case .clock:
        (
          .denied, "refuses requests of this device's time, and says no other (\(said))",
          "set the clock of this device"
        )
      case .noBucket:
        (.notARemote, "is in a bucket that does not exist", "make the bucket, or check the address")
      case .unknownCaller:
        (.unauthenticated, "does not know the caller (\(said))", "check the access key and the secret key")
      case .ended:
        (.unauthenticated, "was called with credentials that have ended (\(said))", "sign in again")
      case .denied:
        (
          .denied, "does not permit this (\(said))",
          "give the access key the rights to list the bucket, and to get and put objects"
        )
      case .full: (.overQuota, "has no more room (\(said))", "make room there: reading still works")
      case .elsewhere:
        (
          .moved, "is in another region (\(said))",
          answer.region.map { "add ?region=\($0) to the address" } ?? "check the region and the endpoint"
        )
      case .unsupported, .exists:
        (
          .unsuitable, "does not take a request that a remote needs (\(said))",
          "use an object store that honours If-None-Match: * of a put"
        )
      case .absent, .noSuchRange, .other, nil:
        (
          .notARemote,
          "is not at an object store that speaks S3: \(address.authority) answers otherwise (\(said))",
          "check the endpoint, and whether the network wants a login"
        )
      }
    self.init(
      code, "\(address) \(message)", hint: hint, retryAfterMilliseconds: code == .later ? 5000 : nil)
  }
}
