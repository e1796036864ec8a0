import EventStore
import Replicator

/// Puts back what a remote lost, or gives it up.
struct EntryMender: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Puts entries back.
  ///
  /// - Parameter device: the device whose store has them; nil to give them up.
  func mend(_ places: EntryPlace..., in remote: DamagedRemote, from device: SimulatedDevice?) throws {
    for place in places where device == nil {
      let state = try executor.wait { [now = world.now] in
        try await remote.log.amendments.quarantine(place, last: .max, note: "lost", milliseconds: UInt64(now))
      }
      guard case .givenUp = state else {
        throw SimulationFailure(.noSurprise, "\(place) was to be given up, and is \(state)")
      }
    }
    guard let device, let store = device.store else { return }
    let steps = try executor.wait {
      var repair = RemoteRepair(remote, from: store, zone: places[0].log?.zone)
      let audit = try await remote.audit()
      try await repair.repairEvents(audit.unreadableEvents)
      try await repair.addLostEvents()
      try await repair.repairLogs(try await remote.audit())
      return repair.steps
    }
    for place in places where !steps.contains(where: { $0.place == place && $0.outcome == .putBack }) {
      throw SimulationFailure(.noSurprise, "\(place) was not put back from d\(device.number): \(steps)")
    }
  }
}
