public import Foundation
public import Replicator

extension SyncOutage {
  /// When the first of the rounds in a row ended that failed.
  public var since: Date { Date(milliseconds: sinceMilliseconds) }
  /// When `LogReplicator.run(_:)` tries again; nil if it does not run, or tries now.
  public var retryAt: Date? { retryMilliseconds.map { Date(milliseconds: $0) } }
}

extension ReplicatorStatus {
  /// When a round of all steps last found all zones in sync; nil if none did since the replicator was made.
  public var lastSynced: Date? { lastSyncedMilliseconds.map { Date(milliseconds: $0) } }
}
