import Dispatch
import EventStore
import OperationFormat
import Replicator
import StoreTesting
import Synchronization

/// A process with a store of its own, at a folder that many share. It writes, reads and syncs until its input ends, and
/// prints what it wrote and what it read.
///
/// Each transaction of a writer w changes several records of a zone together, so that a reader who sees a part of it can
/// be told:
///
/// | record | field | the transaction |
/// |---|---|---|
/// | `a w`, `b w` | `count` | sets both to the number of w's transactions in the zone |
/// | `a w` | `seen` | sets it to the numbers of all writers that it has read |
/// | `x`, `y` | `last` | sets both to w and its number: all writers do, so that they conflict |
/// | `total` | `count` | adds 1 |
enum FolderClient {
  /// - Parameters:
  ///   - number: which writer it is, from 0.
  ///   - count: how many there are.
  static func run(store directory: String, folder: String, number: Int, of count: Int, seed: UInt64)
    async throws
  {
    let bits = Rounds.bits(of: seed)
    let store = try open(directory, bits)
    let input = Input()
    let syncing = Task { await replicator(store, folder, bits).run() }
    // What an earlier process of the store wrote and read must still be there.
    try show(count, store)
    while !input.hasEnded {
      let zone = Int(bits() % UInt64(Rounds.zones.count))
      if bits() % 4 == 0 {
        let written = try await store.write { try write(zone, number, count, &$0) }
        Line.print("wrote \(zone) \(written)\n")
      }
      Line.print(try line(zone, count, store))
      try await Task.sleep(for: .milliseconds(Int(bits() % 10)))
    }
    syncing.cancel()
    await syncing.value
    store.close()
    Line.print("over\n")
  }

  /// Prints what a store shows, and does nothing else.
  static func look(store directory: String, of count: Int) throws {
    let store = try open(directory, Rounds.bits(of: 0))
    try show(count, store)
    store.close()
  }

  private static func open(
    _ directory: String, _ bits: @escaping @Sendable () -> UInt64
  ) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    configuration.mapBytes = 256 << 20
    configuration.makeRandom = bits
    return try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
  }

  private static func show(_ count: Int, _ store: LocalStore) throws {
    for zone in 0..<Rounds.zones.count { Line.print(try line(zone, count, store)) }
  }

  /// A replicator that waits for nothing for long, and puts snapshots of small logs.
  private static func replicator(
    _ store: LocalStore, _ folder: String, _ bits: @escaping @Sendable () -> UInt64
  ) -> LogReplicator {
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = bits
    configuration.policy.commitDelayMilliseconds = 10
    configuration.policy.pushDelayMilliseconds = 10
    configuration.policy.pollMilliseconds = 200
    configuration.policy.announceMilliseconds = 50
    configuration.policy.retryMilliseconds = 20
    configuration.policy.retryMillisecondsMax = 200
    configuration.policy.snapshotBytesMin = 64 << 10
    return LogReplicator(
      store: store, remote: FolderRemote(directory: folder), configuration: configuration)
  }

  // MARK: A zone

  private static func line(_ zone: Int, _ count: Int, _ store: LocalStore) throws -> String {
    let picture = try store.read { tx in try Self.picture(of: zone, count, tx) }
    return "saw \(zone) \(picture)\n"
  }

  /// What a zone shows: the total, what `x` and `y` say, and of each writer both its numbers and what it had seen.
  private static func picture(
    of zone: Int, _ count: Int, _ tx: borrowing some RecordReading & ~Copyable
  ) throws -> String {
    func word(_ field: Name, _ name: Name) throws -> String {
      try tx.value(of: field, in: record(name, zone)).map(Self.word) ?? "-"
    }
    var words = [try tx.counter("count", of: record("total", zone)).map { Self.word($0.value) } ?? "0"]
    words += [try word("last", "x"), try word("last", "y")]
    for writer in 0..<count {
      let (a, b) = (Name("a \(writer)"), Name("b \(writer)"))
      words += [try word("count", a), try word("count", b), try word("seen", a)]
    }
    return words.joined(separator: " ")
  }

  /// Makes one transaction of a writer in a zone.
  ///
  /// - Returns: its number.
  private static func write(
    _ zone: Int, _ number: Int, _ count: Int, _ tx: inout WriteTransaction
  ) throws -> Int64 {
    var seen: [Int64] = []
    for writer in 0..<count {
      let value = try tx.value(of: "count", in: record(Name("a \(writer)"), zone))
      if case .int(let value)? = value { seen.append(value) } else { seen.append(0) }
    }
    let next = seen[number] + 1
    let (a, b) = (record(Name("a \(number)"), zone), record(Name("b \(number)"), zone))
    let (x, y, total) = (record("x", zone), record("y", zone), record("total", zone))
    for record in [a, b, x, y, total] where try !tx.contains(record) {
      try tx.create(record, type: "note")
    }
    try tx.set("count", of: a, to: .int(next))
    try tx.set("last", of: x, to: .string("\(number).\(next)"))
    try tx.add(1, to: "count", of: total)
    try tx.set("last", of: y, to: .string("\(number).\(next)"))
    try tx.set("seen", of: a, to: .string(seen.map(String.init).joined(separator: ".")))
    try tx.set("count", of: b, to: .int(next))
    return next
  }

  private static func record(_ name: Name, _ zone: Int) -> RecordID {
    RecordID(zone: Rounds.zones[zone], name: name)
  }

  private static func word(_ value: Value) -> String {
    switch value {
    case .int(let value): "\(value)"
    case .string(let value): value
    default: "?"
    }
  }
}

/// The input of this process: a thread waits for its end.
private final class Input: Sendable {
  private let isOver = Mutex(false)

  init() {
    DispatchQueue.global().async { [self] in
      while readLine() != nil {}
      isOver.withLock { $0 = true }
    }
  }

  var hasEnded: Bool { isOver.withLock { $0 } }
}
