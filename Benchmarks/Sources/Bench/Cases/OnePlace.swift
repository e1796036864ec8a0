import EventStore
import Replicator
import Stores

/// Folding the text that offline devices inserted at one place.
extension Case {
  /// Where a writer inserts its next letter, counted from the common place.
  private enum Manner: String, CaseIterable {
    case forward = "behind its last one"
    case backward = "before its last one"
    case mixed = "behind and before in turns"
    case seen = "before others' that it has seen"

    func place(_ turn: Int) -> Int {
      switch self {
      case .forward: 1 + turn
      case .backward, .seen: 1
      case .mixed: turn % 2 == 0 ? 1 : 1 + turn
      }
    }
  }

  private static let document = RecordID(zone: Dataset.zone, name: "document")

  /// Folds what several writers inserted at one place; the comparison is as much by one writer.
  static func onePlace(writers: Int) -> Case {
    Case(title: "folding 20,000 insertions of \(writers) writers at one place of a text") {
      place, sizes in
      let count = max(1, sizes.count(20_000) / writers)
      var comparisons: [Comparison] = []
      for manner in Manner.allCases {
        let many = try await written(manner, by: writers, count: count, place)
        let one = try await written(manner, by: 1, count: writers * count, place)
        comparisons.append(
          Comparison(
            title:
              "folding 20,000 insertions of \(writers) writers at one place of a text, each \(manner.rawValue)",
            unit: "insertions", otherwise: "as many by one writer", count: writers * count,
            participants: [folding(many, .tributary, place), folding(one, .other, place)]))
      }
      return comparisons
    }
  }

  /// Makes a remote with the text that writers inserted at one place, in commits of 100, without having seen
  /// each other.
  private static func written(
    _ manner: Manner, by writers: Int, count: Int, _ place: Place
  ) async throws -> MemoryRemote {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 5))
    var stores: [LocalStore] = []
    for index in 0..<writers {
      let store = try LocalStore(directory: place.inner().path, durability: .consistent)
      if index == 0 {
        try await store.write { tx in
          try tx.createZone(Dataset.zone)
          try tx.attachZone(Dataset.zone)
          try tx.create(document, type: "text")
          try tx.insertText("ab", at: 0, in: "body", of: document)
        }
      }
      _ = try await LogReplicator(store: store, remote: remote).syncOnce()
      stores.append(store)
    }
    // Writers that must see each other sync ten times in between.
    let part = manner == .seen ? max(1, count / 10) : count
    for start in stride(from: 0, to: count, by: part) {
      for store in stores {
        if manner == .seen { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
        for first in stride(from: start, to: min(count, start + part), by: 100) {
          try store.writeBlockingThisThread { tx in
            for turn in first..<min(first + 100, start + part, count) {
              try tx.insertText("x", at: manner.place(turn), in: "body", of: document)
            }
          }
        }
      }
      for store in stores { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
    for store in stores { store.close() }
    return remote
  }

  private static func folding(
    _ remote: MemoryRemote, _ name: Participant.Name, _ place: Place
  ) -> Participant {
    var opened: LocalStore?
    return Participant(
      name: name,
      prepare: { opened = try LocalStore(directory: place.inner().path, durability: .consistent) },
      turn: {
        guard let store = opened else { return }
        let report = try await LogReplicator(store: store, remote: remote).syncOnce(.fetch)
        guard report.isInSync else { throw Disagreement(description: "a round came to \(report)") }
      },
      finish: {
        let text = try opened?.read { try $0.text(of: "body", in: document) } ?? ""
        opened?.close()
        opened = nil
        return [.read: UInt64(text.utf8.count)]
      })
  }
}
