import OperationFormat

@testable import Replicator

/// A remote over any objects.
struct RemoteOfObjects: LogOfObjects {
  let log: ObjectRemote

  init(_ objects: any ObjectStore) { log = ObjectRemote(objects, hasHints: false) }

  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await log.deleteZone(zone, incarnation)
  }

  func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await log.purgeZone(zone, incarnation)
  }

  func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await log.resetZone(zone, incarnation)
  }
}
