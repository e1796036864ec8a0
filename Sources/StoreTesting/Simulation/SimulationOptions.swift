/// What the worlds of a simulation are made of.
public struct SimulationOptions: Sendable {
  /// What the devices write: in each write one of these.
  public var workloads: [any SimulationWorkload]
  /// How many steps a world takes while faults are on; nil: 200 to 2,000, few most of the time.
  public var steps: Int?
  /// The faults that may occur.
  public var faults: Set<SimulationFault> = Set(SimulationFault.allCases)
  /// Where the stores are kept after a failure: a directory of its own for each seed is made there. Nil: nowhere.
  public var keepDirectory: String?

  /// Creates options.
  public init(workloads: [any SimulationWorkload] = [CellWorkload(), LedgerWorkload(), RingWorkload()]) {
    precondition(!workloads.isEmpty, "a simulation needs a workload")
    self.workloads = workloads
  }
}
