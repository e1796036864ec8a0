import EventStore
import OperationFormat

/// What distinguishes two states of a store: the digests of its zones, and the end of its log.
struct DeviceState: Hashable {
  var zones: [ZoneID] = []
  var digests: [ContentHash] = []
  var last: Position

  init(_ store: LocalStore) throws {
    self = try store.read { try DeviceState($0) }
  }

  init(_ transaction: borrowing ReadTransaction) throws {
    zones = try transaction.zones()
    last = try transaction.lastPosition()
    for zone in zones { digests.append(try transaction.digest(of: zone)) }
  }

  /// The digest of a zone. A missing zone has the digest of an empty one.
  func digest(of zone: ZoneID) -> ContentHash {
    zones.firstIndex(of: zone).map { digests[$0] } ?? Self.empty
  }

  private static let empty = ContentHash(of: [UInt8]().span.bytes)
}
