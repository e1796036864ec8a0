import EventStore
import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A device of a scenario: a store of its own, a wall clock, and the way to the remote.
final class ScenarioDevice {
  /// A store of a scenario is small: hundreds may be open in one process.
  private static let mapBytes = 64 << 20

  let name: String
  let remote: any RemoteLog
  private(set) var store: LocalStore
  var isOnline = true
  /// Transactions that the last push, and the last pull, moved.
  var lastPush = 0
  var lastPull = 0
  /// A push whose answers are held back.
  var heldPush: HeldPush?
  var hasBegunPush = false
  /// The wall clock, in milliseconds.
  let clock = DeviceClock()
  private let random: DeviceRandom
  private let parent: String
  private var generation = 0

  struct HeldPush {
    var gate: HoldingRemote.Gate
    var round: Task<SyncReport, any Error>
  }

  init(name: String, directory: String, remote: any RemoteLog, random: SeededRandom) throws {
    self.name = name
    self.remote = remote
    self.random = DeviceRandom(random)
    parent = directory
    store = try Self.open("\(directory)-0", clock, self.random)
  }

  private static func open(_ directory: String, _ clock: DeviceClock, _ random: DeviceRandom) throws
    -> LocalStore
  {
    var configuration = StoreConfiguration()
    configuration.mapBytes = mapBytes
    configuration.wallMilliseconds = { clock.milliseconds }
    configuration.makeRandom = { random.next() }
    configuration.isUnsynced = true
    return try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
  }

  // MARK: Its life

  /// Closes the store and opens it again.
  func restart() async throws {
    await loseHeldPush()
    store.close()
    store = try Self.open(store.directory, clock, random)
  }

  /// Throws the store away and opens a new one.
  func wipe() async throws {
    await loseHeldPush()
    store.close()
    try FileManager.default.removeItem(atPath: store.directory)
    generation += 1
    store = try Self.open("\(parent)-\(generation)", clock, random)
  }

  /// Ends what is under way, and closes the store.
  func close() async {
    await loseHeldPush()
    store.close()
  }

  // MARK: Syncing

  func replicator(over remote: any RemoteLog, zonesAtOnce: Int = 4) -> LogReplicator {
    var configuration = ReplicatorConfiguration()
    let random = random
    configuration.makeRandom = { random.next() }
    configuration.policy.zonesAtOnceMax = max(1, zonesAtOnce)
    return LogReplicator(store: store, remote: remote, configuration: configuration)
  }

  /// Makes a round. What keeps a zone from being synced is an error; one that waits for the app is none.
  func sync(_ steps: SyncSteps) async throws -> SyncReport {
    try check(await replicator(over: remote).syncOnce(steps))
  }

  func check(_ report: SyncReport) throws -> SyncReport {
    for zone in report.zones {
      switch zone.status {
      case .failed(let failure), .parked(_, let failure): throw failure
      case .forked(let offset):
        throw SyncFailure(
          code: "fork", message: "zone \(zone.zone) is forked at offset \(offset)",
          hint: "two stores have one identity", scope: .zone)
      default: continue
      }
    }
    return report
  }

  /// Ships, and holds the answers back once each zone that ships has one.
  func beginPush() async throws {
    await loseHeldPush()
    hasBegunPush = true
    let shipping = try store.syncState().zones.count { $0.attachment == .attached && $0.pending > 0 }
    let gate = HoldingRemote.Gate()
    let replicator = replicator(over: HoldingRemote(remote: remote, gate: gate), zonesAtOnce: shipping)
    let round = Task {
      defer { gate.finish() }
      return try await replicator.syncOnce(.ship)
    }
    await gate.holds(max(1, shipping))
    heldPush = HeldPush(gate: gate, round: round)
  }

  /// Lets the answers of the held push arrive. What a restart lost stays lost.
  func acknowledgePush() async throws {
    guard let push = heldPush else { return }
    heldPush = nil
    push.gate.open(arrives: true)
    lastPush = try check(await push.round.value).sent
  }

  private func loseHeldPush() async {
    guard let push = heldPush else { return }
    heldPush = nil
    push.gate.open(arrives: false)
    // The round fails, since its answer was lost: that is what was asked for.
    _ = await push.round.result
  }
}
