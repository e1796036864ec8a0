import EventStore
import OperationFormat
import Replicator

/// The remote's operator purges a zone, and may be cut short, while devices have something unsent or unread. Each keeps what it
/// has, and says why it waits. Then devices attach the zone again: all that any of them has is there, for all.
struct PurgedZone: AftermathEvent {
  private static let record: Name = "purged"

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let remote = DamagedRemote(place), let (first, zone) = pickWriter() else { return }
    begin(.zonePurged)
    var count = 0
    func write(_ device: SimulatedDevice) throws {
      try self.write("\(count),", to: "value", of: Self.record, in: zone, on: device)
      count += 1
    }
    try write(first)
    try agreement.check(zone, after: "a write")
    for _ in 0...choices.next(below: 2) {
      let devices = agreement.devices(with: zone)
      for device in devices where device.configuration.role == .writer && choices.next(below: 2) == 0 {
        try writeIfThere(on: device, zone, write)
        if choices.next(below: 2) == 0 { try syncAlone(device) }
      }
      let owners = try devices.filter { try isAttached(zone, $0) }
      guard !owners.isEmpty, let incarnation = try token(of: zone, first)?.incarnation else { return }
      try purge(zone, incarnation, remote, &choices)
      for device in owners where choices.next(below: 2) == 0 {
        try syncAlone(device)
        try checkIsKept(zone, device)
      }
      // The first device makes the zone again from what it has.
      let start = choices.next(below: devices.count)
      try attachAgain(zone, Array(devices[start...] + devices[..<start]))
      try agreement.check(zone, after: "a purge")
      try agreement.checkWrites(count, of: Self.record, in: zone, after: "a purge")
    }
    let problems = try executor.wait { try await remote.audit() }.problems
    // What happened to other zones before is not looked at here.
    let found = problems.first { !$0.isAboutSnapshot && ($0.entry?.log?.zone ?? zone) == zone }
    guard let problem = found else { return }
    throw SimulationFailure(.noSurprise, "a remote with a zone that was purged is not sound: \(problem)")
  }

  /// Once its event is in the list of zones, a purge that was cut short may be continued or not.
  private func purge(
    _ zone: ZoneID, _ incarnation: IncarnationID, _ remote: DamagedRemote, _ choices: inout SimulationChoices
  ) throws {
    let changes = choices.next(below: 2) == 0 ? 1 + choices.next(below: 16) : nil
    let isContinued = choices.next(below: 2) == 0
    if let changes {
      try executor.wait { try await remote.purgeZone(zone, incarnation, endingAfter: changes) }
    }
    if changes == nil || isContinued {
      try executor.wait { try await remote.purgeZone(zone, incarnation) }
    }
    note("\(zone) is purged" + (changes.map { ", and cut short after \($0) changes" } ?? ""))
    world.count(.zonesPurged)
  }

  private func checkIsKept(_ zone: ZoneID, _ device: SimulatedDevice) throws {
    guard try isAttached(zone, device) else {
      throw SimulationFailure(.nothingVanishes, "d\(device.number) has removed \(zone), which was purged")
    }
    let status = status(of: zone, device)
    if status == .paused(.purged) { return }
    throw SimulationFailure(
      .nothingIsSilent,
      "\(zone) was purged, and d\(device.number) says " + (status.map(RoundText.text) ?? "nothing"))
  }
}
