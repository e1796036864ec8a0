import EventStore
import OperationFormat

/// All that one can tell two states of a store apart by: the digests of its zones, and the end of its log.
struct DeviceState: Hashable {
  var zones: [ZoneID] = []
  var digests: [ContentHash] = []
  var last: Position

  init(_ store: LocalStore) throws {
    let (zones, digests, last) = try store.read { transaction in
      let zones = try transaction.zones()
      return (zones, try zones.map { try transaction.digest(of: $0) }, try transaction.lastPosition())
    }
    self.zones = zones
    self.digests = digests
    self.last = last
  }

  /// The digest of a zone. One that is not there is as one that nothing was written to.
  func digest(of zone: ZoneID) -> ContentHash {
    zones.firstIndex(of: zone).map { digests[$0] } ?? Self.empty
  }

  private static let empty = ContentHash(of: [UInt8]().span.bytes)
}
