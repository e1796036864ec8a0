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
  /// The report of the last round, and when that ended.
  var last: (report: SyncReport, milliseconds: Int64)?
  var pace = SimulatedPace()
  /// Whether the app asked for a round since then. Such a round does not wait.
  var isAsked = true

  struct Round {
    /// Writes of the device when it began.
    var writes: Int
    /// What it was asked to do; nil if it may serve several requests.
    var steps: SyncSteps?
    /// Whether all faults had ended when it began.
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
