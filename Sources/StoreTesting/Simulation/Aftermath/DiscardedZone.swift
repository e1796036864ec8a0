import EventStore
import OperationFormat
import Replicator

/// The remote's operator purges or resets a zone, and may be cut short, while devices have something unsent or unread. Each
/// keeps what it has. After a purge it says why it waits, until devices attach the zone again; after a reset those that may
/// write send everything again on their own. All that any of them has is there then, for all.
struct DiscardedZone: AftermathEvent {
  unowned let world: SimulatedWorld
  private let fault: SimulationFault
  private var fate: ZoneFate { fault == .zoneReset ? .reset : .purged }
  private var name: String { fate == .reset ? "a reset" : "a purge" }
  private var record: Name { fate == .reset ? "reset" : "purged" }

  init(_ world: SimulatedWorld) { self.init(world, .zonePurged) }

  /// - Parameter fault: `zonePurged` or `zoneReset`.
  init(_ world: SimulatedWorld, _ fault: SimulationFault) { (self.world, self.fault) = (world, fault) }

  func run(_ choices: inout SimulationChoices) throws {
    guard let remote = DamagedRemote(place), let (first, zone) = pickWriter() else { return }
    begin(fault)
    let writes = CountedWrites(self, record, zone)
    try writes.write(first)
    try agreement.check(zone, after: "a write")
    for _ in 0...choices.next(below: 2) {
      let devices = agreement.devices(with: zone)
      for device in devices where device.configuration.role == .writer && choices.next(below: 2) == 0 {
        try writeIfThere(on: device, zone, writes.write)
        if choices.next(below: 2) == 0 { try syncAlone(device) }
      }
      let owners = try devices.filter { try isAttached(zone, $0) }
      guard !owners.isEmpty, let incarnation = try token(of: zone, first)?.incarnation else { return }
      // One that begins with a snapshot beyond what another has cannot continue the log that the other makes again: it stays
      // `retired`.
      if try devices.contains(where: { try $0.history != .everything || $0.store?.origin(of: zone) != nil }) {
        try agreement.check(zone, after: "a write")
      }
      try discard(zone, incarnation, remote, &choices)
      for device in owners where choices.next(below: 2) == 0 {
        try syncAlone(device)
        try checkIsThere(zone, device)
      }
      // The first device makes the zone again from what it has.
      let start = choices.next(below: devices.count)
      let order = Array(devices[start...] + devices[..<start])
      if fate == .purged {
        try attachAgain(zone, order)
      } else {
        for device in order { try syncAlone(device) }
      }
      try agreement.check(zone, after: name)
      try writes.check(after: name)
    }
    let problems = try executor.wait { try await remote.audit() }.problems
    // What happened to other zones before is not looked at here.
    let found = problems.first { !$0.isAboutSnapshot && ($0.entry?.log?.zone ?? zone) == zone }
    guard let problem = found else { return }
    throw SimulationFailure(.noSurprise, "a remote is not sound after \(name): \(problem)")
  }

  /// One that was cut short may be continued or not.
  private func discard(
    _ zone: ZoneID, _ incarnation: IncarnationID, _ remote: DamagedRemote, _ choices: inout SimulationChoices
  ) throws {
    let changes = choices.next(below: 2) == 0 ? 1 + choices.next(below: 16) : nil
    let isContinued = choices.next(below: 2) == 0
    let isReset = fate == .reset
    for changes in changes.map({ isContinued ? [$0, nil] : [$0] }) ?? [nil] {
      try executor.wait {
        try await remote.discardZone(zone, incarnation, isReset: isReset, endingAfter: changes)
      }
    }
    note("\(name) of \(zone)" + (changes.map { ", and cut short after \($0) changes" } ?? ""))
    world.count(isReset ? .zonesReset : .zonesPurged)
  }

  /// A device keeps the zone, and is in sync again only if it was reset, by this device or another.
  private func checkIsThere(_ zone: ZoneID, _ device: SimulatedDevice) throws {
    guard try isAttached(zone, device) else {
      throw SimulationFailure(.nothingVanishes, "d\(device.number) has removed \(zone) after \(name)")
    }
    let status = status(of: zone, device)
    if status == (fate == .reset ? .inSync : .paused(.purged)) { return }
    if fate == .reset, status == .paused(.reset), device.configuration.role == .reader { return }
    throw SimulationFailure(
      .nothingIsSilent,
      "after \(name) of \(zone), d\(device.number) says " + (status.map(RoundText.text) ?? "nothing"))
  }
}
