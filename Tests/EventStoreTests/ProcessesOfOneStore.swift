import ChildProcesses
import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Several processes of one store, which are killed while they write and observe", .serialized)
struct ProcessesOfOneStore {
  /// Few in daily tests; `make processes` runs a thousand.
  private static let rounds = getenv("PROCESS_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 10

  @Test(
    "nothing acknowledged is lost, and the observers of those that live see every commit of the others",
    .timeLimit(.minutes(600)))
  func rounds() throws {
    let seed = UInt64.random(in: 0...999_999)
    var run = ProcessRounds(seed: seed)
    for _ in 0..<Self.rounds { try run.round() }
    try run.end()
    print("processes of one store, seed \(seed): \(run.figures)")
    #expect(run.figures.acknowledged > Self.rounds && run.figures.commits > Self.rounds)
  }
}

/// What came of some rounds.
struct ProcessFigures: CustomStringConvertible {
  var rounds = 0
  var kills: [ProcessRounds.Kind: Int] = [:]
  var acknowledged = 0
  var unacknowledged = 0
  var commits = 0
  var pictures = 0
  /// Reads during which a process was killed, as far as no writer had cleared their entries by the check.
  var deadReaders = 0
  /// How long the transactions of another process took until a commit told them, in microseconds: while all write,
  /// and while one makes a single write.
  var waits: [Int] = []
  var quietWaits: [Int] = []

  mutating func add(_ process: BesideProcess) {
    acknowledged += process.acknowledged.count
    commits += process.commitCount
    pictures += process.pictureCount
    waits += process.waits
  }

  var description: String {
    let kinds = kills.sorted { "\($0.key)" < "\($1.key)" }.map { "\($0.key) \($0.value)" }
    return "\(rounds) rounds, \(kills.values.reduce(0, +)) kills (\(kinds.joined(separator: ", "))), "
      + "\(acknowledged) writes acknowledged, all there; \(unacknowledged) more in the log; "
      + "\(commits) commits and \(pictures) pictures observed; \(deadReaders) were killed in a read; "
      + "another's transaction was observed after \(Self.text(waits)), "
      + "while only one wrote after \(Self.text(quietWaits))"
  }

  private static func text(_ waits: [Int]) -> String {
    guard !waits.isEmpty else { return "none" }
    let sorted = waits.sorted()
    return "\(sorted[sorted.count / 2]) µs (median of \(sorted.count)), "
      + "\(sorted[sorted.count * 95 / 100]) µs (95 %), \(sorted[sorted.count - 1]) µs (most)"
  }
}

/// Rounds in which a process is killed beside another, and what must hold after each.
struct ProcessRounds {
  /// When a process is killed.
  enum Kind: CaseIterable {
    /// While it writes and observes, or right after it was told to write.
    case writing, atWrite
    case opening, closing
    /// While it holds the write lock.
    case locking
    /// All of them, at about the same moment.
    case all
    /// The one that has been there for long.
    case first
  }

  private(set) var figures = ProcessFigures()
  private let seed: UInt64
  private var random: SeededGenerator
  private var directory = TemporaryDirectory()
  private var durability = ""
  private var path = ""
  private var startCount = 0
  /// The process that lives for many rounds.
  private var first: BesideProcess?
  /// What must be in the log.
  private var acknowledged: Set<String> = []

  /// So many rounds have one store. The records that another version makes are many.
  private static let roundsOfStore = BesideProcess.otherProgram == nil ? 10 : 4

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
  }

  private var place: Comment { "seed \(seed) round \(figures.rounds)" }

  // MARK: A round

  mutating func round() throws {
    if figures.rounds % Self.roundsOfStore == 0 { try makeStore() }
    let kind = random.chance(30) ? .writing : Kind.allCases.randomElement(using: &random)!
    if first == nil {
      first = start()
      // Sometimes both make the store.
      if random.chance(70) { expectReady(first!, []) }
    }
    try kill(kind, first!)
    try check()
    figures.rounds += 1
  }

  mutating func end() throws {
    guard let first else { return }
    first.send("end")
    let end = first.wait()
    #expect(end == .exit(0), place)
    retire(first)
    self.first = nil
    try check()
  }

  private mutating func makeStore() throws {
    try end()
    (durability, directory) =
      random.chance(20)
      ? ("durable", TemporaryDirectory(in: "/var/tmp")) : ("consistent", TemporaryDirectory())
    path = directory.path + "/store"
    acknowledged = []
  }

  private mutating func kill(_ kind: Kind, _ first: BesideProcess) throws {
    figures.kills[kind, default: 0] += kind == .all ? 2 : 1
    if kind == .locking { return killHolder(first) }
    let second = startSecond()
    let both = [first, second]
    if kind == .opening {
      BesideProcess.listen(to: both, microseconds: random.below(80_000))
      return kill([second])
    }
    expectReady(first, [second])
    expectReady(second, [first])
    BesideProcess.listen(to: both, microseconds: random.below(second.isObserver ? 150_000 : 50_000))
    if random.chance(50) || kind == .atWrite { writeOneByOne(first, second, resumes: kind != .atWrite) }
    switch kind {
    case .writing, .opening, .locking: kill([second])
    case .atWrite:
      // Nobody else writes, so that no other commit tells what this one did.
      second.send("write")
      if random.chance(30) { _ = second.answer("wrote", [first]) }
      usleep(UInt32(random.below(3000)))
      kill([second])
    case .closing:
      second.send("end")
      usleep(UInt32(random.below(8000)))
      kill([second])
    case .all:
      kill(random.chance(50) ? [second, first] : [first, second])
      self.first = nil
    case .first:
      kill([first])
      self.first = second
      // Another version cannot be asked what it sees.
      if !second.isObserver {
        kill([second])
        self.first = nil
      }
    }
  }

  private mutating func kill(_ processes: [BesideProcess]) {
    for process in processes { process.kill() }
    for process in processes {
      let end = process.wait()
      #expect(end == .signal(SIGKILL) || end == .exit(0), place)
      retire(process)
    }
  }

  private mutating func killHolder(_ first: BesideProcess) {
    expectReady(first, [])
    let holder = ChildProcess("hold", path)
    let line = holder.line()
    #expect(line == "holding", place)
    BesideProcess.listen(to: [first], microseconds: random.below(30_000))
    holder.send(SIGKILL)
    let end = holder.wait()
    #expect(end == .signal(SIGKILL), place)
  }

  /// Pauses both, and has one of them make a single write, some times: the other must see it, though no other commit
  /// wakes it.
  private mutating func writeOneByOne(
    _ first: BesideProcess, _ second: BesideProcess, resumes: Bool
  ) {
    let both = [first, second].filter(\.isObserver)
    for process in both { pause(process, both) }
    guard both.count == 2 else { return }
    for process in both { settle(process, both) }
    let known = both.map(\.waits.count)
    for _ in 0..<5 {
      let (writer, reader) = random.chance(50) ? (first, second) : (second, first)
      writer.send("write")
      let wrote = writer.answer("wrote", both)
      #expect(wrote != nil, place)
      settle(reader, both)
      BesideProcess.listen(to: both, microseconds: random.below(5000))
    }
    for (process, count) in zip(both, known) { figures.quietWaits += process.waits[count...] }
    if resumes { for process in both { process.send("resume") } }
  }

  // MARK: Processes

  private mutating func start() -> BesideProcess {
    startCount += 1
    return BesideProcess(
      path, durability, prefix: "p\(startCount)", tasks: 1 + random.below(3), seed: random.next() >> 8)
  }

  private mutating func startSecond() -> BesideProcess {
    guard let program = BesideProcess.otherProgram else { return start() }
    startCount += 1
    return BesideProcess(
      path, durability, prefix: "p\(startCount)", tasks: 1 + random.below(3), count: 60, program: program)
  }

  private func expectReady(_ process: BesideProcess, _ others: [BesideProcess]) {
    guard !process.isReady else { return }
    let answer = process.answer("ready", others)
    #expect(answer != nil, "\(place) \(process.prefix) \(process.wrong)")
  }

  private func pause(_ process: BesideProcess, _ others: [BesideProcess]) {
    process.send("pause")
    let answer = process.answer("paused", others)
    #expect(answer != nil, "\(place) \(process.prefix) \(process.wrong)")
  }

  @discardableResult
  private func settle(_ process: BesideProcess, _ others: [BesideProcess]) -> String? {
    process.send("settle")
    let answer = process.answer("settled", others)
    #expect(answer != nil, "\(place) \(process.prefix) \(process.wrong)")
    return answer
  }

  private mutating func retire(_ process: BesideProcess) {
    acknowledged.formUnion(process.acknowledged)
    figures.add(process)
    #expect(process.wrong == [], "\(place) \(process.prefix)")
  }

  // MARK: What must hold

  /// Checks the store, and that who lives sees the same.
  private mutating func check() throws {
    var settled: String?
    if let first {
      expectReady(first, [])
      pause(first, [])
      settled = settle(first, [])
      #expect(first.wrong == [], place)
    }
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    let store = try LocalStore(directory: path, durability: .consistent, configuration: configuration)
    defer { store.close() }
    figures.deadReaders += try store.environment.clearDeadReaders()
    try checkContiguous(store)
    let labels = Set(try store.entries().compactMap { $0.transaction.label?.split(separator: "@").first })
    let known = acknowledged.union(first?.acknowledged ?? [])
    #expect(known.allSatisfy { labels.contains($0[...]) }, place)
    figures.unacknowledged += labels.count - known.count
    // What is in the log now must stay.
    acknowledged.formUnion(labels.map(String.init))
    let report = try store.verify()
    #expect(report.problems == [], place)
    if let settled {
      let seen = try store.read { tx in
        let zones = try tx.zones().map { "\($0) \(try tx.digest(of: $0))\n" }.joined()
        return "settled \(try tx.lastPosition()) \(ContentHash(of: Array(zones.utf8).span.bytes))"
      }
      #expect(seen == settled, place)
    }
    first?.send("resume")
  }
}
