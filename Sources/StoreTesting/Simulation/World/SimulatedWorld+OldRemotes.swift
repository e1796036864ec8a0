import EventStore
import OperationFormat
import Replicator

/// A remote that is put back to an old copy for good. Every store reads the zone's log again, sends what it has of what is lost,
/// and all end equal.
extension SimulatedWorld {
  func takeTheRemoteBack(_ choices: inout SimulationChoices) throws {
    // A server of its own would have to be started again.
    guard configuration.place != .server, let objects = place.kept, let (first, zone) = pickWriter() else {
      return
    }
    mark(.remoteTakenBack)
    isCopied = true
    var count = 0
    func write(_ device: SimulatedDevice) throws {
      try self.write("\(count),", to: "value", of: "taken back", in: zone, on: device)
      count += 1
    }
    let devices = devicesWithPart(in: zone)
    let writers = devices.filter { $0.configuration.role == .writer }
    for device in choices.next(below: 2) == 0 ? [first] : devices {
      try write(first)
      try syncAlone(device)
    }
    guard let end = try token(of: zone, first)?.offset else { return }
    let kept = objects.count
    // All of them are lost. Some devices have read them, and some have not.
    for _ in 0...choices.next(below: 4) {
      let device = choices.pick(writers)
      try write(device)
      try syncAlone(device)
    }
    if choices.next(below: 2) == 1 { try write(choices.pick(writers)) }
    for device in devices { device.end() }
    executor.run()
    _ = try executor.wait { try await objects.takeBack(to: kept) }
    note("the remote is put back to \(kept) objects")
    // One that is new takes offsets that the others know.
    let new = newDevice(like: first)
    try boot(new)
    try syncAlone(new)
    for _ in 0..<choices.next(below: 3) {
      try write(new)
      try syncAlone(new)
    }
    for device in devices { try boot(device) }
    if choices.next(below: 2) == 1 { try write(choices.pick(writers)) }
    for device in devices {
      guard let store = device.store else { continue }
      let offset = choices.pick([1, end + 1])
      try act(device) { _ = try executor.wait { try await store.beginRereading(zone, from: offset) } }
      // What is written while the log is being read is kept as well.
      if choices.next(below: 4) == 3, device.configuration.role == .writer { try write(device) }
      try syncAlone(device)
    }
    try checkAgreement(in: zone, "a remote that was put back")
    for device in devicesWithPart(in: zone) {
      try checkWrites(count, of: "taken back", in: zone, on: device, "a remote that was put back")
    }
  }
}
