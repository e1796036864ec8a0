import EventStore
import GRDB
import Stores

/// Writes of one operation from many tasks, which share commits.
extension Case {
  static var tasks: Case {
    Case(
      title: "durable writes of one operation from 64 tasks", medium: .disk,
      aims: [Comparison.Aim(than: .sqlite, ratio: 5), Comparison.Aim(than: .other, ratio: 8)],
      otherwise: "one writer"
    ) { place, sizes in
      let bases = try Bases(place, sizes)
      let dataset = bases.dataset
      let taskCount = 64
      let each = sizes.count(100)
      // Each task changes its own records, so that the result does not depend on the order of the tasks.
      var changes = dataset.changes(taskCount * each, seed: 64)
      for index in changes.indices {
        let task = index / each
        changes[index].record -= changes[index].record % taskCount
        changes[index].record = min(changes[index].record + task, dataset.names.count - taskCount + task)
      }
      let steps = Engine.steps(changes, dataset)
      let rows = SQLite.steps(changes, dataset)

      func ours(_ name: Participant.Name, _ turn: @escaping (Engine) async throws -> Void) -> Participant {
        .engine(name, open: { try bases.openEngine(in: place, as: "\(name)") }, turn: turn)
      }
      let many = ours(.tributary) { engine in
        let store = engine.store
        try await withThrowingTaskGroup { group in
          for task in 0..<taskCount {
            let own = steps[task * each..<(task + 1) * each]
            group.addTask {
              for step in own {
                try await store.write { try $0.set(step.field, of: step.id, to: step.value) }
              }
            }
          }
          try await group.waitForAll()
        }
      }
      let one = ours(.other) { try $0.commit(steps[...], each: 1) }

      let grdb = Participant.sqlite(
        open: { try bases.openSQLite(in: place) },
        turn: { sqlite in
          let pool = sqlite.pool
          try await withThrowingTaskGroup { group in
            for task in 0..<taskCount {
              let own = rows[task * each..<(task + 1) * each]
              group.addTask {
                for step in own { try await pool.write { try SQLite.set(step, $0) } }
              }
            }
            try await group.waitForAll()
          }
        })
      return (taskCount * each, [many, grdb, one])
    }
  }
}
