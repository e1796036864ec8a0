public import EventStore

/// Why a round, or one zone of it, did not finish: an error of the remote or the store as a value.
public struct SyncFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure: the code of a ``RemoteError``, a `StoreError` or a `FormatError`. Later versions
  /// may add codes: treat an unknown code as a temporary failure.
  ///
  /// Errors of different layers may share a code, such as `damaged`: the message says whose it is.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ code: RemoteError.Code) { rawValue = code.rawValue }
    public init(_ code: StoreError.Code) { rawValue = code.rawValue }
    public init(_ code: FormatError.Code) { rawValue = code.rawValue }
    public var description: String { rawValue }

    /// No layer gave a code: an error of an unknown type, or a bug of the replicator.
    public static let failed = Code(rawValue: "failed")
  }

  /// What it affects.
  public enum Scope: Hashable, Sendable {
    /// One zone; the others continue.
    case zone
    /// The whole remote, or the whole store: the round ends.
    case round
  }

  /// The kind of failure.
  public let errorCode: Code
  /// What happened, with the offending value.
  public let message: String
  /// What to do.
  public let hint: String
  public let scope: Scope
  /// How long to wait before the next try, if the remote said so.
  public let retryAfterMilliseconds: Int64?
  /// The offset in a zone's log that it is about; nil if it is about none.
  public let offset: UInt64?
  /// Where the remote is now, if it has moved and says so.
  public let newAddress: String?

  /// ``errorCode`` as a text.
  public var code: String { errorCode.rawValue }

  public init(
    code: String, message: String, hint: String, scope: Scope, retryAfterMilliseconds: Int64? = nil,
    offset: UInt64? = nil, newAddress: String? = nil
  ) {
    self.init(
      Code(rawValue: code), message, hint: hint, scope: scope,
      retryAfterMilliseconds: retryAfterMilliseconds, offset: offset, newAddress: newAddress)
  }

  init(
    _ code: Code, _ message: String, hint: String, scope: Scope, retryAfterMilliseconds: Int64? = nil,
    offset: UInt64? = nil, newAddress: String? = nil
  ) {
    errorCode = code
    self.message = message
    self.hint = hint
    self.scope = scope
    self.retryAfterMilliseconds = retryAfterMilliseconds
    self.offset = offset
    self.newAddress = newAddress
  }

  /// Converts an error of any layer, and decides its scope.
  public init(_ error: any Error) {
    switch error {
    case let error as SyncFailure: self = error
    case let error as RemoteError:
      self.init(
        Code(error.code), error.message, hint: error.hint,
        scope: Self.isOfZone(error) ? .zone : .round,
        retryAfterMilliseconds: error.retryAfterMilliseconds, offset: error.offset,
        newAddress: error.newAddress)
    case let error as StoreError:
      self.init(
        Code(error.code), error.message, hint: error.hint,
        scope: Self.storeRoundCodes.contains(error.code) ? .round : .zone)
    case let error as FormatError:
      self.init(Code(error.code), error.description, hint: error.hint, scope: .zone)
    default: self.init(.failed, "\(error)", hint: "try again; if it stays, report it", scope: .round)
    }
  }

  /// Whether an error of a remote concerns one zone: one of ``zoneCodes``, or an entry of a log that is not shown yet.
  private static func isOfZone(_ error: RemoteError) -> Bool {
    zoneCodes.contains(error.code) || error.code == .later && error.offset != nil
  }

  /// Errors of a remote that concern one zone. All others, also unknown ones, end the round.
  private static let zoneCodes: [RemoteError.Code] = [
    .overQuota, .denied, .damagedSegment, .newerSegment, .missingSegment, .quarantined, .damagedAsset,
    .wentBack, .expired, .zoneUnknown, .mismatch, .readOnly, .keyOutdated, .segmentRefused, .nameTaken,
    .unsupported,
  ]

  /// Errors that concern the whole store. All others concern only the zone whose round threw them: no zone
  /// holds up the others.
  private static let storeRoundCodes: [StoreError.Code] = [
    .full, .closed, .system, .commitFailed, .commitUncertain, .readOnly, .accessDenied, .notAStore, .removed,
    .alreadyOpen, .olderFormat, .remoteChanged,
  ]

  /// The same failure with the scope of a whole round, for one that comes from no zone: all zones wait for
  /// it.
  var ofRound: SyncFailure {
    SyncFailure(
      errorCode, message, hint: hint, scope: .round, retryAfterMilliseconds: retryAfterMilliseconds,
      offset: offset, newAddress: newAddress)
  }

  public var description: String { "\(message) (\(code)). \(hint)" }
}
