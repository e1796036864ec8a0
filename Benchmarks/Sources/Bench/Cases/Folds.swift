import EventStore
import Replicator
import Stores

/// Folding what others wrote, and folding the log again.
extension Case {
  /// A remote, and stores that are in sync with it.
  private struct Synced {
    let dataset: Dataset
    let remote = MemoryRemote(identity: RemoteID(rawValue: 5))
    /// The stores of the writer and of the reader; each has all records.
    let writer: String
    let reader: String
    /// How many operations made the records.
    var operations: Int { dataset.names.count * 5 }

    init(_ place: Place, _ sizes: Sizes) async throws {
      dataset = Dataset(records: sizes.records)
      writer = place.path + "/writer"
      reader = place.path + "/reader"
      try Engine.make(writer, dataset)
      let engine = try Engine(writer, dataset)
      try await engine.store.write { try $0.attachZone(Dataset.zone) }
      _ = try await LogReplicator(store: engine.store, remote: remote).syncOnce()
      try await fetch(try Engine(reader, dataset, seed: 12)).store.close()
    }

    /// Fetches everything.
    @discardableResult
    func fetch(_ engine: Engine) async throws -> Engine {
      let report = try await LogReplicator(store: engine.store, remote: remote).syncOnce(.fetch)
      guard report.isInSync else { throw Disagreement(description: "a round came to \(report)") }
      return engine
    }

    /// Folds the whole log into a new store.
    func fetchingAll(_ place: Place) -> Participant {
      .engine(
        .other, count: operations,
        open: { try Engine(place.inner().path + "/all", dataset, seed: 13) }, turn: { try await fetch($0) })
    }

    /// Runs a turn in a copy of the reader's store.
    func reading(
      _ place: Place, _ name: Participant.Name, _ turn: @escaping (Engine) async throws -> Void
    ) -> Participant {
      .engine(
        name, open: { try Engine(try place.copy(reader, as: "\(name)"), dataset, seed: 12) }, turn: turn)
    }
  }

  static var folding: Case {
    Case(
      title: "a round that folds segments of 1,000 operations, with their token",
      aims: [Comparison.Aim(than: .other, ratio: 0.8)], otherwise: "commits of 1,000"
    ) { place, sizes in
      let synced = try await Synced(place, sizes)
      let steps = Engine.steps(synced.dataset.changes(sizes.count(100) * 1000, seed: 9), synced.dataset)
      let writer = try Engine(synced.writer, synced.dataset)
      let replicator = LogReplicator(store: writer.store, remote: synced.remote)
      for start in stride(from: 0, to: steps.count, by: 1000) {
        try writer.commit(steps[start..<start + 1000], each: 1000)
        _ = try await replicator.syncOnce(.ship)
      }
      return (
        steps.count,
        [
          synced.reading(place, .tributary) { try await synced.fetch($0) },
          synced.reading(place, .other) { try $0.commit(steps[...], each: 1000) },
        ]
      )
    }
  }

  static var rebuilding: Case {
    Case(
      title: "a rebuild of all records", aims: [Comparison.Aim(than: .other, ratio: 0.8)],
      otherwise: "a first round's fold"
    ) { place, sizes in
      let synced = try await Synced(place, sizes)
      let rebuild = synced.reading(place, .tributary) { _ = try await $0.store.rebuild() }
      return (synced.operations, [rebuild, synced.fetchingAll(place)])
    }
  }

  static var past: Case {
    Case(
      title: "the past in the middle of the log", aims: [Comparison.Aim(than: .other, ratio: 0.8)],
      otherwise: "a first round's fold"
    ) { place, sizes in
      let synced = try await Synced(place, sizes)
      let engine = try Engine(synced.reader, synced.dataset, seed: 12)
      let last = try engine.store.read { try $0.lastPosition() }
      let middle = Position(rawValue: last.rawValue / 2)
      var records = 0
      let past = Participant(
        name: .tributary,
        prepare: { try engine.store.removePast() },
        turn: {
          let past = try engine.store.snapshotBlockingThisThread(at: middle)
          records = 0
          try past.read { tx in
            try tx.forEachRecord(in: Dataset.zone) { _ in
              records += 1
              return records < 10
            }
          }
        },
        finish: {
          guard records == 10 else { throw Disagreement(description: "the past has \(records) records") }
          return [:]
        })
      return (synced.operations / 2, [past, synced.fetchingAll(place)])
    }
  }
}
