public import EventStore
import OperationFormat

/// How a zone stands, or all of them together: for a status line.
public enum SyncStatus: Hashable, Sendable {
  /// No round has come to its end since the replicator was made.
  case unknown
  /// It has what the remote has, and the remote what it has.
  case synced
  /// So many writes wait to be sent. The deletion of a zone counts as one.
  case pending(Int)
  /// A round sends or receives something of it.
  case syncing(SyncProgress)
  /// The remote cannot be reached, or something else failed that time may heal. Each round tries again.
  case offline(SyncOutage)
  /// It waits until somebody does something.
  case needsAttention([SyncProblem])
}

/// How far a round is.
public struct SyncProgress: Hashable, Sendable {
  /// Transactions that were new here.
  public package(set) var received = 0
  /// Transactions that the remote has now.
  public package(set) var sent = 0
  /// Own transactions that wait to be sent.
  public package(set) var pending = 0
  /// Bytes of each asset that is on its way.
  var assets: [ContentHash: UInt64] = [:]

  /// Bytes of assets that are at their destination, of those that the round has moved.
  public var assetBytes: UInt64 { assets.values.reduce(0, +) }

  static func + (left: SyncProgress, right: SyncProgress) -> SyncProgress {
    var sum = left
    sum.received += right.received
    sum.sent += right.sent
    sum.pending += right.pending
    sum.assets.merge(right.assets) { $1 }
    return sum
  }
}

/// A time without sync.
public struct SyncOutage: Hashable, Sendable {
  /// When the first of the rounds in a row ended that failed, in milliseconds since 1970.
  public let sinceMilliseconds: Int64
  /// When `LogReplicator.run(_:)` tries again; nil if it does not run, or tries now.
  public let retryMilliseconds: Int64?
  /// Why the last round failed.
  public let failure: SyncFailure
}

/// What keeps a zone, or all of them, from being synced until somebody does something.
public struct SyncProblem: Hashable, Sendable, CustomStringConvertible {
  public enum Reason: Hashable, Sendable {
    /// Its part of the round failed, or the whole round.
    case failed(SyncFailure)
    /// Fetching waits at an offset, whose segment cannot be folded.
    case parked(offset: UInt64, SyncFailure)
    /// The remote's log of it is closed. Everything here is kept.
    case paused(ZoneFate)
    /// The remote's list of zones has an event that cannot be read.
    case list(ZoneListProblem)
  }

  /// Which zone; nil for all.
  public let zone: ZoneID?
  public let reason: Reason

  /// Who can do something about it: never ``SyncAnswer/wait``.
  public var answer: SyncAnswer {
    switch reason {
    case .failed(let failure), .parked(_, let failure): failure.answer
    case .paused: .askUser
    case .list: .askOperator
    }
  }

  /// What happened, and what to do.
  public var description: String {
    switch reason {
    case .failed(let failure), .parked(_, let failure): failure.description
    case .paused(let fate):
      "the zone “\(zone?.description ?? "")” is paused: \(fate.pauseMessage). \(fate.pauseHint)"
    case .list(let problem): problem.description
    }
  }
}

/// How a store and its remote stand to each other.
public struct ReplicatorStatus: Hashable, Sendable {
  /// All zones together: what needs attention comes before what is offline, then what syncs, what is pending, what is
  /// unknown, and what is synced.
  public let whole: SyncStatus
  /// The zones that are synced.
  public let zones: [ZoneID: SyncStatus]
  /// When a round of all steps last found all of them in sync, in milliseconds since 1970; nil if none did since the replicator was
  /// made.
  public let lastSyncedMilliseconds: Int64?
  /// How far the remote's clock and this device's differ, as the last round found that saw the remote's; nil if none
  /// did since the replicator was made. Tell the user if it ``ClockOffset/isNotable``: no sync waits for it, so
  /// ``whole`` does not show it.
  public let clockOffset: ClockOffset?
}
