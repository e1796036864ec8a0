import EventStore
import Foundation
import GRDB
import Stores

/// The core workloads of the Yahoo! Cloud Serving Benchmark (Cooper et al., SoCC 2010).
enum YCSB: String, CaseIterable {
  case a, b, c, d, e, f

  enum Step {
    case read(Int)
    case update(Dataset.Change)
    /// Reads a record, then changes it in the same transaction.
    case modify(Dataset.Change)
    case insert(Int)
    case scan(from: Int, count: Int)
  }

  var summary: String {
    switch self {
    case .a: "half reads, half updates"
    case .b: "95 % reads, 5 % updates"
    case .c: "reads"
    case .d: "95 % reads of the latest, 5 % inserts"
    case .e: "95 % short scans, 5 % inserts"
    case .f: "half reads, half read-modify-writes"
    }
  }

  /// The steps of a run, on existing records and on records that the run inserts.
  func steps(_ count: Int, records: Int) -> (steps: [Step], inserted: Int) {
    var random = Random(seed: 0x5c5b)
    let zipf = Zipf(records)
    var next = records
    let steps = (0..<count).map { _ -> Step in
      let isFirst = random.below(100) < (self == .a || self == .f ? 50 : 95)
      func change() -> Dataset.Change {
        Dataset.Change(record: zipf.scattered(&random), field: random.below(4), value: random.text(32))
      }
      switch self {
      case .a, .b: return isFirst ? .read(zipf.scattered(&random)) : .update(change())
      case .c: return .read(zipf.scattered(&random))
      case .f: return isFirst ? .read(zipf.scattered(&random)) : .modify(change())
      case .d where isFirst: return .read(next - 1 - min(next - 1, zipf.rank(&random)))
      case .e where isFirst: return .scan(from: zipf.scattered(&random), count: 1 + random.below(100))
      default:
        defer { next += 1 }
        return .insert(next)
      }
    }
    return (steps, next - records)
  }
}

/// Random numbers below a bound; small numbers are the most frequent (Gray et al., SIGMOD 1994), with YCSB's
/// constant 0.99.
struct Zipf {
  private let count: Int
  private let zeta: Double
  private let alpha: Double
  private let eta: Double
  private static let theta = 0.99

  init(_ count: Int) {
    self.count = count
    zeta = (1...count).reduce(0) { $0 + pow(1 / Double($1), Self.theta) }
    let zetaOfTwo = 1 + pow(0.5, Self.theta)
    alpha = 1 / (1 - Self.theta)
    eta = (1 - pow(2 / Double(count), 1 - Self.theta)) / (1 - zetaOfTwo / zeta)
  }

  func rank(_ random: inout Random) -> Int {
    let u = Double(random.next() >> 11) / Double(1 << 53)
    let uz = u * zeta
    if uz < 1 { return 0 }
    if uz < 1 + pow(0.5, Self.theta) { return 1 }
    return min(count - 1, Int(Double(count) * pow(eta * u - eta + 1, alpha)))
  }

  /// Like ``rank(_:)``, but the frequent numbers are anywhere.
  func scattered(_ random: inout Random) -> Int {
    var hash = Random(seed: UInt64(rank(&random)))
    return hash.below(count)
  }
}

extension Case {
  static func ycsb(_ workload: YCSB, count: Int, aim: Double) -> Case {
    Case(
      title: "YCSB \(workload.rawValue.uppercased()) in memory: \(workload.summary)",
      aims: [Comparison.Aim(than: .sqlite, ratio: aim)]
    ) { place, sizes in
      let bases = try Bases(place, sizes)
      let (steps, inserted) = workload.steps(sizes.count(count), records: sizes.records)
      // Includes the names of records that are inserted later.
      let dataset = Dataset(records: sizes.records + inserted)
      let values = (sizes.records..<sizes.records + inserted).map { dataset.values(of: $0) }

      var sum: UInt64 = 0
      @Sendable func set(_ change: Dataset.Change, _ tx: inout WriteTransaction) throws {
        try tx.set(Dataset.fields[change.field], of: dataset.ids[change.record], to: .string(change.value))
      }
      let ours = Participant.engine(
        open: { try Engine(try place.copy(bases.engine, as: "ours"), dataset) },
        warm: { _ in sum = 0 },
        turn: { engine in
          let store = engine.store
          for step in steps {
            switch step {
            case .read(let record):
              if let weight = try store.read({ try $0.withRecord(dataset.ids[record], Engine.weight) }) {
                sum &+= weight
              }
            case .update(let change):
              try store.writeBlockingThisThread { tx in try set(change, &tx) }
            case .modify(let change):
              sum &+= try store.writeBlockingThisThread { tx in
                let found = try tx.record(dataset.ids[change.record])
                try set(change, &tx)
                return found.map { Engine.weight($0) } ?? 0
              }
            case .insert(let record):
              let texts = values[record - sizes.records]
              try store.writeBlockingThisThread { tx in
                try Engine.insert(dataset.ids[record], texts, &tx)
              }
            case .scan(let record, let count):
              var left = count
              try store.read { tx in
                try tx.scan(Dataset.zone, after: dataset.ids[record].name) { found in
                  sum &+= try Engine.weight(found)
                  left -= 1
                  return left > 0
                }
              }
            }
          }
        },
        facts: { [.read: sum] })

      var rowSum: UInt64 = 0
      let select = "SELECT * FROM item WHERE id = ?"
      let scan = "SELECT * FROM item WHERE id > ? ORDER BY id LIMIT ?"
      let grdb = Participant.sqlite(
        open: { try SQLite(try place.copy(bases.sqlite, as: "sqlite-turn"), dataset) },
        warm: { _ in rowSum = 0 },
        turn: { try Self.run(steps, $0.pool, dataset, values, sizes, select, scan, &rowSum) },
        facts: { _ in [.read: rowSum] })
      return (steps.count, [ours, grdb])
    }
  }

  private static func run(
    _ steps: [YCSB.Step], _ pool: DatabasePool, _ dataset: Dataset, _ values: [[String]], _ sizes: Sizes,
    _ select: String, _ scan: String, _ sum: inout UInt64
  ) throws {
    func read(_ record: Int, _ database: Database) throws -> UInt64 {
      let statement = try database.cachedStatement(sql: select)
      return try Row.fetchOne(statement, arguments: [dataset.names[record]]).map { SQLite.weight($0) } ?? 0
    }
    func set(_ change: Dataset.Change, _ database: Database) throws {
      try SQLite.set(
        SQLite.Step(id: dataset.names[change.record], field: change.field, value: change.value), database)
    }
    for step in steps {
      switch step {
      case .read(let record): sum &+= try pool.read { try read(record, $0) }
      case .update(let change): try pool.write { try set(change, $0) }
      case .modify(let change):
        sum &+= try pool.write { database in
          let weight = try read(change.record, database)
          try set(change, database)
          return weight
        }
      case .insert(let record):
        try pool.write { try SQLite.insert(dataset.names[record], values[record - sizes.records], $0) }
      case .scan(let record, let count):
        sum &+= try pool.read { database in
          let statement = try database.cachedStatement(sql: scan)
          let rows = try Row.fetchCursor(statement, arguments: [dataset.names[record], count])
          var sum: UInt64 = 0
          while let row = try rows.next() { sum &+= SQLite.weight(row) }
          return sum
        }
      }
    }
  }
}
