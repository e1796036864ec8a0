/// How much of the history of each zone a store keeps. What was not sent stays always.
///
/// A zone is cut between two entries of its remote log: what one segment brought stays or goes together.
public struct HistoryPolicy: Hashable, Sendable {
  /// Keeps all of it.
  public static let everything = HistoryPolicy()

  /// What arrived here longer ago goes, in milliseconds by this device's clock; nil to keep it whatever its age.
  public var millisecondsMax: Int64?
  /// What is before so many bytes of a zone's newest transactions goes; nil to keep it whatever its size. What waits to be
  /// sent does not count.
  public var logBytesMax: UInt64?

  /// Makes a policy: what exceeds one of the two goes.
  public init(millisecondsMax: Int64? = nil, logBytesMax: UInt64? = nil) {
    (self.millisecondsMax, self.logBytesMax) = (millisecondsMax, logBytesMax)
  }
}

/// What was retired of a zone's history.
public struct RetiredHistory: Hashable, Sendable {
  /// The zone.
  public let zone: ZoneID
  /// How many transactions the log does not have any more.
  public let transactions: UInt64
  /// Their bytes.
  public let bytes: UInt64
  /// What the zone was before this position of the log, the store does not know any more.
  public let position: Position
}
