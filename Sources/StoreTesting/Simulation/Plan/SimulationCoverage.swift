/// Counts of what occurred in worlds, which show that they reached the cases where bugs may be.
public struct SimulationCoverage: Sendable {
  /// An event that is counted besides faults.
  public enum Mark: String, Hashable, Sendable, CaseIterable {
    case deviceStarts, deviceStartsFailed, writes, writesFailed, losersRestored
    case rounds, roundsFailed, appended, appendedAlreadyThere, appendedToClosed
    case folded, foldedKnown, foldedBeside, conflicts, retimed
    case zonesParked, zonesPaused, zonesRemoved, zonesFailed, zonesUnfinished, zonesUnchanged, lanesForked
    case screensReadAgain, screensKept, forwardings
    case undone, undoneInPart, undoRefused
    case snapshotsEqual, historiesRetired, historiesCut, zonesBegunAgain, zonesBegun, logsTrimmed,
      remotesPutBack, remotesParted, remotesLeft, zonesMadeAgain, zonesEvicted, zonesPurged, zonesReset,
      zonesCompacted
    case readsHeld, reclaimed, verified, settlingRounds
  }

  private var faults: [SimulationFault: Int] = [:]
  private var marks: [Mark: Int] = [:]
  /// Error codes that a round or a zone failed with.
  private var codes: [String: Int] = [:]

  /// Creates counts of zero.
  public init() {}

  mutating func add(_ fault: SimulationFault) { faults[fault, default: 0] += 1 }
  mutating func add(_ mark: Mark, _ count: Int = 1) { if count > 0 { marks[mark, default: 0] += count } }
  mutating func add(code: String) { codes[code, default: 0] += 1 }

  /// Adds the counts of another world.
  public mutating func add(_ other: SimulationCoverage) {
    faults.merge(other.faults, uniquingKeysWith: +)
    marks.merge(other.marks, uniquingKeysWith: +)
    codes.merge(other.codes, uniquingKeysWith: +)
  }

  /// How often each fault occurred, in their order; 0 for what never did.
  public var faultCounts: [(fault: SimulationFault, count: Int)] {
    SimulationFault.allCases.map { ($0, faults[$0] ?? 0) }
  }

  /// How often each mark was passed, in their order; 0 for what never was.
  public var markCounts: [(mark: Mark, count: Int)] { Mark.allCases.map { ($0, marks[$0] ?? 0) } }

  /// How often each error came, by its code.
  public var codeCounts: [(code: String, count: Int)] {
    codes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
