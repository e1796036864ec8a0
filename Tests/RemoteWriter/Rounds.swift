import Dispatch
import EventStore
import Replicator
import StoreTesting
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Performs rounds at a store: some end in the middle with the process, some run beside others at the same
/// store.
enum Rounds {
  static let zones = [ZoneID(name: "notes"), ZoneID(name: "lists")]

  /// Performs a round effect by effect, and kills this process: before an effect, or some microseconds after
  /// one began. If the round has fewer effects, prints how many it had.
  static func killed(
    store directory: String, folder: String, effect last: Int, microseconds: Int?
  ) async throws {
    let store = try open(directory, seed: UInt64(last))
    let runner = EffectRunner(
      store: store, remote: try await FolderRemote.open(directory: folder), selection: .all,
      pageBytesMax: 1 << 20, makeRandom: bits(of: UInt64(last) &+ 1 << 32))
    var round = SteppedRound()
    var effects = round.start()
    var count = 0
    while !effects.isEmpty {
      let effect = effects.removeFirst()
      if count == last { end(afterMicroseconds: microseconds) }
      effects += round.step(await runner.perform(effect))
      count += 1
    }
    // If the round was faster than the kill, nothing else may happen.
    if count > last { kill(getpid(), SIGKILL) }
    store.close()
    Line.print("\(count)\n")
  }

  /// Writes to a store and syncs it, repeatedly, and prints each write when it is done.
  static func beside(
    store directory: String, folder: String, writer: String, count: Int
  ) async throws {
    let seed = UInt64(writer)!
    let store = try open(directory, seed: seed)
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = bits(of: seed &+ 1 << 32)
    let replicator = LogReplicator(
      store: store, remote: try await FolderRemote.open(directory: folder), configuration: configuration)
    for index in 0..<count {
      let zone = zones[index % zones.count]
      let record = RecordID(zone: zone, name: Name("\(writer) \(index)"))
      try await store.write { tx in
        try tx.createZone(zone)
        try tx.attachZone(zone)
        try tx.create(record, type: "note", fields: ["title": .int(Int64(index))])
      }
      Line.print("wrote \(record)\n")
      let report = try await replicator.syncOnce()
      for zone in report.zones where zone.status != .inSync && zone.status != .unfinished {
        Line.print("zone \(zone.zone) \(zone.status)\n")
      }
    }
    store.close()
    Line.print("over\n")
  }

  /// Writes to a store, and does not sync.
  static func write(store directory: String, count: Int) async throws {
    let store = try open(directory, seed: 0)
    for index in 0..<count {
      try await store.write { tx in
        try tx.create(RecordID(zone: zones[0], name: Name("by another \(index)")), type: "note")
      }
    }
    store.close()
  }

  /// Performs the first sync of a new store, which is interrupted: see ``FirstSync``.
  static func first(store directory: String, folder: String, interruptions: Int, pageBytesMax: Int)
    async throws
  {
    let store = try open(directory, seed: 1)
    try await FirstSync.run(
      store: store, folder: folder, interruptions: interruptions, pageBytesMax: pageBytesMax)
    store.close()
  }

  /// Imports a file without referring to it.
  static func importAsset(store directory: String, file: String) async throws {
    let store = try open(directory, seed: 0)
    _ = try await store.importAsset(file: file)
    store.close()
  }

  private static func open(_ directory: String, seed: UInt64) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    configuration.mapBytes = 64 << 20
    configuration.wallMilliseconds = { 1_000_000 }
    configuration.makeRandom = bits(of: seed)
    return try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
  }

  /// Random bits from a seed and this process's number, so that no two processes propose the same
  /// incarnation.
  static func bits(of seed: UInt64) -> @Sendable () -> UInt64 {
    let random = Shared(SeededRandom(seed: seed ^ UInt64(getpid()) << 40))
    return { random.next() }
  }

  /// Kills this process: now, or later from another thread.
  private static func end(afterMicroseconds microseconds: Int?) {
    guard let microseconds else {
      kill(getpid(), SIGKILL)
      return
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(microseconds)) {
      kill(getpid(), SIGKILL)
    }
  }
}

private final class Shared: Sendable {
  private let random: Mutex<SeededRandom>
  init(_ random: SeededRandom) { self.random = Mutex(random) }
  func next() -> UInt64 { random.withLock { $0.next() } }
}
