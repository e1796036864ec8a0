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
  case denied
  case full
  /// The bucket is in another region or at another endpoint.
  case elsewhere
  /// The store cannot do this.
  case unsupported
  /// It comes from no object store, or says something that is not known.
  case other

  /// Nil for a success.
  init?(_ answer: S3Answer) {
    if answer.status.kind == .successful { return nil }
    let code = answer.code
    switch answer.status.code {
    // A page of something else that says "not found" says nothing about an object.
    case 404: self = code == "NoSuchKey" ? .absent : code == "NoSuchBucket" ? .noBucket : .other
    case 412, 304: self = .exists
    // Another put of the key is not over: nothing is known.
    case 409: self = .busy
    case 429, 500, 502, 503, 504: self = .busy
    case 401: self = .unknownCaller
    case 403:
      switch code {
      case "RequestTimeTooSkewed", "RequestExpired": self = .clock
      case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken":
        self = .unknownCaller
      case "QuotaExceeded": self = .full
      default: self = .denied
      }
    case 507: self = .full
    case 300..<400: self = .elsewhere
    case 400:
      switch code {
      case "ExpiredToken", "InvalidToken", "TokenRefreshRequired": self = .unknownCaller
      case "AuthorizationHeaderMalformed", "IllegalLocationConstraintException": self = .elsewhere
      case "NotImplemented", "InvalidArgument", "InvalidRequest": self = .unsupported
      default: self = .other
      }
    case 405, 501: self = .unsupported
    default: self = code == "QuotaExceeded" || code == "XMinioStorageFull" ? .full : .other
    }
  }
}

extension RemoteError {
  /// An answer of an object store that is not what was asked for.
  init(_ answer: S3Answer, of address: S3Address) {
    let said = answer.code.isEmpty ? "status \(answer.status.code)" : String(answer.code.prefix(100))
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
      case .denied:
        (
          .denied, "does not permit this (\(said))",
          "give the access key the rights to list the bucket, and to get and put objects"
        )
      case .full: (.overQuota, "has no more room (\(said))", "make room there: reading still works")
      case .elsewhere:
        (
          .moved, "is in another region (\(said))",
          Self.region(answer).map { "add ?region=\($0) to the address" }
            ?? "check the region and the endpoint"
        )
      case .unsupported, .exists:
        (
          .unsuitable, "cannot put an object only if there is none (\(said))",
          "use an object store that honours If-None-Match: *"
        )
      case .absent, .other, nil:
        (
          .notARemote, "is not at an object store that speaks S3: something else answers (\(said))",
          "check the endpoint"
        )
      }
    self.init(
      code, "\(address) \(message)", hint: hint, retryAfterMilliseconds: code == .later ? 5000 : nil)
  }

  private static func region(_ answer: S3Answer) -> String? {
    let region = answer.fields[HTTPField.Name("x-amz-bucket-region")!]
    return region.flatMap { $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? $0 : nil }
  }
}
