import EventStore
import Stores
import Synchronization

/// Commits while lists are observed, compared with commits that nobody observes.
extension Case {
  private final class Waiting: Sendable { let count = Atomic(0) }

  /// Observers that each read another record, until they are released.
  private final class Observers: Sendable {
    private let tasks: [Task<Void, any Error>]

    /// Returns when all have read, and wait for changes.
    init(_ count: Int, of store: LocalStore, _ dataset: Dataset) {
      let waiting = Waiting()
      tasks = (0..<count).map { number in
        let id = dataset.ids[number % dataset.ids.count]
        let values = store.values { tx in try tx.record(id)?["field0"] }
        return Task {
          var isFirst = true
          for try await _ in values {
            if isFirst { waiting.count.add(1, ordering: .relaxed) }
            isFirst = false
          }
        }
      }
      while waiting.count.load(ordering: .relaxed) < count {}
    }

    deinit { for task in tasks { task.cancel() } }
  }

  static var observers: [Case] { [1, 100, 10_000].map(observed) }

  private static func observed(by count: Int) -> Case {
    Case(
      title: "commits in memory of one operation while \(count) observe, and one is concerned",
      aims: count <= 100 ? [Comparison.Aim(than: .other, ratio: 1 / 1.2)] : [], otherwise: "none"
    ) { place, sizes in
      let bases = try Bases(place, sizes)
      let dataset = bases.dataset
      let id = dataset.ids[0]
      // A read that is open during commits leaves LMDB's free pages in pieces, and every later commit of the store writes
      // more pieces. Apps read, whether they observe or not: both stores begin with that.
      let readDuringCommits = { (engine: Engine) in
        for number in 0..<sizes.count(500) {
          let step = Engine.Step(id: id, field: "field0", value: .int(Int64(-number)))
          try engine.store.read { _ in try engine.commit([step], each: 1) }
        }
      }
      let steps = (0..<sizes.count(20_000)).map { number in
        Engine.Step(id: id, field: "field0", value: .int(Int64(number)))
      }
      let observers = Mutex<Observers?>(nil)
      return (
        steps.count,
        [
          .engine(
            open: { try bases.openEngine(in: place) },
            warm: {
              try readDuringCommits($0)
              let made = Observers(count, of: $0.store, dataset)
              observers.withLock { $0 = made }
            },
            turn: { try $0.commit(steps[...], each: 1) },
            facts: {
              observers.withLock { $0 = nil }
              return [:]
            }),
          .engine(
            .other, open: { try bases.openEngine(in: place, as: "none") }, warm: readDuringCommits,
            turn: { try $0.commit(steps[...], each: 1) }),
        ]
      )
    }
  }
}
