/// How much happens in the worlds of one search. Within it, everything that can happen does.
struct Bounds {
  var replicas: Int
  /// For each write, in order, what it may do.
  var kinds: [[Transaction.Kind]]
  /// How often the log goes back to an older copy of itself.
  var goingsBack: Int
  /// How many appends have an effect but no answer.
  var lostAnswers = 0
  /// How many replicas stop to sync for good.
  var departures = 0
  /// How many entries a stranger appends that say a wrong limit.
  var lies = 0
  var grain = Grain.rounds
  /// A log with more entries grows without end.
  var entriesMax = 24
  /// More worlds are an error: a search that does not come to its end proves nothing.
  var statesMax = 2_000_000

  /// What of one replica's syncing no other step can come between.
  enum Grain {
    /// All of it, until nothing moves.
    case rounds
    /// To read the log to its end, to put back one entry, to append one.
    case steps
    /// To read one entry, to put back one, to append one.
    case entries
  }
}

extension Bounds: CustomStringConvertible {
  var description: String {
    "\(replicas) replicas, \(kinds.count) writes, \(goingsBack) goings back, \(lostAnswers) lost answers, "
      + "\(departures) departures, \(lies) lies, in \(grain)"
  }
}
