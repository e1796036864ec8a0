public import Replicator

/// What the worlds of a simulation are made of.
public struct SimulationOptions: Sendable {
  /// The workloads. Each write is of one of them.
  public var workloads: [any SimulationWorkload]
  /// How many steps a world takes while faults are on; nil: 200 to 2,000, few most of the time; 0 or
  /// less: the devices start and come to rest.
  public var steps: Int?
  /// Bytes that a field is set to become an asset if there are more, a file beside the store; nil: none do.
  /// Half of the devices have a zone's assets downloaded by themselves, and at the end all must be
  /// everywhere.
  public var assetThresholdBytes: Int?
  /// Makes the remote of a world, an empty one each time; nil: the built-in ones.
  ///
  /// It answers as a server would, whose calls travel over the world's network. It may suspend at nothing but
  /// its own actors and locks: a world has one thread, and no time passes in it while a call is done. So it
  /// is no `FolderRemote`, whose calls have threads of their own.
  public var makeRemote: (@Sendable () -> any RemoteLog)?
  /// The faults that may occur.
  public var faults: Set<SimulationFault> = Set(SimulationFault.allCases)
  /// Where the stores are kept after a failure: a directory of its own for each seed is made there. Nil:
  /// nowhere.
  public var keepDirectory: String?
  /// Where a world's directory is made; nil: where it is fastest. Give one to be able to remove what a world
  /// leaves that ends its process.
  public var scratchDirectory: String?
  /// Gets each line of the trace as it is made: what a world did before it ended its process.
  public var traceSink: (@Sendable (String) -> Void)?

  /// Creates options.
  ///
  /// - Parameter workloads: what the devices write. A simulation needs at least one.
  public init(workloads: [any SimulationWorkload] = Self.standardWorkloads) {
    self.workloads = workloads
  }
}
