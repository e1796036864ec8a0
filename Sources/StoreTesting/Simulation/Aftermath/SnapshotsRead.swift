import EventStore
import OperationFormat
import Replicator

/// Stores put snapshots of their zones at the remote, and one that lost all begins with them. A snapshot may be damaged:
/// then the one before serves, or the log. All end equal.
struct SnapshotsRead: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (writer, zone) = pickWriter() else { return }
    begin(.snapshotRead)
    let machines = SimulatedMachines(world)
    for device in devices where device.store != nil {
      device.snapshotBytesMin = 1
      machines.end(device)
      try machines.boot(device)
    }
    var writes = 0
    for round in 0..<(1 + choices.next(below: 4)) {
      for device in agreement.devices(with: zone) where device.configuration.role == .writer {
        try write("round \(round)", to: "value", of: "snapshot", in: zone, on: device)
        writes += 1
      }
      try agreement.check(zone, after: "snapshots were made")
    }
    if choices.next(below: 2) == 0 { try damage(zone, writer, &choices) }
    guard let lost = agreement.devices(with: zone).last(where: { $0 !== writer }) else { return }
    note("d\(lost.number) is wiped")
    lost.wipe()
    executor.run()
    try machines.boot(lost)
    try syncAlone(lost)
    let report = lost.replicators.first?.last?.report.zones.first { $0.zone == zone }
    if report?.beganAt != nil { world.count(.zonesBegun) }
    try write("after", to: "value", of: "snapshot", in: zone, on: writer)
    try agreement.check(zone, after: "a store began with a snapshot")
    try agreement.checkWrites(writes + 1, of: "snapshot", in: zone, after: "a store began with a snapshot")
    if let problem = try lost.store?.verify().problems.first {
      throw SimulationFailure(.recordsAreFold, "d\(lost.number) is not sound: \(problem)")
    }
  }

  /// Damages some of the newest snapshot's objects, or the index.
  private func damage(
    _ zone: ZoneID, _ device: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws {
    guard let remote = DamagedRemote(place), let incarnation = try token(of: zone, device)?.incarnation else {
      return
    }
    let kinds: [RemoteDamage] = [.hole, .zeros, .bytes]
    let (kind, which) = (kinds[choices.next(below: kinds.count)], choices.next(below: 3))
    let newest = try executor.wait { try await remote.snapshots(of: zone, incarnation)?.first }
    guard let newest else { return }
    let names: [ObjectName] = [
      .snapshotPart(0, of: newest), .snapshotManifest(of: newest), .snapshotName(1, of: incarnation),
    ]
    note("\(names[which]) is damaged")
    try executor.wait { try await remote.damage(names[which], kind) }
  }
}
