/// An error of a remote: what happened, where, and what to do.
public struct RemoteError: Error, Sendable, CustomStringConvertible {
  /// The kind of error. Later versions may add codes: treat an unknown code as a temporary failure.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// No answer: not mounted, no network, timed out.
    public static let unreachable = Code(rawValue: "unreachable")
    /// The remote asks to come back later.
    public static let later = Code(rawValue: "later")
    /// The remote has no room for more. Reading still works.
    public static let overQuota = Code(rawValue: "overQuota")
    /// The remote does not permit it to this user: nothing is read or written.
    public static let denied = Code(rawValue: "denied")
    /// The remote does not know who calls: the session has ended, or there was none. Nothing works before the
    /// user has signed in.
    public static let unauthenticated = Code(rawValue: "unauthenticated")
    /// This user may read the zone, and not write to it. What is pending stays pending; fetching continues.
    public static let readOnly = Code(rawValue: "readOnly")
    /// The segment was sealed with a key that the zone has replaced. It is cut and sealed again.
    public static let keyOutdated = Code(rawValue: "keyOutdated")
    /// The remote refuses this segment, now and later. What is pending stays pending; fetching continues.
    public static let segmentRefused = Code(rawValue: "segmentRefused")
    /// The remote is at another address: ``RemoteError/newAddress``, if it says which.
    public static let moved = Code(rawValue: "moved")
    /// There is no remote at that address: it is empty, or holds something else.
    public static let notARemote = Code(rawValue: "notARemote")
    /// It is another remote than the store was synced with.
    public static let identityMismatch = Code(rawValue: "identityMismatch")
    /// The remote is of a newer format.
    public static let newerFormat = Code(rawValue: "newerFormat")
    /// The remote itself is damaged: its marker, or its list of zones.
    public static let damaged = Code(rawValue: "damaged")
    /// One segment is damaged, or not whole yet.
    public static let damagedSegment = Code(rawValue: "damagedSegment")
    /// One segment is of a newer format. Other zones are not affected.
    public static let newerSegment = Code(rawValue: "newerSegment")
    /// One segment is missing: nothing is at its offset, and something follows.
    public static let missingSegment = Code(rawValue: "missingSegment")
    /// The remote's operator gave up an entry that the store has folded: other stores continue without it.
    public static let quarantined = Code(rawValue: "quarantined")
    /// One asset is damaged at the remote, or does not match its name.
    public static let damagedAsset = Code(rawValue: "damagedAsset")
    /// Entries that were read before are missing or differ: the remote was restored from an old copy, or
    /// tampered with.
    public static let wentBack = Code(rawValue: "wentBack")
    /// The log begins later: what was before is in snapshots, with which a store begins.
    public static let expired = Code(rawValue: "expired")
    /// The remote has no such zone.
    public static let zoneUnknown = Code(rawValue: "zoneUnknown")
    /// The remote has another zone of that name.
    public static let nameTaken = Code(rawValue: "nameTaken")
    /// The remote cannot do that at all.
    public static let unsupported = Code(rawValue: "unsupported")
    /// A segment does not match the request: another zone, incarnation or replica.
    public static let mismatch = Code(rawValue: "mismatch")
    /// The medium cannot put a file so that exactly one of many writers succeeds.
    public static let unsuitable = Code(rawValue: "unsuitable")
    /// The address names no known kind of remote.
    public static let schemeUnknown = Code(rawValue: "schemeUnknown")
    /// The task that made the call was cancelled. What the call did is unknown; it can be repeated.
    public static let cancelled = Code(rawValue: "cancelled")
    /// The operating system failed.
    public static let system = Code(rawValue: "system")
  }

  public let code: Code
  /// What happened, with the offending value.
  public let message: String
  /// What to do.
  public let hint: String
  /// How long to wait before the next try, if the remote said so.
  public let retryAfterMilliseconds: Int64?
  /// The error of a lower layer that caused it.
  public let underlying: (any Error)?
  /// The offset in a zone's log, or in the list of zones, that it is about; nil if it is about none.
  public let offset: UInt64?
  /// Where the remote is now, if it has moved and says so.
  public let newAddress: String?
  /// The path of the part of an asset that it is about; nil if it is about none.
  var assetPath: String?
  /// Whether something else than an object, such as a directory, has the name of the object that it is about.
  var isOfForeign = false

  public init(
    _ code: Code, _ message: String, hint: String, retryAfterMilliseconds: Int64? = nil,
    underlying: (any Error)? = nil, offset: UInt64? = nil, newAddress: String? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.retryAfterMilliseconds = retryAfterMilliseconds
    self.underlying = underlying
    self.offset = offset
    self.newAddress = newAddress
  }

  public var description: String { "\(message) (\(code)). \(hint)" }
}
