import EventStore
import OperationFormat
import Replicator

/// An old copy of the remote takes its place for good, and a new device may write there. What is lost, devices that have it
/// put back, or send again where the logs part; or every store reads the zone's log again because its user asks for it. All
/// end equal.
struct OldRemote: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    // A server of its own would have to be started again.
    guard configuration.place != .server, let objects = place.kept, let (first, zone) = pickWriter() else {
      return
    }
    begin(.remoteTakenBack)
    let writes = CountedWrites(self, "taken back", zone)
    let devices = agreement.devices(with: zone)
    let writers = devices.filter { $0.configuration.role == .writer }
    for device in choices.next(below: 2) == 0 ? [first] : devices {
      try writes.write(first)
      try syncAlone(device)
    }
    guard let end = try token(of: zone, first)?.offset else { return }
    let kept = objects.count
    // These writes are lost. Some devices have read them, and some have not.
    for _ in 0...choices.next(below: 4) {
      let device = choices.pick(writers)
      try writes.write(device)
      try syncAlone(device)
    }
    let unsent = choices.next(below: 2) == 1 ? choices.pick(writers) : nil
    if let unsent { try writes.write(unsent) }
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
      try writes.write(new)
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
    let isLeftAlone = !isPutBack && choices.next(below: 3) > 0
    if isLeftAlone { world.count(.remotesParted) }
    // Others have read all that such a device had sent. It may never come back.
    let last = read.max()
    let isKnown = { index in devices.indices.contains { $0 != index && read[$0] == last } }
    let mayGo = devices.indices.filter { isKnown($0) && devices[$0] !== unsent && devices[$0] !== first }
    let gone = mayGo.first { _ in choices.next(below: 3) == 0 }
    for (index, device) in devices.enumerated() where device.store == nil {
      if isLeftAlone, index == gone { continue }
      try SimulatedMachines(world).boot(device)
    }
    if choices.next(below: 2) == 1, let writer = writers.first(where: { $0.store != nil }) {
      try writes.write(writer)
    }
    for device in devices where !isPutBack && !isLeftAlone {
      guard let store = device.store else { continue }
      let offset = choices.pick([1, end + 1])
      try act(device) { _ = try executor.wait { try await store.beginRereading(zone, from: offset) } }
      // A write while the log is being read is kept as well.
      if choices.next(below: 4) == 3, device.configuration.role == .writer { try writes.write(device) }
      try syncAlone(device)
    }
    try agreement.check(zone, after: "a remote that was put back")
    try writes.check(after: "a remote that was put back")
  }
}
