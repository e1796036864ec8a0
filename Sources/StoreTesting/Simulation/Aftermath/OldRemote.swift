import EventStore
import OperationFormat
import Replicator

/// An old copy of the remote takes its place for good. If nothing was written there since, what is lost is put back by a
/// device that has it. Else every store reads the zone's log again and sends what it has of what is lost. All end equal.
struct OldRemote: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    // A server of its own would have to be started again.
    guard configuration.place != .server, let objects = place.kept, let (first, zone) = pickWriter() else {
      return
    }
    begin(.remoteTakenBack)
    var count = 0
    func write(_ device: SimulatedDevice) throws {
      try self.write("\(count),", to: "value", of: "taken back", in: zone, on: device)
      count += 1
    }
    let devices = agreement.devices(with: zone)
    let writers = devices.filter { $0.configuration.role == .writer }
    for device in choices.next(below: 2) == 0 ? [first] : devices {
      try write(first)
      try syncAlone(device)
    }
    guard let end = try token(of: zone, first)?.offset else { return }
    let kept = objects.count
    // These writes are lost. Some devices have read them, and some have not.
    for _ in 0...choices.next(below: 4) {
      let device = choices.pick(writers)
      try write(device)
      try syncAlone(device)
    }
    if choices.next(below: 2) == 1 { try write(choices.pick(writers)) }
    let read = try devices.map { try token(of: zone, $0)?.offset ?? 0 }
    for device in devices { device.end() }
    executor.run()
    _ = try executor.wait { try await objects.takeBack(to: kept) }
    note("the remote is put back to \(kept) objects")
    // A new device takes offsets that the others know.
    let new = world.newDevice(like: first)
    try SimulatedMachines(world).boot(new)
    try syncAlone(new)
    let newWrites = choices.next(below: 3)
    for _ in 0..<newWrites {
      try write(new)
      try syncAlone(new)
    }
    let isPutBack = newWrites == 0 && choices.next(below: 2) == 1
    if isPutBack {
      world.count(.remotesPutBack)
      // Who has read less does not know what is lost: it would write there.
      for (device, offset) in zip(devices, read) where offset == read.max() {
        try SimulatedMachines(world).boot(device)
        try syncAlone(device)
      }
    }
    for device in devices where device.store == nil { try SimulatedMachines(world).boot(device) }
    if choices.next(below: 2) == 1 { try write(choices.pick(writers)) }
    for device in devices where !isPutBack {
      guard let store = device.store else { continue }
      let offset = choices.pick([1, end + 1])
      try act(device) { _ = try executor.wait { try await store.beginRereading(zone, from: offset) } }
      // A write while the log is being read is kept as well.
      if choices.next(below: 4) == 3, device.configuration.role == .writer { try write(device) }
      try syncAlone(device)
    }
    try agreement.check(zone, after: "a remote that was put back")
    try agreement.checkWrites(count, of: "taken back", in: zone, after: "a remote that was put back")
  }
}
