import EventStore
import Stores

/// Changes of random fields of random records by one writer, several in each commit.
extension Case {
  static func commits(of size: Int, count: Int, on medium: Medium, aims: [Comparison.Aim]) -> Case {
    let kind = medium == .disk ? "durable commits" : "commits in memory"
    let each = size == 1 ? "one operation" : "\(size) operations"
    return Case(title: "\(kind) of \(each)", medium: medium, aims: aims) { place, sizes in
      let bases = try Bases(place, sizes)
      let dataset = bases.dataset
      // Adds a tenth at the start, which is not timed.
      let commits = sizes.count(count)
      let warm = max(1, commits / 10)
      let changes = dataset.changes((commits + warm) * size, seed: UInt64(size))

      let steps = Engine.steps(changes, dataset)
      let ours = Participant.engine(
        open: { try bases.openEngine(in: place) },
        warm: { try $0.commit(steps[..<(warm * size)], each: size) },
        turn: { try $0.commit(steps[(warm * size)...], each: size) },
        facts: { [.tables: try RawStore.digest(of: place.path + "/ours").digest] })

      let recorded = try bases.openEngine(in: place)
      let trace = try await Trace { try recorded.commit(steps[...], each: size) }
      recorded.store.close()
      var raw: RawStore?
      let lmdb = Participant(
        name: .lmdb,
        prepare: {
          raw = try RawStore(try bases.copyForLMDB(in: place))
          try raw!.play(trace, 0..<warm)
        },
        turn: { try raw!.play(trace, warm..<trace.transactions) },
        finish: {
          raw = nil
          return [.tables: try RawStore.digest(of: place.path + "/raw").digest]
        })

      let rows = SQLite.steps(changes, dataset)
      let grdb = Participant.sqlite(
        open: { try bases.openSQLite(in: place) },
        warm: { try $0.commit(rows[..<(warm * size)], each: size) },
        turn: { try $0.commit(rows[(warm * size)...], each: size) },
        facts: { sqlite in
          let count = try sqlite.changeCount()
          guard count == dataset.names.count * 4 + changes.count else {
            throw Disagreement(description: "the triggers logged \(count) changes")
          }
          return [:]
        })
      return (commits * size, [ours, lmdb, grdb])
    }
  }
}
