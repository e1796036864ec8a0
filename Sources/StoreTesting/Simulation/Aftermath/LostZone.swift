import EventStore
import OperationFormat
import Replicator

/// An old copy of the remote, from before a zone was created, takes its place for good. The zone is put back
/// from the store that created it, or that store deletes it.
struct LostZone: AftermathEvent {
  private static let lost = ZoneID(name: "lost")

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard configuration.place != .server, let objects = place.kept, let (device, zone) = pickWriter(),
      device.selects(Self.lost)
    else { return }
    begin(.remoteTakenBack)
    let (isPutBack, isDeletedBefore, isMadeAgain) = (
      choices.next(below: 2) == 1, choices.next(below: 2) == 1, choices.next(below: 2) == 1
    )
    try syncAlone(device)
    let kept = objects.count
    try makeZone(Self.lost, with: "made", on: device)
    try syncAlone(device)
    guard let incarnation = try token(of: Self.lost, device)?.incarnation else { return }
    if isDeletedBefore, !isPutBack { try delete(Self.lost, on: device) }
    SimulatedMachines(world).end(device)
    let lost = try executor.wait { try await objects.takeBack(to: kept) }
    note("the remote is put back to \(kept) objects")
    try SimulatedMachines(world).boot(device)
    guard let store = device.store else { return }
    if isPutBack {
      try putLostZoneBack(store)
    } else {
      if !isDeletedBefore { try delete(Self.lost, on: device) }
      try letDeletionEnd(device, store)
      if isMadeAgain {
        try makeZone(Self.lost, with: "made", on: device)
        try agreement.check(Self.lost, after: "a zone that was lost, deleted and made again")
      } else {
        try executor.wait { for (name, bytes) in lost { _ = try await objects.putIfAbsent(name, bytes) } }
        note("what the remote had lost is there again")
        try checkIsDeleted(incarnation, device)
      }
    }
    try agreement.check(zone, after: "a zone that was lost")
    if choices.next(below: 2) == 1 { try closeALogThatIsReadAgain(zone, device, &choices) }
  }

  private func delete(_ zone: ZoneID, on device: SimulatedDevice) throws {
    try act(device) { try device.store?.writeBlockingThisThread { try $0.deleteZone(zone) } }
  }

  /// The zone comes back with its log: stores that had read the log need not read it again.
  private func putLostZoneBack(_ store: LocalStore) throws {
    guard let remote = DamagedRemote(place) else { return }
    try executor.wait {
      var repair = RemoteRepair(remote, from: store)
      try await repair.addLostEvents()
      try await repair.repairLogs(try await remote.audit())
    }
    try agreement.check(Self.lost, after: "a zone that was lost and put back")
    try agreement.checkWrites(1, of: "made", in: Self.lost, after: "a zone that was lost and put back")
  }

  /// The deletion must end although the remote does not have the log.
  private func letDeletionEnd(_ device: SimulatedDevice, _ store: LocalStore) throws {
    for state in try store.syncState().zones where state.attachment == .attached {
      guard let token = state.token else { continue }
      try act(device) {
        _ = try executor.wait { try await store.beginRereading(state.zone, from: token.offset + 1) }
      }
    }
    for _ in 0..<2 { try syncAlone(device) }
    guard try store.syncState().zones.contains(where: { $0.attachment == .deleting }) else { return }
    throw SimulationFailure(
      .roundsMakeProgress,
      "d\(device.number) deletes \(Self.lost), which its remote does not have, without an end")
  }

  private func checkIsDeleted(_ incarnation: IncarnationID, _ device: SimulatedDevice) throws {
    for _ in 0..<2 { try syncAlone(device) }
    guard let remote = DamagedRemote(place) else { return }
    let events = try executor.wait { try await remote.events() }
    if events.contains(where: { $0.kind == .deleted && $0.incarnation == incarnation }) { return }
    throw SimulationFailure(
      .nothingVanishes,
      "\(Self.lost) was deleted on d\(device.number), and the remote that has it again keeps it")
  }

  /// A device reads a log again, and another device deletes the zone meanwhile, which closes the log. The
  /// reading ends at the log's end, or where an entry was lost since. What was never shipped is kept.
  private func closeALogThatIsReadAgain(
    _ zone: ZoneID, _ device: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws {
    let others = agreement.devices(with: zone).filter { $0 !== device && $0.configuration.role == .writer }
    guard let store = device.store, let other = others.first, let token = try token(of: zone, device),
      token.offset > 0, let remote = DamagedRemote(place)
    else { return }
    let (isLost, isHole) = (choices.next(below: 2) == 1, choices.next(below: 2) == 1)
    let lost = ObjectName.entry(of: token.incarnation, UInt64(1 + choices.next(below: Int(token.offset))))
    do {
      try act(device) { _ = try executor.wait { try await store.beginRereading(zone, from: 1) } }
    } catch let error as StoreError where error.code == .retired {
      return
    }
    try write("kept", to: "value", of: "kept", in: zone, on: device)
    try delete(zone, on: other)
    try syncAlone(other)
    if isLost {
      note("\(lost) is \(isHole ? "missing" : "damaged")")
      try executor.wait {
        try await remote.damage(lost, isHole ? .hole : .zeros)
      }
    }
    for _ in 0..<2 { try syncAlone(device) }
    let isKept = try store.read { try $0.contains(RecordID(zone: zone, name: "kept")) }
    guard try isKept && !store.isRereading(zone) else {
      throw SimulationFailure(
        isKept ? .roundsMakeProgress : .nothingVanishes,
        "d\(device.number), which reads the closed log of \(zone) again, "
          + (isKept ? "does so without an end" : "let go of what was never shipped"))
    }
  }
}
