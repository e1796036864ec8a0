import EventStore
import Replicator
import Stores

/// The cost of a store's work when its log is large, or it has many records, compared with a small store.
extension Case {
  /// A store with a log of at least `entries` transactions, all of them sent.
  private final class Grown {
    let directory: String
    let dataset: Dataset
    let remote = MemoryRemote(identity: RemoteID(rawValue: 5))
    private var opened: Engine?
    private var replicator: LogReplicator?

    init(_ directory: String, records: Int = 1000, entries: Int = 0) async throws {
      self.directory = directory
      dataset = Dataset(records: records)
      try Engine.make(directory, dataset)
      let engine = try Engine(directory, dataset, durability: .consistent)
      let store = engine.store
      let changes = dataset.changes(
        max(0, entries - Int(try store.read { try $0.lastPosition() }.rawValue)), seed: 4)
      let steps = Engine.steps(changes, dataset)
      // Writes of many tasks share commits.
      let taskCount = 64
      try await withThrowingTaskGroup { group in
        for task in 0..<taskCount {
          let own = steps[steps.count * task / taskCount..<steps.count * (task + 1) / taskCount]
          group.addTask {
            for step in own { try await store.write { try $0.set(step.field, of: step.id, to: step.value) } }
          }
        }
        try await group.waitForAll()
      }
      try await store.write { try $0.attachZone(Dataset.zone) }
      var report = try await LogReplicator(store: store, remote: remote).syncOnce()
      // A round sends so many segments.
      while !report.isInSync, report.sent > 0 {
        report = try await LogReplicator(store: store, remote: remote).syncOnce()
      }
      guard report.isInSync else { throw Disagreement(description: "a round came to \(report)") }
    }

    func open() throws -> Engine {
      if opened == nil { opened = try Engine(directory, dataset) }
      return opened!
    }

    func close() {
      replicator = nil
      opened = nil
    }

    /// Sends one change.
    func round(_ step: Engine.Step) async throws {
      let engine = try open()
      try engine.commit([step], each: 1)
      if replicator == nil { replicator = LogReplicator(store: engine.store, remote: remote) }
      let report = try await replicator!.syncOnce()
      guard report.isInSync, report.sent > 0 else {
        throw Disagreement(description: "a round came to \(report)")
      }
    }
  }

  static var growth: Case {
    Case(title: "the log grows to 10⁷ transactions") { place, sizes in
      let small = try await Grown(place.path + "/small", entries: 1000)
      var comparisons: [Comparison] = []
      for (entries, name) in [(100_000, "10⁵"), (10_000_000, "10⁷")] {
        let large = try await Grown(
          place.path + "/\(entries)", entries: max(2000, entries / sizes.divisor / sizes.divisor))
        comparisons += [
          compare("commits of one operation\(log(name))", "commits", sizes.count(5000), large, small) {
            grown, steps in
            try grown.open().commit(steps, each: 1)
          },
          compare("openings of the store\(log(name))", "openings", sizes.count(50), large, small) {
            grown, steps in
            for _ in steps {
              grown.close()
              _ = try grown.open()
            }
          },
          compare("reads of a field\(log(name))", "reads", sizes.count(100_000), large, small) {
            grown, steps in
            try grown.open().store.read { tx in
              for step in steps { _ = try tx.value(of: step.field, in: step.id) }
            }
          },
          compare("rounds with one change\(log(name))", "rounds", sizes.count(100), large, small) {
            grown, steps in
            for step in steps { try await grown.round(step) }
          },
        ]
      }
      return comparisons
    }
  }

  private static func log(_ entries: String) -> String { ", \(entries) transactions in the log" }

  static var manyRecords: Case {
    Case(title: "rounds with one change, 10⁶ records") { place, sizes in
      let small = try await Grown(place.path + "/small")
      let large = try await Grown(place.path + "/large", records: max(2000, sizes.count(1_000_000)))
      return [
        compare("rounds with one change, 10⁶ records", "rounds", sizes.count(100), large, small) {
          grown, steps in
          for step in steps { try await grown.round(step) }
        }
      ]
    }
  }

  private static func compare(
    _ title: String, _ unit: String, _ count: Int, _ large: Grown, _ small: Grown,
    _ turn: @escaping (Grown, ArraySlice<Engine.Step>) async throws -> Void
  ) -> Comparison {
    func participant(_ name: Participant.Name, _ grown: Grown) -> Participant {
      let steps = Engine.steps(grown.dataset.changes(count, seed: 6), grown.dataset)
      return Participant(
        name: name, prepare: { _ = try grown.open() }, turn: { try await turn(grown, steps[...]) },
        finish: { [:] })
    }
    return Comparison(
      title: title, measure: .time, unit: unit,
      aims: [Comparison.Aim(than: .other, ratio: 1.5)], otherwise: "10³", count: count,
      participants: [participant(.tributary, large), participant(.other, small)])
  }
}
