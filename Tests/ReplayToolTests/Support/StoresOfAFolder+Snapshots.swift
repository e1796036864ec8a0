import EventStore
import OperationFormat
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

extension StoresOfAFolder {
  /// Makes a remote with two snapshots of the zone `notes`, at offsets 8 and 12, the end of its log. The store `writer` has
  /// written all of it, and `behind` has read only the first entries.
  func makeRemoteWithSnapshots() async throws {
    let zone = ZoneID(name: "notes")
    let folder = try await FolderRemote.create(directory: "\(temporary.path)/remote")
    let store = try ShoppingStore.open(path("writer"), TestClock(ShoppingStore.start), SharedBits(1))
    for round in 0..<3 {
      for part in 0..<4 {
        try await store.write { tx in
          try tx.createZone(zone)
          try tx.attachZone(zone)
          for index in 0..<10 << (2 * round) {
            let id = RecordID(zone: zone, name: Name("\(round) \(part) \(index)"))
            try tx.create(id, type: "note", fields: ["title": .string("\(round) \(part) \(index * 7919)")])
          }
        }
        var configuration = ReplicatorConfiguration()
        configuration.policy.snapshotBytesMin = part == 3 && round > 0 ? 1 : 1 << 40
        _ = try await LogReplicator(store: store, remote: folder, configuration: configuration).syncOnce()
      }
      if round == 0 { try #require(await sync("behind", "--create-store").exit == 0) }
    }
    store.close()
  }
}
