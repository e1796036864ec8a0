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

  /// A zone is made, and the remote is put back for good to a copy from before that. The device deletes the zone, before or after:
  /// that ends, and another zone can have the name. If what was lost comes back instead, the zone is deleted there.
  func deleteALostZone(_ choices: inout SimulationChoices) throws {
    guard configuration.place != .server, let objects = place.kept, let (device, other) = pickWriter() else {
      return
    }
    let zone = ZoneID(name: "lost and deleted")
    guard device.selects(zone) else { return }
    mark(.remoteTakenBack)
    isCopied = true
    let (isDeletedBefore, isMadeAgain) = (choices.next(below: 2) == 1, choices.next(below: 2) == 1)
    func make() throws {
      try act(device) { try device.store?.writeBlockingThisThread { _ = try $0.createZone(zone) } }
      try write("made", to: "value", of: "made", in: zone, on: device)
      try act(device) { try device.store?.writeBlockingThisThread { try $0.attachZone(zone) } }
    }
    func delete() throws {
      try act(device) { try device.store?.writeBlockingThisThread { try $0.deleteZone(zone) } }
    }
    try syncAlone(device)
    let kept = objects.count
    try make()
    try syncAlone(device)
    guard let incarnation = try token(of: zone, device)?.incarnation else { return }
    if isDeletedBefore { try delete() }
    device.end()
    executor.run()
    let lost = try executor.wait { try await objects.takeBack(to: kept) }
    note("the remote is put back to \(kept) objects")
    try boot(device)
    guard let store = device.store else { return }
    if !isDeletedBefore { try delete() }
    for state in try store.syncState().zones where state.attachment == .attached {
      guard let token = state.token else { continue }
      try act(device) {
        _ = try executor.wait { try await store.beginRereading(state.zone, from: token.offset + 1) }
      }
    }
    for _ in 0..<2 { try syncAlone(device) }
    guard try !store.syncState().zones.contains(where: { $0.attachment == .deleting }) else {
      throw SimulationFailure(
        .roundsMakeProgress,
        "d\(device.number) deletes \(zone), which its remote does not have, without an end")
    }
    if isMadeAgain {
      try make()
      try checkAgreement(in: zone, "a zone that was lost, deleted and made again")
    } else {
      try executor.wait { for (name, bytes) in lost { _ = try await objects.putIfAbsent(name, bytes) } }
      note("what the remote had lost is there again")
      for _ in 0..<2 { try syncAlone(device) }
      let log = place.observer
      let events = try executor.wait { try await log.zoneEvents(after: nil).events }
      guard events.contains(where: { $0.kind == .deleted && $0.incarnation == incarnation }) else {
        throw SimulationFailure(
          .nothingVanishes,
          "\(zone) was deleted on d\(device.number), and the remote that has it again keeps it")
      }
    }
    try checkAgreement(in: other, "a zone that was lost and deleted")
    if choices.next(below: 2) == 1 { try closeALogThatIsReadAgain(other, device) }
  }

  /// A device reads a log again that another one closes, since it deletes the zone: the reading ends there. What was never
  /// shipped is kept.
  private func closeALogThatIsReadAgain(_ zone: ZoneID, _ device: SimulatedDevice) throws {
    let others = devicesWithPart(in: zone).filter { $0 !== device && $0.configuration.role == .writer }
    guard let store = device.store, let other = others.first?.store else { return }
    try act(device) { _ = try executor.wait { try await store.beginRereading(zone, from: 1) } }
    try write("kept", to: "value", of: "kept", in: zone, on: device)
    try act(others[0]) { try other.writeBlockingThisThread { try $0.deleteZone(zone) } }
    try syncAlone(others[0])
    for _ in 0..<2 { try syncAlone(device) }
    let isKept = try store.read { try $0.contains(RecordID(zone: zone, name: "kept")) }
    guard try isKept && !store.isRereading(zone) else {
      throw SimulationFailure(
        isKept ? .roundsMakeProgress : .nothingVanishes,
        "d\(device.number), which reads the closed log of \(zone) again, \(isKept ? "does so without an end" : "let go of it")"
      )
    }
  }
}
