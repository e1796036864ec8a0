import EventStore
import Replicator

/// A device of a history: a store, a clock, and a replicator.
final class HistoryDevice {
  /// Address space of a store, in bytes: room for any history, and for a thousand stores in one process.
  private static let mapBytes = 1 << 30

  let name: String
  let store: LocalStore
  let clock: DeviceClock
  let replicator: LogReplicator
  /// Commits that it made.
  var commits = 0

  init(
    name: String, directory: String, isKept: Bool, remote: any RemoteLog, random: SeededRandom
  ) throws {
    self.name = name
    let clock = DeviceClock()
    let random = DeviceRandom(random)
    var configuration = StoreConfiguration()
    configuration.mapBytes = Self.mapBytes
    configuration.wallMilliseconds = { clock.milliseconds }
    configuration.makeRandom = { random.next() }
    configuration.isUnsynced = !isKept
    store = try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
    self.clock = clock
    var replicatorConfiguration = ReplicatorConfiguration()
    replicatorConfiguration.makeRandom = { random.next() }
    replicator = LogReplicator(store: store, remote: remote, configuration: replicatorConfiguration)
  }
}
