import CRawLMDB
import EventStore
import Foundation
import GRDB
import OperationFormat
import Replicator
import Stores

/// The size of the files at the end.
extension Case {
  static var space: Case {
    Case(title: "bytes at rest, log and records, after 10⁶ edits") { place, sizes in
      let dataset = Dataset(records: sizes.records)
      let changes = dataset.changes(sizes.count(1_000_000), seed: 8)
      let size = 100

      let engine = place.path + "/engine"
      let ours = Participant(
        name: .tributary, prepare: { try Engine.make(engine, dataset) },
        turn: {
          try Engine(engine, dataset, durability: .consistent).commit(
            Engine.steps(changes, dataset)[...], each: size)
        }, bytes: { try bytes(in: engine + "/data.mdb") }, finish: { [:] })

      let sqlite = place.path + "/sqlite"
      let grdb = Participant(
        name: .sqlite, prepare: { try SQLite.make(sqlite, dataset) },
        turn: {
          let database = try SQLite(sqlite, dataset, isDurable: false)
          try database.commit(SQLite.steps(changes, dataset)[...], each: size)
          // Moves the write-ahead log into the file.
          try database.pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
          try database.close()
        }, bytes: { try bytes(in: sqlite + "/db.sqlite") }, finish: { [:] })

      let raw = place.path + "/raw"
      let lmdb = Participant(
        name: .lmdb, prepare: {},
        turn: { try PlainTables.write(raw, dataset, changes, each: size) },
        bytes: { try bytes(in: raw + "/data.mdb") }, finish: { [:] })

      let created = (0..<dataset.names.count).reduce(0) { sum, record in
        sum + PlainTables.bytes(dataset.names[record], dataset.values(of: record))
      }
      // The log has each value that was set; the records have as many values as at the start.
      let edited = changes.reduce(0) { $0 + PlainTables.bytes(dataset.names[$1.record], [$1.value]) }
      let plain = Participant(
        name: .other, prepare: {}, turn: {}, bytes: { 2 * created + edited }, finish: { [:] })
      return [
        Comparison(
          title: "bytes at rest, log and records, after 10⁶ edits", measure: .bytes,
          unit: "a value that was set",
          aims: [Comparison.Aim(than: .sqlite, ratio: 1.2)], otherwise: "only the names, fields and values",
          count: changes.count + 4 * dataset.names.count, participants: [ours, lmdb, grdb, plain])
      ]
    }
  }

  private static func bytes(in file: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    return (attributes[.size] as? Int) ?? 0
  }
}

/// The same in two tables of LMDB, with only the necessary: the records, and a log of the values set.
private enum PlainTables {
  /// The bytes of a record's name, and of each value with its field's name.
  static func bytes(_ name: String, _ values: [String]) -> Int {
    values.reduce(name.utf8.count) { $0 + $1.utf8.count + Dataset.fieldNames[0].utf8.count }
  }

  static func write(
    _ directory: String, _ dataset: Dataset, _ changes: [Dataset.Change], each size: Int
  ) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    var environment: OpaquePointer?
    try check(mdb_env_create(&environment))
    defer { mdb_env_close(environment) }
    try check(mdb_env_set_mapsize(environment, 8 << 30))
    try check(mdb_env_set_maxdbs(environment, 2))
    try check(mdb_env_open(environment, directory, UInt32(MDB_NOSYNC), 0o600))
    var records = (0..<dataset.names.count).map { dataset.values(of: $0) }
    var sequence: UInt64 = 0

    func commit(_ body: (_ items: MDB_dbi, _ log: MDB_dbi, OpaquePointer?) throws -> Void) throws {
      var transaction: OpaquePointer?
      var (items, log): (MDB_dbi, MDB_dbi) = (0, 0)
      try check(mdb_txn_begin(environment, nil, 0, &transaction))
      try check(mdb_dbi_open(transaction, "items", UInt32(MDB_CREATE), &items))
      try check(mdb_dbi_open(transaction, "log", UInt32(MDB_CREATE), &log))
      try body(items, log, transaction)
      try check(mdb_txn_commit(transaction))
    }
    /// A sequence and a time, then the record's name, the field and the value.
    func logChange(_ record: Int, _ field: Int, _ log: MDB_dbi, _ transaction: OpaquePointer?) throws {
      sequence += 1
      let key = withUnsafeBytes(of: sequence.bigEndian) { Array($0) }
      let row =
        key + Array("\(dataset.names[record]) \(Dataset.fieldNames[field]) \(records[record][field])".utf8)
      try put(key, row, log, transaction, UInt32(MDB_APPEND))
    }
    func putRecord(_ record: Int, _ items: MDB_dbi, _ transaction: OpaquePointer?) throws {
      let row = records[record].enumerated().map { "\(Dataset.fieldNames[$0]) \($1)" }.joined(separator: " ")
      try put(Array(dataset.names[record].utf8), Array(row.utf8), items, transaction)
    }
    for start in stride(from: 0, to: dataset.names.count, by: 500) {
      try commit { items, log, transaction in
        for record in start..<min(start + 500, dataset.names.count) {
          for field in 0..<4 { try logChange(record, field, log, transaction) }
          try putRecord(record, items, transaction)
        }
      }
    }
    for start in stride(from: 0, to: changes.count, by: size) {
      try commit { items, log, transaction in
        for change in changes[start..<min(start + size, changes.count)] {
          records[change.record][change.field] = change.value
          try logChange(change.record, change.field, log, transaction)
          try putRecord(change.record, items, transaction)
        }
      }
    }
  }

  private static func put(
    _ key: [UInt8], _ value: [UInt8], _ table: MDB_dbi, _ transaction: OpaquePointer?, _ flags: UInt32 = 0
  ) throws {
    var (key, value) = (key, value)
    try key.withUnsafeMutableBytes { key in
      try value.withUnsafeMutableBytes { value in
        var key = MDB_val(mv_size: key.count, mv_data: key.baseAddress)
        var value = MDB_val(mv_size: value.count, mv_data: value.baseAddress)
        try check(mdb_put(transaction, table, &key, &value, flags))
      }
    }
  }

  private static func check(_ code: Int32) throws {
    if code != 0 { throw RawError(code: code, what: "plain tables") }
  }
}

/// The size of a zone that was compacted.
extension Case {
  static var compactedRecords: Case {
    Case(title: "bytes at rest of 10⁴ records after 10⁶ edits, compacted") { place, sizes in
      let dataset = Dataset(records: sizes.count(10_000))
      let changes = dataset.changes(sizes.count(1_000_000), seed: 8)
      let first = (0..<dataset.names.count).map { dataset.values(of: $0) }
      var last = first
      for change in changes { last[change.record][change.field] = change.value }
      @Sendable func create(_ values: [[String]], in store: LocalStore) throws {
        for start in stride(from: 0, to: dataset.ids.count, by: 500) {
          try store.writeBlockingThisThread { tx in
            for record in start..<min(start + 500, dataset.ids.count) {
              try tx.create(dataset.ids[record], type: Dataset.type)
              for (field, value) in values[record].enumerated() {
                try tx.set(Dataset.fields[field], of: dataset.ids[record], to: .string(value))
              }
            }
          }
        }
      }
      let shown = last
      let own = shown.enumerated().reduce(0) { $0 + PlainTables.bytes(dataset.names[$1.offset], $1.element) }
      return CompactedZone(place.path + "/records").comparisons(
        "bytes at rest of 10⁴ records after 10⁶ edits, compacted", own: own, atMost: 1.3, unit: "a record",
        count: dataset.names.count, fresh: { try create(shown, in: $0) }
      ) { store in
        try create(first, in: store)
        for start in stride(from: 0, to: changes.count, by: 100) {
          try store.writeBlockingThisThread { tx in
            for change in changes[start..<min(start + 100, changes.count)] {
              try tx.set(
                Dataset.fields[change.field], of: dataset.ids[change.record], to: .string(change.value))
            }
          }
        }
      }
    }
  }

  static var compactedText: Case {
    Case(title: "bytes at rest of a text after 260,000 edits, compacted") { place, sizes in
      let edits = edits(sizes.count(260_000))
      let record = RecordID(zone: Dataset.zone, name: "text")
      let characters = edits.reduce(0) { $0 + ($1.removes ? -1 : 1) }
      return CompactedZone(place.path + "/text").comparisons(
        "bytes at rest of a text after 260,000 edits, compacted", own: characters, atMost: 2,
        unit: "a character", count: characters
      ) { store in
        try store.writeBlockingThisThread { tx in try tx.create(record, type: "text") }
        for start in stride(from: 0, to: edits.count, by: 100) {
          try store.writeBlockingThisThread { tx in
            for edit in edits[start..<min(edits.count, start + 100)] {
              if edit.removes {
                try tx.removeText(edit.place..<edit.place + 1, from: "body", of: record)
              } else {
                try tx.insertText(edit.letter, at: edit.place, in: "body", of: record)
              }
            }
          }
        }
      }
    }
  }
}

/// Writes a zone, syncs it with a folder, compacts it everywhere, retires its history and trims its log; and makes a store and
/// a folder of what it shows then.
private struct CompactedZone {
  private let directory: String

  init(_ directory: String) { self.directory = directory }

  /// Compares the store with the bytes of what the zone shows; and the remote of the same run with a new one that has the same
  /// records, if there is a closure that writes these.
  func comparisons(
    _ title: String, own: Int, atMost ratio: Double, unit: String, count: Int,
    fresh: (@Sendable (LocalStore) throws -> Void)? = nil,
    _ write: @escaping @Sendable (LocalStore) throws -> Void
  ) -> [Comparison] {
    let compacted = Sizes()
    func comparison(
      _ name: String, _ size: KeyPath<Sizes, Int>, with other: Participant, _ what: String
    ) -> Comparison {
      Comparison(
        title: "\(title): \(name)", measure: .bytes, unit: unit,
        aims: [Comparison.Aim(than: .other, ratio: ratio)], otherwise: what, count: count,
        participants: [participant(.tributary, compacted, size, write), other])
    }
    let shown = Participant(name: .other, prepare: {}, turn: {}, bytes: { own }, finish: { [:] })
    let store = comparison("the store", \.store, with: shown, "only what the zone shows")
    guard let fresh else { return [store] }
    let made = participant(.other, Sizes(), \.remote, fresh)
    return [store, comparison("the remote", \.remote, with: made, "made fresh with the same records")]
  }

  /// Tributary's own zone is compacted, the other one is not.
  private func participant(
    _ name: Participant.Name, _ sizes: Sizes, _ size: KeyPath<Sizes, Int>,
    _ write: @escaping @Sendable (LocalStore) throws -> Void
  ) -> Participant {
    let compacts = name == .tributary
    return Participant(
      name: name, prepare: {},
      turn: {
        // Both comparisons share one run.
        guard sizes.store == 0 else { return }
        (sizes.store, sizes.remote) = try await run(
          directory + (compacts ? "/compacted" : "/fresh"), compacts: compacts, write)
      },
      bytes: { sizes[keyPath: size] }, finish: { [:] })
  }

  private final class Sizes { var (store, remote) = (0, 0) }

  /// - Returns: the bytes of the store's tables, and of the remote's files.
  private func run(
    _ directory: String, compacts: Bool, _ write: (LocalStore) throws -> Void
  ) async throws -> (store: Int, remote: Int) {
    try? FileManager.default.removeItem(atPath: directory)
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let store = try LocalStore(directory: directory + "/store", durability: .consistent)
    let remote = try await FolderRemote.create(directory: directory + "/remote")
    try await store.write { tx in
      try tx.createZone(Dataset.zone)
      try tx.attachZone(Dataset.zone)
    }
    try write(store)
    var configuration = ReplicatorConfiguration()
    // A small run trims too.
    if compacts { configuration.policy.snapshotBytesMin = 1 << 16 }
    configuration.policy.trimMilliseconds = 0
    func sync() async throws {
      _ = try await LogReplicator(store: store, remote: remote, configuration: configuration).syncOnce()
    }
    try await sync()
    if compacts {
      try await store.compact(
        Dataset.zone, keeping: CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: 0))
      try await sync()
    }
    try await store.retireHistory(of: Dataset.zone)
    _ = try await store.reclaim()
    let tables = try store.information().tables.filter { $0.name != "names" }.reduce(0) { $0 + $1.bytes }
    store.close()
    return (tables, try Self.bytes(below: directory + "/remote"))
  }

  private static func bytes(below directory: String) throws -> Int {
    try FileManager.default.subpathsOfDirectory(atPath: directory).reduce(0) { sum, path in
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(path)")
      return attributes[.type] as? FileAttributeType == .typeRegular
        ? sum + (attributes[.size] as? Int ?? 0) : sum
    }
  }
}
