internal import Synchronization

// What only tests and StoreTesting use. Tests that are built for debugging import the module as testable;
// this is for StoreTesting and for the programs that tests start, which are built for release too.

/// One round, effect by effect.
package struct SteppedRound: Sendable {
  private var round: SyncRound

  /// A round over all zones, one at a time.
  package init() { round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1) }

  /// Gives the first effects.
  package mutating func start() -> [RoundEffect] { round.start() }

  /// Takes the result of an effect, and gives the effects that follow; none at the end.
  package mutating func step(_ result: RoundResult) -> [RoundEffect] { round.step(result) }
}

extension MemoryObjects {
  /// All objects. Set them to go back to an earlier state.
  package var contents: [ObjectName: [UInt8]] {
    get { state.withLock { $0.objects } }
    set { state.withLock { $0.objects = newValue } }
  }
}
