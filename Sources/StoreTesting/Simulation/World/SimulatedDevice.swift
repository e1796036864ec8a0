import EventStore
import Replicator

/// A device of a world: a store, a clock, and what replicates it.
///
/// It is `@unchecked Sendable` since a world has one thread.
final class SimulatedDevice: @unchecked Sendable {
  /// Address space of a store, in bytes: hundreds of worlds may run in one process.
  private static let mapBytes = 256 << 20

  let number: Int
  let configuration: SimulationConfiguration.Device
  private(set) var process: SimulatedProcess
  /// Nil while its process is over.
  private(set) var store: LocalStore?
  private(set) var runner: EffectRunner?
  var replicators: [SimulatedReplicator] = []
  /// The error of its wall clock, in milliseconds.
  var clockOffset: Int64
  /// Whether its calls do not arrive.
  var isCutOff = false
  var mount = RemoteMount.right {
    didSet { disturbRounds() }
  }
  var isOlder: Bool
  var heldRead: SimulatedHeldRead?
  /// What its app shows of the store.
  var screens: [SimulatedScreen.Read] = []
  /// How many times it has committed since it looked at its commits.
  var commitsUnseen = 0
  /// Whether it ever held a read open. Its file may then have grown by the pages replaced meanwhile.
  var hasHeldRead = false
  /// Whether its process ends after its present action.
  var isDying = false
  /// The writes that ended since its log was last checked.
  var writeOutcomes: [WriteOutcome] = []
  /// What it has taken back of its own transactions.
  var undone = UndoneWrites()
  /// What it took back last, if that was not checked yet.
  var undoUnchecked: UndoReport?
  /// Zones that its app is now deleting.
  var deletedZones: Set<ZoneID> = []
  /// What its store is known to have.
  var view = DeviceView()
  /// The store's last commit that was checked; nil if none of this process was.
  private var lastCommit: UInt64?
  /// How often its store was wiped.
  private(set) var generation = 0
  /// What it may write.
  let workloads: [any SimulationWorkload]
  let selection: ZoneSelection
  private let parent: String
  private let random: DeviceRandom
  /// The most steps of a fold in one commit; nil for the engine's own bound.
  var foldStepsMax: Int?
  /// After how many commits its process ends in the next one; nil if no story ends it so.
  var commitsLeft: Int?
  /// Whether its store notices at its start that it was copied, or put back from a backup.
  var noticesCopies = true
  /// How much of a log asks for a snapshot at the remote; nil for more than a world has.
  var snapshotBytesMin: UInt64?
  /// How old the entries of a log must be that its rounds remove from the remote; nil for never.
  var trimMilliseconds: Int64?
  /// How much history its store keeps.
  var history = HistoryPolicy.everything

  init(
    _ number: Int, _ configuration: SimulationConfiguration.Device, _ workloads: [any SimulationWorkload],
    parent: String, random: SeededRandom
  ) {
    self.number = number
    self.configuration = configuration
    self.parent = parent
    self.random = DeviceRandom(random)
    self.workloads = configuration.workload.map { [workloads[$0]] } ?? workloads
    selection = configuration.workload.map { .only(Set(workloads[$0].zones)) } ?? .all
    clockOffset = configuration.clockOffset
    isOlder = configuration.isOlder
    process = SimulatedProcess(device: number, number: 0)
    process.end()
  }

  var directory: String { "\(parent)/d\(number)-\(generation)" }

  /// Opens the store in a new process.
  func start(
    wallMilliseconds: @escaping @Sendable () -> Int64, commitFault: @escaping @Sendable () -> CommitFault?,
    assetThresholdBytes: Int?, assetFault: @escaping @Sendable (StaticString) -> FileFault?,
    makeRemote: (SimulatedProcess) -> any RemoteLog
  ) throws {
    let random = random
    var configuration = StoreConfiguration()
    configuration.mapBytes = Self.mapBytes
    configuration.wallMilliseconds = wallMilliseconds
    configuration.makeRandom = { random.next() }
    configuration.isUnsynced = true
    configuration.noticesCopies = noticesCopies
    configuration.scratchDirectory = parent
    configuration.writesOnCallingThread = true
    configuration.indexes = SimulatedIndexes.all
    configuration.commitFault = commitFault
    configuration.foldBoundStepsMax = foldStepsMax
    // In worlds without assets, workloads write values of the greatest size.
    configuration.assetThresholdBytes = assetThresholdBytes ?? .max
    if assetThresholdBytes != nil { configuration.assetFault = assetFault }
    let store = try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
    process = SimulatedProcess(device: number, number: process.number + 1)
    self.store = store
    runner = EffectRunner(
      store: store, remote: makeRemote(process), selection: selection,
      pageBytesMax: self.configuration.pageBytesMax, makeRandom: { random.next() })
    var policy = SyncPolicy()
    policy.pollMilliseconds = self.configuration.pollMilliseconds
    if let snapshotBytesMin { policy.snapshotBytesMin = snapshotBytesMin }
    policy.trimMilliseconds = trimMilliseconds
    (policy.history, policy.historyBytesMin) = (history, 1)
    replicators = (0..<self.configuration.replicators).map { _ in SimulatedReplicator(policy, selection) }
  }

  /// Ends the process, and drops everything that it has begun.
  func end() {
    process.end()
    heldRead = nil
    screens = []
    undoUnchecked = nil
    lastCommit = nil
    store?.close()
    store = nil
    runner = nil
    replicators = []
    isDying = false
    commitsLeft = nil
  }

  /// Removes the store. The next process starts with an empty one.
  func wipe() {
    end()
    generation += 1
    view = DeviceView()
    undone = UndoneWrites()
  }

  /// Whether the store has committed anything since it was last asked.
  func hasCommitted(_ store: LocalStore) throws -> Bool {
    let commit = try store.lastCommitID
    defer { lastCommit = commit }
    return commit != lastCommit
  }

  func selects(_ zone: ZoneID) -> Bool {
    configuration.workload == nil || workloads.contains { $0.zones.contains(zone) }
  }

  /// Marks the reports of the present rounds as useless for checks, since the remote changed during them.
  func disturbRounds() {
    for replicator in replicators { replicator.round?.steps = nil }
  }

  /// A number for the jitter of its timers.
  func drawMilliseconds(in range: ClosedRange<Int64>) -> Int64 {
    range.lowerBound + Int64(random.next() % UInt64(range.upperBound - range.lowerBound + 1))
  }
}

/// A read transaction that is held open, and what it saw when it began.
struct SimulatedHeldRead {
  var read: HeldRead
  var state: DeviceState
}
