import Replicator

/// Hints that never come: some devices announce nothing, as an older version does, and to them a server
/// always says that nothing has changed. Nothing may depend on hints but time.
struct HintFaults: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Whether a device is one of them: half of the devices in a third of the worlds.
  func isSilent(_ device: SimulatedDevice) -> Bool {
    guard options.faults.contains(.hintsLost) else { return false }
    var choices = world.plan.choices(.hints)
    guard choices.next(below: 3) == 2 else { return false }
    var isSilent = false
    for _ in 0...device.number { isSilent = choices.next(below: 2) == 1 }
    if isSilent { mark(.hintsLost) }
    return isSilent
  }

  /// What a device is told when something has changed.
  func hint(to device: SimulatedDevice) -> RemoteHint { device.number % 2 == 0 ? .anything : .logs([:]) }

  /// What a server says to a device.
  func heads(_ heads: RemoteHeads?, of tokens: [ChangeToken], to device: SimulatedDevice) -> RemoteHeads? {
    guard isSilent(device) else { return heads }
    return RemoteHeads(
      zones: tokens.map { ZoneHead($0.incarnation, offset: $0.offset) }, isListUnchanged: true)
  }
}
