import EventStore
import Replicator
import Stores

/// The number of bytes on the wire, and the speed of packing.
extension Case {
  static var shipping: [Case] {
    [
      shipping("a history of 2,000 commits on 60 files") {
        directory, sizes in
        try await writeHistory(commits: sizes.count(2000), directory)
      },
      shipping("10⁶ edits in commits of 10") { directory, sizes in
        let dataset = Dataset(records: sizes.records)
        try Engine.make(directory, dataset)
        let engine = try Engine(directory, dataset, durability: .consistent)
        try engine.commit(
          Engine.steps(dataset.changes(sizes.count(1_000_000), seed: 14), dataset)[...], each: 10)
        try engine.store.writeBlockingThisThread { try $0.attachZone(Dataset.zone) }
      },
    ]
  }

  private static func shipping(
    _ what: String, _ write: @escaping (_ directory: String, Sizes) async throws -> Void
  ) -> Case {
    Case(title: "shipping \(what)") { place, sizes in
      let full = place.path + "/full"
      try await write(full, sizes)
      let lines = try JSONLines(ofStoreAt: full)
      var sent = 0
      let ours = Participant(
        name: .tributary,
        prepare: {},
        turn: {
          let store = try LocalStore(directory: try place.copy(full, as: "ours"), durability: .consistent)
          let remote = MemoryRemote(identity: RemoteID(rawValue: 6))
          let report = try await LogReplicator(store: store, remote: remote).syncOnce(.ship)
          store.close()
          guard report.isInSync else { throw Disagreement(description: "a round came to \(report)") }
          sent = report.bytesSent
        }, bytes: { sent }, finish: { [:] })
      let json = Participant(
        name: .other, prepare: {}, turn: {}, bytes: { try lines.packedByteCount() }, finish: { [:] })
      return [
        Comparison(
          title: "bytes on the wire of \(what)", measure: .bytes, unit: "an operation",
          aims: [Comparison.Aim(than: .other, ratio: 0.6)], otherwise: "JSON lines packed by zstd",
          count: lines.operations, participants: [ours, json]),
        Comparison(title: "shipping \(what)", count: lines.operations, participants: [ours]),
      ]
    }
  }

  /// Writes a history of files into a store: a commit is a write, a file is a record, and the first component
  /// of its path is its zone. A few files get most of the changes; some files are deleted and created again.
  private static func writeHistory(commits: Int, _ directory: String) async throws {
    let store = try LocalStore(directory: directory, durability: .consistent)
    for number in 1...max(1, commits) {
      try store.writeBlockingThisThread { tx in
        var random = SplitMix(state: UInt64(number))
        tx.author = "author \(random.next(below: 12))"
        tx.label = "commit \(number)"
        for _ in 0..<(1 + random.next(below: 3)) {
          let file = random.next(below: random.next(below: 10) < 6 ? 6 : 60)
          let zone = ZoneID(name: Name(["docs", "sources", "tests"][file % 3]))
          if try tx.createZone(zone) { try tx.attachZone(zone) }
          let record = RecordID(zone: zone, name: Name("folder \(file % 7)/file \(file)"))
          let isThere = try tx.contains(record)
          if isThere, random.next(below: 5) == 0 {
            try tx.delete(record)
            continue
          }
          if !isThere { try tx.create(record, type: "file") }
          try tx.set("blob", of: record, to: .string(hash(&random)))
          try tx.set("size", of: record, to: .int(Int64(random.next(below: 100_000))))
          try tx.set("mode", of: record, to: .string(["100644", "100644", "100755"][random.next(below: 3)]))
        }
      }
    }
    store.close()
  }

  /// 40 hexadecimal digits, as the name of a blob in git.
  private static func hash(_ random: inout SplitMix) -> String {
    (0..<40).map { _ in String(random.next(below: 16), radix: 16) }.joined()
  }
}
