import EventStore
import Replicator
import StoreTesting
import Stores

/// The number of bytes on the wire, and the speed of packing.
extension Case {
  static var shipping: [Case] {
    [
      shipping("the history of 2,000 commits that `replay history --generate 2000` runs") {
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

  /// Writes a history into a store: a commit is a write, a file is a record, and the first component of its
  /// path is its zone.
  private static func writeHistory(commits: Int, _ directory: String) async throws {
    let store = try LocalStore(directory: directory, durability: .consistent)
    var reader = try GeneratedHistory(commits: commits, seed: 1).makeReader()
    while let commit = try reader.next() {
      try store.writeBlockingThisThread { tx in
        tx.author = commit.author
        tx.label = commit.label
        for change in commit.changes {
          let path = String(decoding: change.path, as: UTF8.self)
          let parts = path.split(separator: "/", maxSplits: 1)
          let zone = ZoneID(name: Name(parts.count > 1 ? String(parts[0]) : "files"))
          if try tx.createZone(zone) { try tx.attachZone(zone) }
          let record = RecordID(zone: zone, name: Name(String(parts.last ?? "file")))
          let isThere = try tx.contains(record)
          guard let content = change.content else {
            if isThere { try tx.delete(record) }
            continue
          }
          if !isThere { try tx.create(record, type: "file") }
          try tx.set("blob", of: record, to: .string(content.blob))
          if let size = content.size { try tx.set("size", of: record, to: .int(size)) }
          if let mode = content.mode { try tx.set("mode", of: record, to: .string(mode)) }
        }
      }
    }
    store.close()
  }
}
