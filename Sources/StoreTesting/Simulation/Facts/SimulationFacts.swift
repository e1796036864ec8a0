import EventStore
import OperationFormat
import Replicator

/// What is true in a world: what every device has written, and what the remote has.
///
/// It is `@unchecked Sendable` since a world has one thread.
final class SimulationFacts: @unchecked Sendable {
  /// The lives of zones at the remote, in the order in which they began.
  private(set) var lives: [ZoneFacts] = []
  private(set) var databaseToken: DatabaseToken?
  /// Zones that a device deleted before it knew of a log of theirs: the remote may have made one already.
  var deletedInTheMaking: Set<ZoneID> = []
  /// Zones that any device's app has deleted.
  var deletedZones: Set<ZoneID> = []
  /// The workloads of which a write was committed.
  var committed: Set<String> = []
  /// How many writes of each workload ended with an error, and the last error.
  var refused: [String: (count: Int, last: String)] = [:]

  func life(_ incarnation: IncarnationID) -> ZoneFacts? { lives.first { $0.incarnation == incarnation } }

  /// Where the logs end.
  var ends: [IncarnationID: Int] {
    Dictionary(uniqueKeysWithValues: lives.map { ($0.incarnation!, $0.segments.count) })
  }

  /// Whether an older version cannot read the entry at an offset.
  func isNewer(_ offset: UInt64, in incarnation: IncarnationID) -> Bool {
    guard let life = life(incarnation), offset > 0, offset <= life.segments.count else { return false }
    return life.segments[Int(offset) - 1].isNewer
  }

  // MARK: The remote

  /// Reads what was put into the remote since the last call.
  ///
  /// - Returns: whether there was anything.
  func observe(_ remote: any RemoteLog) async throws -> Bool {
    var hasChanged = false
    let page = try await remote.zoneEvents(after: databaseToken)
    databaseToken = page.token
    for event in page.events {
      hasChanged = true
      switch event.kind {
      case .created: lives.append(ZoneFacts(event.zone, event.incarnation))
      default:
        guard let life = life(event.incarnation),
          life.isDeletionAsked || deletedInTheMaking.contains(life.zone)
        else {
          throw SimulationFailure(.nothingVanishes, "zone \(event.zone) was deleted at the remote by nobody")
        }
        life.isDeletionAsked = true
        life.isClosed = true
      }
    }
    for life in lives {
      let last = UInt64(life.segments.count)
      let token = ChangeToken(
        zone: life.zone, incarnation: life.incarnation!, offset: last,
        hash: life.segments.last?.hash ?? .zero,
        chain: life.chain)
      guard case .segments(let segments, _) = try await remote.segments(after: token, bytesMax: .max) else {
        continue
      }
      for segment in segments {
        let unpacked = try SegmentPacker.unpack(segment.bytes)
        try life.append(
          unpacked.header, unpacked.transactions, receivedMilliseconds: segment.receivedMilliseconds,
          segment.chain)
        hasChanged = true
      }
    }
    return hasChanged
  }
}
