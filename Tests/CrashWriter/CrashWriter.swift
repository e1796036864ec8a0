import EventStore
import OperationFormat

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that the tests start as a separate process, to kill it, or to write at the same time.
///
/// It prints on standard output what it has done, one line each.
@main
struct CrashWriter {
  static let zones = [ZoneID(name: "notes"), ZoneID(name: "other")]

  static func main() async {
    let arguments = CommandLine.arguments
    do {
      switch arguments.dropFirst().first {
      case "write":
        try await write(
          in: arguments[2], durability: arguments[3], prefix: arguments[4], tasks: Int(arguments[5])!,
          count: Int(arguments[6])!)
      case "beside":
        try await beside(
          in: arguments[2], durability: arguments[3], prefix: arguments[4], tasks: Int(arguments[5])!,
          seed: UInt64(arguments[6])!)
      case "hold": try await hold(in: arguments[2])
      case "read": try await read(in: arguments[2])
      case "rebuild": try await rebuild(in: arguments[2])
      case "replaceZone": try await replaceZone(in: arguments[2])
      case "applyPage": try await applyPage(in: arguments[2])
      case "cut": try await cut(in: arguments[2])
      case "reclaim": try await reclaim(in: arguments[2])
      case "import": try await importLarge(in: arguments[2], mebibytes: Int(arguments[3])!)
      case "assets": try await writeAssets(in: arguments[2], from: Int(arguments[3])!)
      case "summary": say(try open(arguments[2], "unsynced").summary())
      case "damage":
        try await damage(
          from: arguments[2], in: arguments[3], expected: arguments[4],
          seeds: UInt64(arguments[5])!..<UInt64(arguments[6])!,
          mode: arguments[7])
      default: say("unknown command")
      }
    } catch {
      say("error \(error)")
      exit(2)
    }
  }

  /// Opens a store; several processes may create it at the same moment.
  static func open(_ directory: String, _ durability: String) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.isUnsynced = durability != "durable" && durability != "consistent"
    if durability == "fixed" {
      // The same bytes each time.
      configuration.wallMilliseconds = { 1_700_000_000_000 }
      configuration.makeRandom = { 7 }
    }
    return try LocalStore(
      directory: directory, durability: durability == "durable" ? .durable : .consistent,
      configuration: configuration)
  }

  /// Writes in several tasks at the same time, each with its share of the numbers, and prints each number
  /// when it is committed.
  static func write(
    in directory: String, durability: String, prefix: String, tasks: Int, count: Int
  ) async throws {
    let store = try open(directory, durability)
    try await store.write { tx in for zone in zones { try tx.createZone(zone) } }
    say("ready")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for number in stride(from: task, to: count, by: tasks) {
            try await store.write { tx in try change(&tx, prefix, number) }
            say("\(number)")
          }
        }
      }
      try await group.waitForAll()
    }
    store.close()
    say("done")
  }

  private static func change(_ tx: inout WriteTransaction, _ prefix: String, _ number: Int) throws {
    tx.label = "\(prefix)-\(number)"
    let record = RecordID(zone: zones[0], name: Name("\(prefix)-\(number)"))
    let body = String(repeating: "x", count: number % 3 == 0 ? 5000 : 20)
    try tx.create(record, type: "note", fields: ["n": .int(Int64(number)), "body": .string(body)])
    let shared = RecordID(zone: zones[number % 2], name: "shared")
    if try tx.contains(shared) {
      if number % 7 == 0 {
        try tx.delete(shared)
      } else {
        try tx.set("last", of: shared, to: .string(prefix))
      }
    } else {
      try tx.create(shared, type: "note", fields: ["last": .string(prefix)])
    }
  }

  /// Takes the writer's lock and never releases it.
  static func hold(in directory: String) async throws {
    let store = try open(directory, "consistent")
    try await store.write { tx in
      try tx.createZone(zones[0])
      try tx.create(RecordID(zone: zones[0], name: "held"), type: "note")
      say("holding")
      while true { sleep(1000) }
    }
  }

  /// Begins a read and never ends it.
  static func read(in directory: String) async throws {
    let store = try open(directory, "consistent")
    try store.read { _ in
      say("reading")
      while true { sleep(1000) }
    }
  }

  static func rebuild(in directory: String) async throws {
    let store = try open(directory, "consistent")
    while true {
      _ = try await store.rebuild { done, total in say("\(done) of \(total)") }
    }
  }
}

/// Writes a line to standard output immediately.
func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}
