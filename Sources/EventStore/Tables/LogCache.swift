/// What a transaction has read of the log last: so that who reads entry after entry decodes each row once.
///
/// Its memory is bounded: see ``LogRun/decodedBytesMax``.
final class LogCache {
  /// As many rows, so that some lanes can be read side by side.
  private static let runsMax = 4

  // Accesses never overlap, so none is checked.
  @exclusivity(unchecked) private var runs: [DecodedRun] = []
  @exclusivity(unchecked) private var oldest = 0
  @exclusivity(unchecked) private var named: (lane: Lane, run: SequenceRun)?
  /// How many entries were decoded that share their row with others.
  @exclusivity(unchecked) private(set) var decodedEntries = 0

  /// The decoded row that has a position; nil if there is none. The caller checks that the row has not changed.
  func run(at position: Position) -> DecodedRun? { runs.first { $0.contains(position) } }

  func add(_ run: DecodedRun) {
    decodedEntries += run.count
    if let index = runs.firstIndex(where: { $0.first == run.first }) {
      runs[index] = run
    } else if runs.count < Self.runsMax {
      runs.append(run)
    } else {
      runs[oldest] = run
      oldest = (oldest + 1) % Self.runsMax
    }
  }

  /// The position of a transaction, if its row of `sequences` is the one that was read last.
  func position(of lane: Lane, _ sequence: UInt64) -> Position? {
    guard let named, named.lane == lane else { return nil }
    return named.run.position(of: sequence)
  }

  func note(_ run: SequenceRun, of lane: Lane) { named = (lane, run) }

  func forgetSequences() { named = nil }

  /// Forgets all, because rows changed or the transaction ended.
  func removeAll() {
    runs.removeAll(keepingCapacity: true)
    oldest = 0
    named = nil
  }
}
