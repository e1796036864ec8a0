import EventStore
import OperationFormat
import Replicator

/// An old copy of the remote takes its place for good. A new device writes there, and the log is compacted and trimmed, before
/// all come back that had sent and read more. By the snapshot alone they find where the logs part; they begin with it, and
/// offer again what is lost. All end equal.
struct PartedLog: AftermathEvent {
  private static let record: Name = "parted"

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    // A server of its own would have to be started again.
    guard configuration.place != .server, let objects = place.kept, let (first, zone) = pickWriter() else {
      return
    }
    let devices = agreement.devices(with: zone)
    let writers = devices.filter { $0.configuration.role == .writer }
    // What a store has retired it cannot offer again.
    if try devices.contains(where: { try $0.history != .everything || $0.store?.origin(of: zone) != nil }) {
      return
    }
    begin(.remoteTakenBack)
    let writes = CountedWrites(self, Self.record, zone)
    try writes.write(first)
    try agreement.check(zone, after: "a write")
    let kept = objects.count
    // These writes are lost. Some devices have read them, and some have not.
    for _ in 0...choices.next(below: 6) {
      let device = choices.pick(writers)
      if choices.next(below: 3) > 0 { try syncAlone(device) }
      try writes.write(device)
      try syncAlone(device, .ship)
    }
    for device in devices where choices.next(below: 2) == 0 { try syncAlone(device) }
    if choices.next(below: 2) == 0 { try writes.write(choices.pick(writers)) }
    for device in devices { device.end() }
    executor.run()
    _ = try executor.wait { try await objects.takeBack(to: kept) }
    note("the remote is put back to \(kept) objects")
    let new = world.newDevice(like: first)
    let machines = SimulatedMachines(world)
    try machines.boot(new)
    try syncAlone(new)
    for _ in 0...choices.next(below: 8) {
      try writes.write(new)
      try syncAlone(new)
    }
    if choices.next(below: 3) == 0 {
      // What it offers again has a place before the log is trimmed.
      let early = choices.pick(devices)
      try machines.boot(early)
      for device in [early, new] { try syncAlone(device) }
    }
    if choices.next(below: 2) == 0, let end = try token(of: zone, new)?.offset {
      try name(end, of: zone, on: new)
      for _ in 0..<2 { try syncAlone(new) }
    }
    for _ in 0..<choices.next(below: 3) {
      try writes.write(new)
      try syncAlone(new)
    }
    try letBegin(zone, withSnapshotOf: new)
    let start = choices.next(below: devices.count)
    for device in devices[start...] + devices[..<start] {
      if device.store == nil { try machines.boot(device) }
      if device.configuration.role == .writer, choices.next(below: 3) == 0 { try writes.write(device) }
      try syncAlone(device)
      let report = device.replicators[0].last?.report.zones.first { $0.zone == zone }
      if report?.partedAt != nil { world.count(.remotesParted) }
    }
    try agreement.check(zone, after: "a log parted that was trimmed")
    try writes.check(after: "a log parted that was trimmed")
    try agreement.checkStores(of: zone)
  }
}
