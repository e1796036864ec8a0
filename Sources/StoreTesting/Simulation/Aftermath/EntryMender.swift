import EventStore
import Replicator

/// Puts back what a remote lost, or gives it up.
struct EntryMender: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Puts an entry back.
  ///
  /// - Parameter device: the device whose store has it; nil to give it up.
  func mend(_ place: EntryPlace, _ remote: DamagedRemote, from device: SimulatedDevice?) throws {
    guard let device else {
      let state = try executor.wait { [now = world.now] in
        try await remote.log.amendments.quarantine(place, last: .max, note: "lost", milliseconds: UInt64(now))
      }
      guard case .givenUp = state else {
        throw SimulationFailure(.noSurprise, "\(place) was to be given up, and is \(state)")
      }
      return
    }
    guard let store = device.store else { return }
    let steps = try executor.wait {
      var repair = RemoteRepair(remote, from: store, zone: place.log?.zone)
      let audit = try await remote.audit()
      try await repair.repairEvents(audit.unreadableEvents)
      try await repair.addLostEvents()
      try await repair.repairLogs(try await remote.audit())
      return repair.steps
    }
    guard steps.contains(where: { $0.place == place && $0.outcome == .putBack }) else {
      throw SimulationFailure(.noSurprise, "\(place) was not put back from d\(device.number): \(steps)")
    }
  }
}
