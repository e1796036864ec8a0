import EventStore
import OperationFormat
import Replicator

/// A zone whose log at the remote has ended, and of which nobody has decided what becomes of it here: what to say of it.
struct PausedZone {
  let zone: ZoneID
  let fate: ZoneFate

  /// - Returns: nil if the event does not pause a zone.
  init?(_ zone: ZoneID, _ event: ZoneEvent.Kind?) {
    guard let fate = event.flatMap(ZoneFate.init) else { return nil }
    self.init(zone, fate)
  }

  init(_ zone: ZoneID, _ fate: ZoneFate) { (self.zone, self.fate) = (zone, fate) }

  /// A word for JSON.
  var word: String { RemotePage.text(fate) }

  /// Why it is paused.
  var message: String { fate.pauseMessage }

  /// What its user may choose, with the commands, in the same order.
  func hint(_ places: HintPlaces) -> String {
    let verbs = fate.mayBeBroughtBack ? ["attach", "detach", "delete"] : ["detach", "delete"]
    let commands = verbs.map { places.of(zone).zoneCommand($0) }
    return "\(fate.pauseHint): \(commands.dropLast().joined(separator: ", ")) or \(commands.last!)"
  }
}

extension ReadTransaction {
  /// The zones that are paused, as far as the store knows.
  func pauses() throws -> [ZoneID: PausedZone] {
    var pauses: [ZoneID: PausedZone] = [:]
    for (zone, event) in try pausedZones() { pauses[zone] = PausedZone(zone, event) }
    return pauses
  }
}

extension WriteTransaction {
  /// Lets a zone be synced. One that is paused is made again at the remote by the next sync.
  ///
  /// - Parameter pause: why it is paused; nil if it is not.
  mutating func attachZone(_ zone: ZoneID, pausedBy pause: PausedZone?) throws {
    if let pause, pause.fate.mayBeBroughtBack { try detachZone(zone) }
    try attachZone(zone)
  }
}
