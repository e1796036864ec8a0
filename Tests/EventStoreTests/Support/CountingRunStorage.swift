@testable import EventStore
@testable import OperationFormat

/// Counts what a sequence requests of its storage, and knows only the existing replicas.
final class CountingRunStorage: RunStorage {
  let rows: MemoryFoldStorage
  private let replicas: Int
  private(set) var reads = 0
  private(set) var writes = 0
  /// How many of the reads were of whole leaves.
  private(set) var leafReads = 0

  init(_ rows: MemoryFoldStorage, replicas: Int) {
    self.rows = rows
    self.replicas = replicas
  }

  func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    reads += 1
    return try rows.withRun(key) { row in
      if row.hasPrefix([1]) { leafReads += 1 }
      return try body(row)
    }
  }

  func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    reads += 1
    return try rows.withLastRun(atMost: key, prefixBytes: prefixBytes, body)
  }

  func forEachRun(
    under prefix: RawSpan, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    try rows.forEachRun(under: prefix, body)
  }

  func writeRun(_ row: RawSpan, _ key: RawSpan) {
    writes += 1
    rows.writeRun(row, key)
  }

  func deleteRun(_ key: RawSpan) {
    writes += 1
    rows.deleteRun(key)
  }

  func replicaID(_ number: ReplicaNumber) throws -> ReplicaID {
    guard 1...replicas ~= Int(number.rawValue) else {
      throw FormatError(
        .invalid, at: 0, in: "replica", expected: "1 to \(replicas)", found: "\(number.rawValue)")
    }
    return rows.replicaID(number)
  }

  /// The size of all keys and rows, and 18.5 bytes that LMDB needs for each of them.
  var storedBytes: Int {
    rows.contents.runs.reduce(0) { $0 + $1.key.count + $1.row.count } + rows.contents.runs.count * 37 / 2
  }
}
