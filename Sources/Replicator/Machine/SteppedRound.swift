/// One round, effect by effect: for the programs that tests start. They are built for release too, so they
/// cannot import the module as testable.
package struct SteppedRound: Sendable {
  private var round: SyncRound

  /// A round over all zones, one at a time.
  package init() { round = SyncRound(steps: .all, selection: .all, zonesAtOnceMax: 1) }

  /// Gives the first effects.
  package mutating func start() -> [RoundEffect] { round.start() }

  /// Takes the result of an effect, and gives the effects that follow; none at the end.
  package mutating func step(_ result: RoundResult) -> [RoundEffect] { round.step(result) }
}
