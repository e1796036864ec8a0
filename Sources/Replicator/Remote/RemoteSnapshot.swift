public import OperationFormat

/// A snapshot of a zone at a remote: of which log, up to where, and who made it. Two makers never write the same objects.
public struct RemoteSnapshot: Hashable, Sendable {
  /// The zone.
  public let zone: ZoneID
  /// The incarnation of its log.
  public let incarnation: IncarnationID
  /// The offset up to which the log is in it, from 1.
  public let offset: UInt64
  /// The replica that made it.
  public let maker: ReplicaID

  /// The most snapshots of a log that a remote names.
  package static let countMax = 4

  /// Names a snapshot.
  public init(of zone: ZoneID, _ incarnation: IncarnationID, at offset: UInt64, by maker: ReplicaID) {
    (self.zone, self.incarnation, self.offset, self.maker) = (zone, incarnation, offset, maker)
  }
}

extension RemoteLog {
  public func snapshots(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot]? { nil }

  public func snapshotManifest(
    of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> SnapshotManifest? { nil }

  public func snapshotPart(
    at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> [UInt8]? { nil }

  public func putSnapshotPart(
    _ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {}

  public func finishSnapshot(
    _ manifest: SnapshotManifest, of snapshot: RemoteSnapshot
  ) async throws(RemoteError) {}

  public func removeSnapshot(_ snapshot: RemoteSnapshot, parts: Int) async throws(RemoteError) {}

  public func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64? { nil }
}
