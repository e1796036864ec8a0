public import EventStore

/// What may have changed at a remote. It may come late, twice or never, and it may be wrong: it only decides
/// when a round is made, and which zones the round looks at.
public enum RemoteHint: Hashable, Sendable {
  /// These logs have entries up to these offsets. Without any log: it is worth to ask for
  /// ``RemoteLog/heads(of:list:)``.
  case logs([IncarnationID: UInt64])
  /// The list of zones has new events.
  case zones
  /// Anything may have changed, also what ``RemoteLog/heads(of:list:)`` does not tell yet: the next round asks
  /// for every zone.
  case anything
}

/// What a remote says about the ends of many logs. Like a hint it may be late or wrong, never the truth: a
/// round uses it only to pass over zones, and not for long.
public struct RemoteHeads: Hashable, Sendable {
  /// The ends of logs. A zone that has none here is asked for by itself. What was not asked for is ignored.
  public var zones: [ZoneHead]
  /// Whether the list of zones has nothing after the token of the call.
  public var isListUnchanged: Bool

  public init(zones: [ZoneHead], isListUnchanged: Bool = false) {
    self.zones = zones
    self.isListUnchanged = isListUnchanged
  }
}

/// The end of a zone's log, as far as a remote knows it.
public struct ZoneHead: Hashable, Sendable {
  public var incarnation: IncarnationID
  /// The offset of the last entry; 0 in an empty log.
  public var offset: UInt64
  /// Whether nothing can be appended any more.
  public var isClosed: Bool

  public init(_ incarnation: IncarnationID, offset: UInt64, isClosed: Bool = false) {
    self.incarnation = incarnation
    self.offset = offset
    self.isClosed = isClosed
  }
}
