import EventStore
import OperationFormat

/// A copy of a store's records that follows its commits: it reads again what they name, and nothing else.
struct FollowedRecords: Sendable {
  /// What a record shows: its type, and the values of its fields.
  struct Content: Equatable, CustomStringConvertible {
    let type: Name
    let cells: [Name: [FieldKind: Value]]

    /// The same in all processes.
    var description: String {
      let fields = cells.sorted { $0.key < $1.key }.map { name, kinds in
        "\(name): \(kinds.map { "\($0.key) \($0.value)" }.sorted())"
      }
      return "\(type) \(fields)"
    }
  }

  private(set) var position: Position
  private var zones: [ZoneID: [Name: Content]]
  /// Where it began: commits up to here may be told, or not.
  private let start: Position

  init(_ tx: borrowing ReadTransaction) throws {
    start = try tx.lastPosition()
    position = start
    zones = try Self.zones(tx)
  }

  // MARK: Following

  /// Follows a commit, and compares with all records. The read may have seen later commits: what they change may
  /// differ.
  ///
  /// - Returns: what is wrong; nil if nothing is.
  mutating func follow(_ commit: Commit, _ tx: borrowing ReadTransaction) throws -> String? {
    guard commit.before == position || commit.before < start else {
      return "a commit after \(commit.before) was told, and the last one ended at \(position)"
    }
    let told = commit.transactions.map(\.position.rawValue)
    let all = Array((commit.before.rawValue + 1)..<(commit.position.rawValue + 1))
    guard told == Array(all.prefix(Commit.transactionsMax)) else {
      return "of the transactions \(all), these were told: \(told)"
    }
    position = max(position, commit.position)
    for (zone, changes) in commit.zones {
      guard try tx.hasZone(zone) else {
        zones[zone] = nil
        continue
      }
      guard let names = changes.records?.keys, zones[zone] != nil else {
        zones[zone] = try Self.records(of: zone, tx)
        continue
      }
      for name in names { zones[zone]![name] = try Self.content(of: RecordID(zone: zone, name: name), tx) }
    }
    return try missed(tx)
  }

  /// The records that differ from a read, besides those that transactions after the last commit have changed.
  private func missed(_ tx: borrowing ReadTransaction) throws -> String? {
    var later: Set<RecordID> = []
    try tx.history(after: position) { entry in
      for operation in entry.transaction.operations {
        if let name = operation.record { later.insert(RecordID(zone: entry.transaction.zone, name: name)) }
      }
      return true
    }
    for zone in CrashWriter.zones {
      let (own, now) = (zones[zone] ?? [:], try Self.records(of: zone, tx))
      for name in Set(own.keys).union(now.keys).sorted() where own[name] != now[name] {
        let record = RecordID(zone: zone, name: name)
        if !later.contains(record) { return "at \(position), no commit named \(record)" }
      }
    }
    return nil
  }

  /// Whether a read sees just the commits that were followed, as far as the log tells.
  func isAt(_ tx: borrowing ReadTransaction) throws -> Bool { try tx.lastPosition() == position }

  /// Whether a read of the past shows the records that were followed then.
  func isShown(by past: borrowing ReadTransaction) throws -> Bool {
    for zone in CrashWriter.zones {
      let known = zones[zone] ?? [:]
      guard try known == (past.hasZone(zone) ? Self.records(of: zone, past) : [:]) else { return false }
    }
    return true
  }

  /// What differs from a read; nil if nothing does.
  func difference(from tx: borrowing ReadTransaction) throws -> String? {
    guard try isAt(tx) else { return "commits after \(position)" }
    let now = try Self.zones(tx)
    let differing = Set(zones.keys).union(now.keys).filter { zones[$0] != now[$0] }
    return differing.isEmpty ? nil : "commits, in \(differing.sorted())"
  }

  // MARK: Reading

  private static func zones(_ tx: borrowing ReadTransaction) throws -> [ZoneID: [Name: Content]] {
    var zones: [ZoneID: [Name: Content]] = [:]
    for zone in try tx.zones() { zones[zone] = try records(of: zone, tx) }
    return zones
  }

  static func records(of zone: ZoneID, _ tx: borrowing ReadTransaction) throws -> [Name: Content] {
    var records: [Name: Content] = [:]
    for record in try tx.records(in: zone) { records[record.id.name] = try content(of: record.id, tx) }
    return records
  }

  private static func content(of id: RecordID, _ tx: borrowing ReadTransaction) throws -> Content? {
    guard let record = try tx.record(id) else { return nil }
    return Content(type: record.type, cells: try tx.cells(of: id))
  }
}
