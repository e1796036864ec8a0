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

@Suite("Processes that are killed while they write", .serialized)
struct KillTests {
  /// The results of the cycles of one durability.
  private struct Figures {
    var cycles = 0
    var acknowledged = 0
    var unacknowledged = 0
    var unacknowledgedMost = 0
  }

  /// Writes, kills at a random moment, and checks the store; a new store every few cycles.
  private func run(_ durability: String, in parent: String, cycles: Int, seed: UInt64) throws -> Figures {
    let directory = TemporaryDirectory(in: parent)
    var generator = SeededGenerator(seed: seed)
    var figures = Figures()
    var acknowledged: Set<String> = []
    var path = ""
    for cycle in 0..<cycles {
      if cycle % 10 == 0 {
        path = directory.path + "/\(cycle)"
        acknowledged = []
      }
      let tasks = 1 + cycle % 4
      let child = ChildProcess("write", path, durability, "c\(cycle)", "\(tasks)", "1000000")
      // Sometimes it is killed before it has written at all.
      let count = generator.chance(10) ? 0 : generator.below(30)
      var lines: [String] = []
      while lines.count < count, let line = child.line() { lines.append(line) }
      usleep(UInt32(generator.below(4000)))
      child.send(SIGKILL)
      let end = child.wait()
      #expect(end == .signal(SIGKILL), "seed \(seed) cycle \(cycle) \(lines.suffix(1))")
      lines += child.lines()
      let numbers = lines.compactMap(Int.init)
      acknowledged.formUnion(numbers.map { "c\(cycle)-\($0)" })

      let store = try LocalStore(directory: path, durability: .consistent)
      let entries = try store.entries()
      try checkContiguous(store)
      let labels = Set(entries.compactMap(\.transaction.label))
      #expect(labels.isSuperset(of: acknowledged), "seed \(seed) cycle \(cycle)")
      let extra = labels.filter { $0.hasPrefix("c\(cycle)-") }.count - numbers.count
      #expect(extra <= tasks, "seed \(seed) cycle \(cycle)")
      for number in numbers {
        let id = RecordID(zone: noteZone, name: Name("c\(cycle)-\(number)"))
        let value = try store.value("n", id)
        #expect(value == .int(Int64(number)), "seed \(seed) cycle \(cycle)")
      }
      let report = try store.verify()
      #expect(report.problems == [], "seed \(seed) cycle \(cycle)")
      store.close()
      // What is in the log now must stay.
      acknowledged.formUnion(labels)
      figures.cycles += 1
      figures.acknowledged += numbers.count
      figures.unacknowledged += extra
      figures.unacknowledgedMost = max(figures.unacknowledgedMost, extra)
    }
    return figures
  }

  @Test(
    "the store has every acknowledged write and at most one group more, and it verifies",
    .timeLimit(.minutes(20)),
    arguments: [("durable", "/var/tmp", 25), ("consistent", TemporaryDirectory.memoryBacked, 25)])
  func cycles(durability: String, parent: String, count: Int) throws {
    let seed = UInt64.random(in: 0...999_999)
    let figures = try run(durability, in: parent, cycles: count, seed: seed)
    print(
      "kill -9, \(durability): \(figures.cycles) cycles, \(figures.acknowledged) writes acknowledged, all there; "
        + "\(figures.unacknowledged) more were in the log, at most \(figures.unacknowledgedMost) in a cycle; "
        + "seed \(seed)")
    #expect(figures.acknowledged > figures.cycles)
  }

  @Test("a rebuild that is killed continues afterwards")
  func rebuild() async throws {
    let directory = TemporaryDirectory()
    let store = try directory.store()
    try await store.makeZone()
    for number in 0..<20 {
      try await store.write { tx in
        let value = Value.bytes([UInt8](repeating: UInt8(number), count: (1 << 20) - 100))
        try tx.create(note("n\(number)"), type: "note", fields: ["body": value])
      }
    }
    let readView = try store.readView()
    store.close()
    var generator = SeededGenerator(seed: 3)
    var interrupted = 0
    for cycle in 0..<12 {
      let child = ChildProcess("rebuild", directory.path + "/store")
      for _ in 0..<cycle % 4 { _ = child.line() }
      usleep(UInt32(generator.below(60_000)))
      child.send(SIGKILL)
      let end = child.wait()
      #expect(end == .signal(SIGKILL))
      let opened = try directory.store()
      if try opened.rows(\.meta).contains(where: { $0.key == Array("rebuild".utf8) }) { interrupted += 1 }
      let after = try opened.readView()
      #expect(after == readView)
      if cycle % 4 == 0 {
        let report = try opened.verify()
        #expect(report.problems == [])
      }
      opened.close()
    }
    print("kill -9 of a rebuild: 12 cycles, \(interrupted) between its steps")
    let opened = try directory.store()
    try await checkSound(opened)
    let left = try opened.rows(\.elements).count
    #expect(left == 20)
  }
}

@Suite("Two processes that write one store")
struct TwoProcessTests {
  let directory = TemporaryDirectory()

  private func check(_ writers: [(prefix: String, count: Int)]) throws {
    let store = try directory.store()
    try checkContiguous(store)
    let entries = try store.entries()
    let labels = entries.compactMap(\.transaction.label)
    for writer in writers {
      for number in 0..<writer.count {
        #expect(labels.contains("\(writer.prefix)-\(number)"), "\(writer.prefix)-\(number)")
      }
      // In order, as the process wrote them.
      let own = labels.filter { $0.hasPrefix(writer.prefix + "-") }
      #expect(Set(own).count == writer.count)
    }
    // They share the clock's row: no transaction is earlier than the one before.
    for (before, after) in zip(entries, entries.dropFirst()) {
      let isLater = after.transaction.timestamp > before.transaction.timestamp
      #expect(
        isLater || after.transaction.writeID == before.transaction.writeID && after.transaction.writeID != nil
      )
    }
    #expect(Set(entries.map(\.transaction.replica)).count == 1)
    let report = try store.verify()
    #expect(report.problems == [])
    store.close()
  }

  @Test("in turn: each sees what the other wrote, and the store has everything")
  func inTurn() async throws {
    let own = try directory.store()
    try await own.makeZone()
    try await own.makeZone(ZoneID(name: "other"))
    for round in 0..<4 {
      let child = ChildProcess("write", directory.path + "/store", "unsynced", "p\(round)", "2", "20")
      let lines = child.lines()
      #expect(lines.last == "done")
      let end = child.wait()
      #expect(end == .exit(0))
      // This process has had it open all the time.
      let value = try own.value("n", note("p\(round)-19"))
      #expect(value == 19)
      try await own.write { tx in
        tx.label = "own-\(round)"
        try tx.create(note("own-\(round)"), type: "note")
      }
    }
    own.close()
    try check((0..<4).map { ("p\($0)", 20) } + [("own", 4)])
  }

  @Test("at the same time, from the store's creation on: the store has all writes of both")
  func atOnce() throws {
    let path = directory.path + "/store"
    let children = (0..<3).map { ChildProcess("write", path, "unsynced", "p\($0)", "\(1 + $0)", "150") }
    for child in children {
      let lines = child.lines()
      #expect(lines.count == 152 && lines.last == "done", "\(lines.suffix(2))")
      let end = child.wait()
      #expect(end == .exit(0))
    }
    try check((0..<3).map { ("p\($0)", 150) })
  }

  @Test("many create one store at the same moment, and all open it")
  func making() throws {
    for round in 0..<10 {
      let path = directory.path + "/made\(round)"
      let children = (0..<4).map { ChildProcess("write", path, "unsynced", "p\($0)", "1", "3") }
      for child in children {
        let lines = child.lines()
        #expect(lines.last == "done", "round \(round): \(lines)")
        _ = child.wait()
      }
      let store = try directory.store("made\(round)")
      let entries = try store.entries()
      #expect(Set(entries.compactMap(\.transaction.label)).count == 12)
      #expect(Set(entries.map(\.transaction.replica)).count == 1)
      let report = try store.verify()
      #expect(report.problems == [])
    }
  }

  @Test("if one that holds the writer's lock is killed, the other continues")
  func killedHolder() async throws {
    let store = try directory.store()
    try await store.makeZone()
    for round in 0..<20 {
      let holder = ChildProcess("hold", directory.path + "/store")
      let line = holder.line()
      #expect(line == "holding")
      let writer = Task.immediate {
        try await store.write { tx in
          tx.label = "after-\(round)"
          try tx.create(note("after-\(round)"), type: "note")
        }
      }
      // Readers do not wait.
      let isThere = try store.read { try $0.contains(note("after-\(round)")) }
      #expect(!isThere)
      holder.send(SIGKILL)
      let end = holder.wait()
      #expect(end == .signal(SIGKILL))
      try await writer.value
    }
    let held = try store.read { try $0.contains(note("held")) }
    #expect(!held)
    store.close()
    try check([("after", 20)])
  }

  @Test("one that is killed in a read does not make the file grow for as long as the other has it open")
  func killedReader() async throws {
    let store = try directory.store()
    try await store.makeZone()
    try await store.write { tx in try tx.create(note("a"), type: "note") }
    func write(_ count: Int) async throws {
      for number in 0..<count {
        let body = Value.bytes([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 200_000))
        try await store.write { tx in try tx.set("body", of: note("a"), to: body) }
      }
    }
    // The log has each body, and what the record shows is replaced.
    try await write(20)
    var bytes = try store.environment.fileBytes
    try await write(20)
    let growth = try store.environment.fileBytes - bytes
    let reader = ChildProcess("read", directory.path + "/store")
    let line = reader.line()
    #expect(line == "reading")
    reader.send(SIGKILL)
    _ = reader.wait()
    bytes = try store.environment.fileBytes
    for _ in 0..<3 { try await write(20) }
    let growthAfter = try store.environment.fileBytes - bytes
    #expect(growthAfter < 3 * growth + 4 << 20)
    let dead = try store.environment.clearDeadReaders()
    #expect(dead == 0)
  }
}
