import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Snapshots of several parts")
struct SnapshotsOfManyParts {
  private let scratch = TemporaryDirectory()
  private let objects = MemoryObjects()
  private var remote: ObjectRemote { ObjectRemote(objects) }

  /// A record that one part cannot have.
  private func writeLargeRecord(_ maker: Device) async throws {
    let id = RecordID(zone: zone, name: "large")
    for part in 0..<5 {
      try await maker.store.write { tx in
        try tx.createZone(zone)
        try tx.attachZone(zone)
        if part == 0 { try tx.create(id, type: "note") }
        try tx.insertText(String(repeating: "text \(part) ", count: 100_000), at: 0, in: "body", of: id)
        try tx.add(.int(Int64(part)), to: "count", of: id)
        for number in 0..<8 {
          let value = Value.string(String(repeating: "\(part) \(number) ", count: 20_000))
          try tx.insert(value, into: "set", of: id)
          try tx.put(value, at: Name("\(part) \(number)"), in: "map", of: id)
          try tx.contribute(.int(Int64(number)), to: "notes", of: id)
          try tx.insertElements([value], at: 0, in: "list", of: id)
        }
      }
      try await maker.syncWithoutSnapshot(remote)
    }
  }

  @Test("One that is cut within a text, a list, a set and a map is whole; a wrong count is found behind it")
  func cutWithinRecord() async throws {
    _ = try await objects.putIfAbsent(.marker, RemoteMarker(remote: RemoteID(rawValue: 9)).bytes)
    let maker = try Device(in: scratch.path, "maker", seed: 1)
    try await writeLargeRecord(maker)
    let (snapshot, manifest) = try await maker.putSnapshot(at: remote)
    #expect(manifest.parts.count > 2)
    let sound = try await RemoteAudit(of: remote, objects: objects.list())
    #expect(sound.problems.isEmpty && sound.logs[0].snapshots.count == 1, "\(sound.problems)")
    var lying = manifest
    lying.records += 1
    try await objects.overwrite(.snapshotManifest(of: snapshot), lying.encode())
    let found = try await RemoteAudit(of: remote, objects: objects.list())
    #expect(
      found.problems.map(\.place) == ["\(ObjectName.snapshotManifest(of: snapshot))"], "\(found.problems)")
    maker.store.close()
  }
}
