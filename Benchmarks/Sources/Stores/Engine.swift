import EventStore
import RawLMDB
import Synchronization

/// Tributary, used as an app would use it.
package final class Engine {
  package let store: LocalStore
  package let dataset: Dataset

  /// Opens a store, or creates one. Clock and random numbers are the same in each turn, and so is every byte.
  ///
  /// - Parameter seed: the seed of the random numbers. Two replicas of one remote must not have the same
  ///   seed.
  package init(_ directory: String, _ dataset: Dataset, durability: Durability = .durable, seed: UInt64 = 11)
    throws
  {
    var configuration = StoreConfiguration()
    // Valgrind has no more address space than that.
    configuration.mapBytes = 8 << 30
    let clock = Mutex<Int64>(1_700_000_000_000)
    let random = Mutex(Random(seed: seed))
    configuration.wallMilliseconds = {
      clock.withLock {
        $0 += 1
        return $0
      }
    }
    configuration.makeRandom = { random.withLock { $0.next() } }
    store = try LocalStore(directory: directory, durability: durability, configuration: configuration)
    self.dataset = dataset
  }

  deinit { store.close() }

  /// Makes all records.
  package static func make(_ directory: String, _ dataset: Dataset) throws {
    let engine = try Engine(directory, dataset, durability: .consistent)
    _ = try engine.store.writeBlockingThisThread { try $0.createZone(Dataset.zone) }
    for start in stride(from: 0, to: dataset.names.count, by: 500) {
      try engine.store.writeBlockingThisThread { tx in
        for record in start..<min(start + 500, dataset.names.count) {
          try insert(dataset.ids[record], dataset.values(of: record), &tx)
        }
      }
    }
  }

  /// Makes a record with all its fields.
  package static func insert(_ id: RecordID, _ values: [String], _ tx: inout WriteTransaction) throws {
    try tx.create(id, type: Dataset.type)
    for (field, value) in zip(Dataset.fields, values) { try tx.set(field, of: id, to: .string(value)) }
  }

  /// A change with the arguments of its call, made before the timing starts.
  package struct Step: Sendable {
    package var id: RecordID
    package var field: Name
    package var value: Value

    package init(id: RecordID, field: Name, value: Value) {
      (self.id, self.field, self.value) = (id, field, value)
    }
  }

  package static func steps(_ changes: [Dataset.Change], _ dataset: Dataset) -> [Step] {
    changes.map {
      Step(
        id: RecordID(zone: Dataset.zone, name: Name(dataset.freshName($0.record))),
        field: Dataset.fields[$0.field], value: .string($0.value))
    }
  }

  /// Commits changes, `each` in one commit.
  package func commit(_ steps: ArraySlice<Step>, each: Int) throws {
    var start = steps.startIndex
    while start < steps.endIndex {
      let part = steps[start..<min(start + each, steps.endIndex)]
      try store.writeBlockingThisThread { tx in
        for step in part { try tx.set(step.field, of: step.id, to: step.value) }
      }
      start += each
    }
  }

  /// Names and fields of the indexes with which a store is compared.
  package static let indexes = [
    ("first", ["field0"]), ("second", ["field1"]), ("third and fourth", ["field2", "field3"]),
    ("fourth", ["field3"]),
  ]

  package static var indexDefinitions: [IndexDefinition] {
    indexes.map { name, fields in
      IndexDefinition(
        Name(name), of: [Dataset.type],
        by: fields.map { IndexPart(.value(QueryField(.field(Name($0), .register), fallback: ""))) })
    }
  }

  /// Makes the indexes.
  package func index() throws {
    try store.declareIndexesBlockingThisThread(Self.indexDefinitions)
    try store.buildIndexesBlockingThisThread()
  }

  package func digest() throws -> UInt64 {
    var digest = TextDigest()
    try store.read { tx in
      try tx.forEachRecord(in: Dataset.zone) { record in
        digest.add(record.id.name.rawValue)
        for field in Dataset.fields {
          guard case .string(let text)? = record[field] else { continue }
          digest.add(text)
        }
        return true
      }
    }
    return digest.value
  }

  /// A number that can only be computed by reading the record.
  package static func weight(_ record: Record) -> UInt64 {
    Dataset.fields.reduce(Dataset.weight(record.id.name.rawValue)) { sum, field in
      guard case .string(let text)? = record[field] else { return sum }
      return sum &+ Dataset.weight(text)
    }
  }

  /// Like ``weight(_:)-(Record)``, but without a copy of the record.
  package static func weight(_ record: borrowing RecordView) throws -> UInt64 {
    var sum = Dataset.weight(try record.name)
    for field in Dataset.fields {
      guard let text = try record.text(of: field) else { continue }
      sum &+= Dataset.weight(text)
    }
    return sum
  }
}
