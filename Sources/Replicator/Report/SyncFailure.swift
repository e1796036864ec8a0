import EventStore

/// What kept a round, or one zone of it, from going on: a remote's or the store's error as a value.
public struct SyncFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// How far it reaches.
  public enum Scope: Hashable, Sendable {
    /// One zone; the others go on.
    case zone
    /// The whole remote, or the whole store: the round ends.
    case round
  }

  /// The code of a ``RemoteError``, a `StoreError` or a `FormatError`.
  public let code: String
  /// What happened, with the offending value.
  public let message: String
  /// What to do.
  public let hint: String
  public let scope: Scope
  /// How long to wait before the next try, where the remote said so.
  public let retryAfterMilliseconds: Int64?
  /// The offset in a zone's log that it is about; nil where it is about none.
  public let offset: UInt64?

  public init(
    code: String, message: String, hint: String, scope: Scope, retryAfterMilliseconds: Int64? = nil,
    offset: UInt64? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.scope = scope
    self.retryAfterMilliseconds = retryAfterMilliseconds
    self.offset = offset
  }

  /// Takes an error of any layer for what it means to a round.
  package init(_ error: any Error) {
    switch error {
    case let error as SyncFailure: self = error
    case let error as RemoteError:
      self.init(
        code: error.code.rawValue, message: error.message, hint: error.hint,
        scope: Self.zoneCodes.contains(error.code) ? .zone : .round,
        retryAfterMilliseconds: error.retryAfterMilliseconds, offset: error.offset)
    case let error as StoreError:
      self.init(
        code: error.code.rawValue, message: error.message, hint: error.hint,
        scope: Self.storeRoundCodes.contains(error.code) ? .round : .zone)
    case let error as FormatError:
      self.init(code: error.code.rawValue, message: error.description, hint: error.hint, scope: .zone)
    default:
      self.init(
        code: "failed", message: "\(error)", hint: "try again; if it stays, report it", scope: .round)
    }
  }

  /// What a store issues again is rejected each time: going on would fill the log.
  static let rejectedAgain = SyncFailure(
    code: StoreError.Code.laneClosed.rawValue,
    message: "the log rejects what this store sends, also where it sends it again",
    hint: "nothing is lost: `replay info` lists what was rejected, and why. Please report it", scope: .zone)

  /// Errors of a remote that concern one zone. All others, those of later versions too, end the round.
  private static let zoneCodes: [RemoteError.Code] = [
    .overQuota, .denied, .damagedSegment, .newerSegment, .missingSegment, .quarantined, .damagedAsset,
    .wentBack,
    .zoneUnknown, .mismatch,
  ]

  /// Errors that concern the whole store. All others concern the zone whose round met them: no zone holds up the others.
  private static let storeRoundCodes: [StoreError.Code] = [
    .full, .closed, .system, .commitFailed, .commitUncertain, .readOnly, .accessDenied, .notAStore, .removed,
    .alreadyOpen, .olderFormat, .remoteChanged,
  ]

  /// The same of a whole round: where it came from no zone's part, all of them wait for it.
  var ofRound: SyncFailure {
    SyncFailure(
      code: code, message: message, hint: hint, scope: .round,
      retryAfterMilliseconds: retryAfterMilliseconds, offset: offset)
  }

  public var description: String { "\(message) (\(code)). \(hint)" }
}
