import Replicator

/// What is wrong with an object of a remote.
enum RemoteDamage {
  /// An entry is missing, and there is more behind it.
  case hole
  /// Zeros have the place of an entry.
  case zeros
  /// Five bytes of an entry are wrong.
  case bytes
  /// Zeros follow the last event of the list of zones.
  case garbageEvent
  /// Five bytes of the event that says that there is the zone are wrong.
  case damagedEvent
  /// The last event of the list of zones is gone.
  case lostEvent

  /// The kinds that a seed draws. For a damaged event, another choice says whether it is lost instead.
  static let drawn: [RemoteDamage] = [.hole, .zeros, .bytes, .garbageEvent, .damagedEvent]

  /// Bytes as they are after it; nil for an object that is gone.
  func damaged(_ bytes: [UInt8]) -> [UInt8]? {
    switch self {
    case .hole, .lostEvent: return nil
    case .zeros, .garbageEvent: return [UInt8](repeating: 0, count: 300)
    case .bytes, .damagedEvent:
      var bytes = bytes
      let start = max(0, bytes.count - 40)
      for index in start..<min(start + 5, bytes.count) { bytes[index] ^= 0x5A }
      return bytes
    }
  }
}

/// The remote of a world, as its administrator sees it.
struct DamagedRemote: LogOfObjects {
  private let place: SimulatedPlace
  private let kept: KeptObjects

  /// - Returns: nil for a remote of the app's own.
  init?(_ place: SimulatedPlace) {
    guard let objects = place.kept else { return nil }
    (self.place, kept) = (place, objects)
  }

  /// A new client each time, which remembers nothing.
  var log: ObjectRemote { place.makeLog(over: kept) }

  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    try await log.deleteZone(zone, incarnation)
  }

  /// Purges or resets a zone.
  ///
  /// - Parameter changes: after so many changes of objects it ends, as a process that is killed; nil to do all.
  func discardZone(
    _ zone: ZoneID, _ incarnation: IncarnationID, isReset: Bool, endingAfter changes: Int?
  ) async throws(RemoteError) {
    let log = changes.map { place.makeLog(over: FailingObjects(kept, after: $0)) } ?? self.log
    do throws(RemoteError) {
      isReset ? try await log.resetZone(zone, incarnation) : try await log.purgeZone(zone, incarnation)
    } catch {
      guard changes != nil, error.code == .unreachable else { throw error }
    }
  }

  func damage(_ name: ObjectName, _ damage: RemoteDamage) async throws(RemoteError) {
    let bytes = try await kept.get(name, bytesMax: .max)
    try await kept.replace(name, with: damage.damaged(bytes ?? []))
  }

  /// The events of the list of zones that count.
  func events() async throws(RemoteError) -> [ZoneEvent] {
    var events: [ZoneEvent] = []
    try await log.forEachZoneEventPage { page in
      events += page.events
      return true
    }
    return events
  }

  /// The offset of the last event of the list of zones.
  func listEnd() async throws -> UInt64 {
    var end: UInt64 = 0
    try await log.forEachZoneEventPage { page in
      end = page.token.offset
      return true
    }
    return end
  }

  func audit() async throws -> RemoteAudit { try await RemoteAudit(of: self, objects: objects()) }

  /// All that is there.
  func objects() async throws -> [ObjectEntry] { try await kept.list() }
}
