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

/// How many damaged files a test has: few in daily tests, all with `DAMAGED_FILES=3000`.
let damagedFiles = getenv("DAMAGED_FILES").flatMap { UInt64(String(cString: $0)) } ?? 40

/// A random generator that is determined by its seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

/// A clock that a test sets.
final class TestClock: Sendable {
  private let shared: Shared<Int64>

  init(_ milliseconds: Int64) { shared = Shared(milliseconds) }

  var milliseconds: Int64 {
    get { shared.value }
    set { shared.value = newValue }
  }
}

let noteZone = ZoneID(name: "notes")

func note(_ name: String) -> RecordID { RecordID(zone: noteZone, name: Name(name)) }

extension TemporaryDirectory {
  /// Opens a store whose clock is stopped, with the zone of notes.
  func noteStore(_ name: String = "store") async throws -> LocalStore {
    let store = try store(name) { $0.wallMilliseconds = { 1_000_000 } }
    try await store.makeZone()
    return store
  }

  /// Opens a store in this directory that never syncs.
  func store(
    _ name: String = "store", _ configure: (inout StoreConfiguration) -> Void = { _ in }
  ) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    // Hundreds of stores are open at the same time during the tests, and a process has 128 TiB of address
    // space.
    configuration.mapBytes = 1 << 33
    // Large bytes stay values, unless a test sets something else.
    configuration.assetThresholdBytes = .max
    configure(&configuration)
    return try LocalStore(directory: path + "/" + name, durability: .consistent, configuration: configuration)
  }
}

/// The code of the store's error that a body throws: nil if it does not throw, `other` for any other error.
func code(_ body: () throws -> Void) -> StoreError.Code? {
  do {
    try body()
    return nil
  } catch let error as StoreError {
    return error.code
  } catch {
    return StoreError.Code(rawValue: "other: \(error)")
  }
}

func awaitedCode(_ body: () async throws -> Void) async -> StoreError.Code? {
  do {
    try await body()
    return nil
  } catch let error as StoreError {
    return error.code
  } catch {
    return StoreError.Code(rawValue: "other: \(error)")
  }
}

/// Everything that a refused call must not change.
struct StoreContent: Equatable {
  var lastPosition: Position
  var zones: [ZoneID]
  var digests: [ContentHash]
  var tokens: [Base?]
  var pending: [Int]
}

extension LocalStore {
  func readView() throws -> StoreContent {
    try read { tx in
      let zones = try tx.zones()
      return StoreContent(
        lastPosition: try tx.lastPosition(), zones: zones, digests: try zones.map { try tx.digest(of: $0) },
        tokens: try zones.map { try tx.token(of: $0) }, pending: try zones.map { try tx.pendingCount(in: $0) }
      )
    }
  }

  func digest(of zone: ZoneID = noteZone) throws -> ContentHash { try read { try $0.digest(of: zone) } }

  func lastPosition() throws -> Position { try read { try $0.lastPosition() } }

  func value(_ field: Name, _ record: RecordID) throws -> Value? {
    try read { try $0.value(of: field, in: record) }
  }

  func exportedLines() throws -> [ExportedLine] {
    var lines: [ExportedLine] = []
    try read { tx in
      try tx.forEachExportedLine {
        lines.append($0)
        return true
      }
    }
    return lines
  }

  func entries(zone: ZoneID? = nil) throws -> [LogEntry] {
    var entries: [LogEntry] = []
    try read { tx in
      try tx.history(zone: zone) {
        entries.append($0)
        return true
      }
    }
    return entries
  }

  /// All rows of a table, in order.
  func rows(_ table: (Tables) -> Table) throws -> [Row] {
    let transaction = try environment.beginRead()
    var cursor = try transaction.openCursor(table(tables))
    var rows: [Row] = []
    var isThere = try cursor.first()
    while isThere {
      rows.append(cursor.withEntry { Row(key: $0.bytes, value: $1.bytes) })
      isThere = try cursor.next()
    }
    return rows
  }

  /// Writes a row past the store, as damage would; nil removes the row.
  func overwrite(_ key: [UInt8], _ value: [UInt8]?, in table: (Tables) -> Table) throws {
    let transaction = try environment.beginWrite()
    if let value {
      try transaction.put(value.span.bytes, for: key.span.bytes, in: table(tables))
    } else {
      _ = try transaction.delete(key.span.bytes, in: table(tables))
    }
    try transaction.commit()
  }

  /// The rows of records, elements and references, with the zone's number instead of the state's, so that
  /// those of a rebuilt store can be compared.
  func derivedRows() throws -> [[Row]] {
    let states = try read { tx in
      var states: [UInt32: UInt32] = [:]
      for (zone, _) in try tx.readView.zones.allVisible() {
        if let row = try tx.readView.zoneRowIfThere(zone) {
          states[row.state.rawValue] = zone.rawValue
        }
      }
      return states
    }
    // A record's row may be of either version, which say the same.
    let records = try rows(\.records).map { Row(key: $0.key, value: try unpackedRow($0.value)) }
    return try [records, rows(\.elements), rows(\.references)].map { rows in
      try rows.compactMap { row in
        guard let zone = states[try row.key.span.bytes.bigEndian32(at: 0)] else { return nil }
        return Row(key: [UInt8(truncatingIfNeeded: zone)] + row.key.dropFirst(4), value: row.value)
      }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
  }
}

struct Row: Hashable, CustomStringConvertible {
  var key: [UInt8]
  var value: [UInt8]

  var description: String { "\(key) → \(value)" }
}

/// Positions are 1, 2, 3 …, and so are the sequences of each replica, epoch and zone.
func checkContiguous(_ store: LocalStore, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let entries = try store.entries()
  #expect(
    entries.map(\.position.rawValue) == Array(1..<UInt64(entries.count + 1)), sourceLocation: sourceLocation)
  var last: [String: UInt64] = [:]
  for entry in entries {
    let transaction = entry.transaction
    let lane = "\(transaction.zone) \(transaction.replica) \(transaction.epoch)"
    #expect(transaction.sequence == last[lane, default: 0] + 1, "\(lane)", sourceLocation: sourceLocation)
    last[lane] = transaction.sequence
  }
}

/// Verification finds nothing, and a rebuild gives the same rows and digests.
func checkSound(
  _ store: LocalStore, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let before = try store.verify()
  #expect(before.problems == [], comment, sourceLocation: sourceLocation)
  try checkViews(store, sourceLocation: sourceLocation)
  let readView = try store.readView()
  let rows = try store.derivedRows()
  _ = try await store.rebuild()
  let rebuilt = try store.readView()
  #expect(rebuilt == readView, comment, sourceLocation: sourceLocation)
  let rebuiltRows = try store.derivedRows()
  #expect(rebuiltRows == rows, comment, sourceLocation: sourceLocation)
  let after = try store.verify()
  #expect(after.problems == [], comment, sourceLocation: sourceLocation)
}

/// A whole file's bytes.
func fileBytes(_ path: String) -> [UInt8] {
  let descriptor = open(path, O_RDONLY)
  precondition(descriptor >= 0, "\(path) cannot be opened: error \(errno)")
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
  let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
  precondition(count == bytes.count, "\(path) cannot be read: error \(errno)")
  return bytes
}

/// Replaces a whole file's bytes.
func writeFile(_ path: String, _ bytes: [UInt8]) {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  precondition(descriptor >= 0, "\(path) cannot be opened: error \(errno)")
  defer { close(descriptor) }
  let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  precondition(count == bytes.count, "\(path) cannot be written: error \(errno)")
}
