import OperationFormat
import Replicator

/// A replicator of a device: the machine, its timers, and what is known of its rounds.
final class SimulatedReplicator {
  var machine: ReplicatorMachine
  /// Which of the timers of a kind counts.
  var timers: [ReplicatorTimer: Int] = [:]
  /// When it makes a round by itself; nil if it does not.
  var nextMilliseconds: Int64?
  /// What the next round is to do; nil if that is not known.
  var steps: SyncSteps? = .all
  /// Set while a round is under way.
  var round: Round?
  /// What the last round came to, and when it was over.
  var last: (report: SyncReport, milliseconds: Int64)?
  var pace = SimulatedPace()
  /// Whether the app asked for a round since then: that goes ahead of every wait.
  var isAsked = true

  struct Round {
    /// Writes of the device when it began.
    var writes: Int
    /// What it was to do; nil where several calls may have been taken together.
    var steps: SyncSteps?
    /// Whether nothing went wrong any more when it began.
    var isAfterHealing: Bool
    /// Where the zones' logs ended when it began.
    var ends: [IncarnationID: Int]
    /// Zones of which it looked for something to ship.
    var cut: Set<ZoneID> = []
  }

  init(_ policy: SyncPolicy, _ selection: ZoneSelection) {
    machine = ReplicatorMachine(policy: policy, selection: selection)
  }
}
