/// Which halves of a round to do.
public struct SyncSteps: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Fetch what the remote has, and fold it.
  public static let fetch = SyncSteps(rawValue: 1)
  /// Ship what is pending.
  public static let ship = SyncSteps(rawValue: 2)
  /// Both, until neither moves.
  public static let all: SyncSteps = [.fetch, .ship]
}
