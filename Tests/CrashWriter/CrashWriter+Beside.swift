import Dispatch
import EventStore
import OperationFormat
import Synchronization

/// Work on a store beside other processes, which all write and observe.
extension CrashWriter {
  /// Opens a store, observes it, and writes to it in some tasks until the input says `end` or is at its end.
  ///
  /// It obeys lines of its input, and prints lines of its own:
  ///
  /// | input | answer |
  /// |---|---|
  /// | | `ready`: the observers have read for the first time, and the tasks begin |
  /// | | `wrote NUMBER`: a write was acknowledged |
  /// | | `commit POSITION MICROSECONDS…`: a commit was observed, and how long ago others made its transactions |
  /// | | `seen NAME DIGEST`: what was read is another now |
  /// | | `WRONG TEXT`: a check failed |
  /// | `pause` | `paused`: no task writes any more |
  /// | `resume` | none: the tasks continue |
  /// | `write` | `wrote NUMBER`: one write was made |
  /// | `settle` | `settled POSITION DIGEST`: all observers have seen what a read sees |
  /// | `end` | `done`: the store is closed |
  static func beside(
    in directory: String, durability: String, prefix: String, tasks: Int, seed: UInt64
  ) async throws {
    let lines = inputLines()
    let store = try open(directory, durability)
    let writer = BesideWriter(store, prefix: prefix, seed: seed)
    try await writer.makeZones()
    let observers = try StoreObservers(store, prefix: prefix)
    try await observers.begin()
    say("ready")
    for task in 0..<tasks { Task { await writer.run(seed: seed &* 31 &+ UInt64(task)) } }
    for await line in lines {
      switch line {
      case "pause":
        await writer.pause()
        say("paused")
      case "resume": writer.resume()
      case "write": try await writer.writeOnce()
      case "settle": try await observers.settle()
      default: break
      }
      if line == "end" { break }
    }
    observers.end()
    store.close()
    say("done")
  }

  private static func inputLines() -> AsyncStream<String> {
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    DispatchQueue.global().async {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return lines
  }
}

/// Makes small random writes.
private final class BesideWriter: Sendable {
  private struct State {
    var isPaused = false
    /// How many tasks write just now.
    var active = 0
    var lastNumber = 0
    var draw: Draw
  }

  private let store: LocalStore
  private let prefix: String
  private let state: Mutex<State>
  /// A zone that comes and goes. It has no records: the log does not show those of a zone that was deleted.
  private static let passing = ZoneID(name: "passing")

  init(_ store: LocalStore, prefix: String, seed: UInt64) {
    (self.store, self.prefix) = (store, prefix)
    state = Mutex(State(draw: Draw(seed: seed)))
  }

  func makeZones() async throws {
    try await store.write { tx in for zone in CrashWriter.zones { try tx.createZone(zone) } }
  }

  // MARK: Tasks

  /// Writes, with pauses of random length, until the store is closed.
  func run(seed: UInt64) async {
    var draw = Draw(seed: seed)
    while true {
      guard begin() else {
        try? await Task.sleep(for: .milliseconds(1))
        continue
      }
      do {
        defer { end() }
        try await writeOnce()
      } catch let error as StoreError where error.code == .closed {
        return
      } catch {
        return say("WRONG a write failed: \(error)")
      }
      if draw.below(3) > 0 { try? await Task.sleep(for: .microseconds(draw.below(20_000))) }
    }
  }

  private func begin() -> Bool {
    state.withLock { state in
      if !state.isPaused { state.active += 1 }
      return !state.isPaused
    }
  }

  private func end() { state.withLock { $0.active -= 1 } }

  func pause() async {
    state.withLock { $0.isPaused = true }
    while state.withLock({ $0.active > 0 }) { try? await Task.sleep(for: .milliseconds(1)) }
  }

  func resume() { state.withLock { $0.isPaused = false } }

  // MARK: Writes

  func writeOnce() async throws {
    let (number, seed) = state.withLock { state in
      state.lastNumber += 1
      return (state.lastNumber, UInt64(state.draw.below(1 << 40)))
    }
    try await store.write { [prefix] tx in
      var draw = Draw(seed: seed)
      if draw.below(20) == 0 { try Self.changeZones(&tx) }
      let first = RecordID(zone: CrashWriter.zones[draw.below(2)], name: Name("r\(draw.below(6))"))
      try Self.touch(first, number, prefix, &tx)
      for _ in 0..<draw.below(3) {
        let record = RecordID(zone: CrashWriter.zones[draw.below(2)], name: Name("r\(draw.below(6))"))
        try Self.edit(record, number, &draw, &tx)
      }
      // Last, so that it says when the commit began.
      tx.label = "\(prefix)-\(number)@\(nowMicroseconds())"
    }
    say("wrote \(number)")
  }

  /// Changes a record in any case, so that each write is in the log.
  private static func touch(
    _ record: RecordID, _ number: Int, _ prefix: String, _ tx: inout WriteTransaction
  ) throws {
    if try tx.contains(record) {
      try tx.set("n", of: record, to: .int(Int64(number)))
    } else {
      try tx.create(record, type: "note", fields: ["n": .int(Int64(number))])
    }
    try tx.set("last", of: record, to: .string("\(prefix)-\(number)"))
  }

  private static func edit(
    _ record: RecordID, _ number: Int, _ draw: inout Draw, _ tx: inout WriteTransaction
  ) throws {
    guard try tx.contains(record) else { return try tx.create(record, type: "note") }
    let value = Value.int(Int64(draw.below(20)))
    switch draw.below(8) {
    case 0: try tx.delete(record)
    case 1: try tx.add(value, to: "count", of: record)
    case 2: try tx.insert(value, into: "set", of: record)
    case 3: try tx.remove(value, from: "set", of: record)
    case 4: try tx.set("body", of: record, to: .string(String(repeating: "x", count: draw.below(6000))))
    case 5: try tx.clear("body", of: record)
    default:
      let count = try tx.count(of: "text", in: record, as: .text)
      if count > 30 {
        try tx.removeText(draw.below(10)..<(count - draw.below(10)), from: "text", of: record)
      } else {
        try tx.insertText("\(number) ", at: draw.below(count + 1), in: "text", of: record)
      }
    }
  }

  private static func changeZones(_ tx: inout WriteTransaction) throws {
    if try !tx.createZone(passing) { try tx.deleteZone(passing) }
  }
}
