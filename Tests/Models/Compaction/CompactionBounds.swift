/// How much happens in the worlds of one search of the model of compaction.
struct CompactionBounds {
  var replicas = 2
  var records = 1
  /// For each write, in order, what it may do; nil stands for naming a floor.
  var writes: [[ContentOperation.Change?]]
  var floors = Floors.careful
  var goingsBack = 0
  var lostAnswers = 0
  /// How many replicas start later, from a snapshot of another one.
  var joins = 0
  /// How often the log's beginning is removed, because a snapshot stands for it.
  var trims = 0
  var grain = Bounds.Grain.rounds
  var clocksRun = false
  /// What has happened before.
  var beginning: [CompactionStep] = []

  /// What a maker may name.
  enum Floors {
    /// No more than what each other lane has seen, as far as the maker knows.
    case careful
    /// Any offset, also one that it has not read.
    case any
  }

  /// The bounds of the syncing, without what is written.
  var syncing: Bounds {
    Bounds(
      replicas: replicas, kinds: writes.map { _ in [] }, goingsBack: goingsBack, lostAnswers: lostAnswers,
      grain: grain)
  }
}

extension CompactionBounds: CustomStringConvertible {
  var description: String {
    "\(replicas) replicas, \(records) records, \(writes.count) writes, \(floors) floors, "
      + "\(goingsBack) goings back, \(lostAnswers) lost answers, \(joins) joins, \(trims) trims, "
      + "in \(grain), " + (clocksRun ? "clocks that run" : "clocks behind what they have seen")
  }
}
