/// An invariant that did not hold.
public struct SimulationFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// What must hold, by the numbers of the list in <doc:Simulating>.
  public enum Invariant: Int, Hashable, Sendable, CaseIterable {
    case acknowledgedIsInLog = 1
    case acknowledgedIsEverywhere = 2
    case equalSetsAreEqual = 3
    case stateIsOracles = 4
    case recordsAreFold = 5
    case tokenIsNotAhead = 6
    case sequencesAreGapless = 7
    case clockIsBounded = 8
    case successorWins = 9
    case countedOnce = 10
    case transactionsAreAtomic = 11
    case unknownIsKept = 12
    case nothingVanishes = 13
    case roundsMakeProgress = 14
    case growthIsBounded = 15
    case nothingIsSilent = 16
    /// None of the list: an error that no fault explains.
    case noSurprise = 17
    /// A check of a workload failed.
    case workloadHolds = 18
    case assetsAreThere = 19
    case observersAreTold = 20
    case pastIsFold = 21
    case undoneIsGone = 22
    case snapshotsAreEqual = 23
    case receiveTimesAreBelieved = 24
  }

  /// What did not hold.
  public let invariant: Invariant
  /// What was expected and what was found.
  public let message: String
  /// The step after which it was seen.
  public var step = 0

  /// Creates a failure.
  ///
  /// - Parameters:
  ///   - invariant: what did not hold: ``Invariant/workloadHolds`` for a rule of your own workload.
  ///   - message: what was expected and what was found.
  public init(_ invariant: Invariant, _ message: String) {
    self.invariant = invariant
    self.message = message
  }

  /// Such as “tokenIsNotAhead (invariant 6): …”.
  public var description: String { "\(invariant) (invariant \(invariant.rawValue)): \(message)" }
}
