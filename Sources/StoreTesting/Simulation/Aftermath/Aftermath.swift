import EventStore
import OperationFormat
import Replicator

/// What may happen to a world after the audit. The facts end there: from then on the devices are compared
/// with each other.
struct Aftermath: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Runs the stories that the seed has. Each draws from a separate stream, so that a new one does not change
  /// the others.
  func run() throws {
    var choices = world.plan.choices(.aftermath)
    if configuration.has(.storeCopied) { try CopiedStore(world).run(&world.timing) }
    let (imports, lies) = (choices.happens(perMille: 100), choices.happens(perMille: 150))
    // What was retired can be neither exported nor sent again.
    if devices.allSatisfy({ $0.history == .everything }) {
      if imports, options.faults.contains(.logImported) { try ImportedLog(world).run(&choices) }
      if lies, options.faults.contains(.peerThatLies) { try LyingPeer(world).run(&choices) }
      try run(DamagedEntry(world), .remoteDamaged, .damage, perMille: 150)
      try run(OldRemote(world), .remoteTakenBack, .oldRemote, perMille: 100)
      try run(ImportChain(world), .logImported, .importChain, perMille: 100)
    }
    try run(RestoredStore(world), .storeRestored, .restored, perMille: 100)
    try run(SnapshotsRead(world), .snapshotRead, .snapshots, perMille: 100)
    try run(RetiredHistory(world), .historyRetired, .retired, perMille: 100)
    try run(ZoneThatLeaves(world), .zoneDetached, .detached, perMille: 100)
    try run(DiscardedZone(world), .zonePurged, .purged, perMille: 100)
    try run(DiscardedZone(world, .zoneReset), .zoneReset, .reset, perMille: 100)
    try run(CompactedZone(world), .zoneCompacted, .compacted, perMille: 100)
    try run(RepeatedEntry(world), .entryRepeated, .repeated, perMille: 100)
    // It may close the log that the others use.
    if try run(LostZone(world), .remoteTakenBack, .lostZone, perMille: 100) { return }
    // Nobody can put back what these remove.
    try run(PartedLog(world), .remoteTakenBack, .parted, perMille: 100)
    try run(TrimmedRemote(world), .remoteTrimmed, .trimmed, perMille: 100)
  }

  /// - Returns: whether it has happened.
  @discardableResult
  private func run(
    _ event: some AftermathEvent, _ fault: SimulationFault, _ stream: SimulationPlan.Stream, perMille: Int
  ) throws -> Bool {
    var choices = world.plan.choices(stream)
    guard choices.happens(perMille: perMille), options.faults.contains(fault) else { return false }
    try event.run(&choices)
    return true
  }
}

/// Something that may happen to a world at rest.
protocol AftermathEvent: AftermathPart {
  /// Lets it happen, and checks that all devices end equal.
  func run(_ choices: inout SimulationChoices) throws
}

/// An event of the aftermath, or a helper of one.
protocol AftermathPart: WorldPart {}

extension AftermathPart {
  var agreement: AgreementChecker { AgreementChecker(world) }

  /// Ends the facts, and notes what happens instead.
  func begin(_ fault: SimulationFault) {
    mark(fault)
    world.endModel()
  }

  /// A device that writes, and a zone that it syncs.
  func pickWriter() -> (device: SimulatedDevice, zone: ZoneID)? {
    for device in devices where device.store != nil && device.configuration.role == .writer {
      let open = device.view.zones.first { !$0.facts.isClosed && $0.facts.incarnation != nil }
      if let open { return (device, open.facts.zone) }
    }
    return nil
  }

  /// Writes a field of a record, which is created first if it is not there.
  func write(_ value: String, to field: Name, of name: Name, in zone: ZoneID, on device: SimulatedDevice)
    throws
  {
    guard let store = device.store else { return }
    try act(device) {
      try store.writeBlockingThisThread { transaction in
        let record = RecordID(zone: zone, name: name)
        if try !transaction.contains(record) { try transaction.create(record, type: "aftermath") }
        try transaction.set(field, of: record, to: .string(value))
        try transaction.add(1, to: "writes", of: record)
        try transaction.insertText(value, at: 0, in: "text", of: record)
      }
    }
  }

  /// Creates a zone with a record, and then attaches it.
  func makeZone(_ zone: ZoneID, with record: Name, on device: SimulatedDevice) throws {
    try act(device) { try device.store?.writeBlockingThisThread { _ = try $0.createZone(zone) } }
    try write("made", to: "value", of: record, in: zone, on: device)
    try act(device) { try device.store?.writeBlockingThisThread { try $0.attachZone(zone) } }
  }

  func isAttached(_ zone: ZoneID, _ device: SimulatedDevice) throws -> Bool {
    try device.store?.read { try $0.zones(.attached).contains(zone) } ?? false
  }

  /// Writes to a zone that the device has.
  func writeIfThere(
    on device: SimulatedDevice, _ zone: ZoneID, _ write: (SimulatedDevice) throws -> Void
  ) throws {
    if try device.store?.read({ try $0.zones().contains(zone) }) ?? false { try write(device) }
  }

  /// Attaches the zone on each device that does not have it, or has it paused, writers first.
  func attachAgain(_ zone: ZoneID, _ devices: [SimulatedDevice]) throws {
    let writersFirst =
      devices.filter { $0.configuration.role == .writer }
      + devices.filter { $0.configuration.role != .writer }
    for device in writersFirst {
      try syncAlone(device)
      guard let store = device.store else { continue }
      let isPaused = if case .paused? = status(of: zone, device) { true } else { false }
      let state = try store.syncState().zones.first { $0.zone == zone && $0.attachment != .deleting }
      guard let state, isPaused || state.attachment != .attached else { continue }
      try act(device) {
        try store.writeBlockingThisThread { transaction in
          if state.attachment == .attached { try transaction.detachZone(zone) }
          try transaction.attachZone(zone)
        }
      }
      note("d\(device.number) attaches \(zone) again")
      try syncAlone(device)
    }
  }

  func name(_ floor: UInt64, of zone: ZoneID, on device: SimulatedDevice) throws {
    note("d\(device.number) names the floor \(floor) of \(zone)")
    try act(device) { try device.store?.writeBlockingThisThread { try $0.nameFloor(floor, of: zone) } }
  }

  /// Lets a store retire a zone's history, if it is settled.
  func retireHistory(of zone: ZoneID, on device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    do {
      try act(device) { try executor.wait { try await store.retireHistory(of: zone) } }
      world.count(.historiesRetired)
    } catch let error as StoreError where error.code == .unsettled || error.code == .newerFormat {
      return
    }
  }

  /// Lets the log of a zone begin with a snapshot of a device's store.
  ///
  /// - Returns: whether it does: a store that is not settled makes none, and a remote of the app's own is not trimmed.
  @discardableResult
  func letBegin(_ zone: ZoneID, withSnapshotOf device: SimulatedDevice) throws -> Bool {
    guard let remote = DamagedRemote(place), let store = device.store,
      let incarnation = try token(of: zone, device)?.incarnation,
      let manifest = try agreement.snapshot(of: zone, store)
    else { return false }
    let snapshot = RemoteSnapshot(of: zone, incarnation, at: manifest.offset, by: store.identity.replica)
    let offset = try executor.wait {
      let log = remote.log
      for index in manifest.parts.indices {
        try await log.putSnapshotPart(store.snapshotPart(index, of: manifest), at: index, of: snapshot)
      }
      try await log.finishSnapshot(manifest, of: snapshot)
      return try await log.trim(to: snapshot, manifest)
    }
    guard let offset, offset > 1 else { return false }
    world.count(.logsTrimmed)
    note("d\(device.number) lets the log of \(zone) begin at offset \(offset)")
    return true
  }

  /// What the last round of a device says of a zone; nil if it says nothing.
  func status(of zone: ZoneID, _ device: SimulatedDevice) -> ZoneStatus? {
    device.replicators[0].last?.report.zones.first { $0.zone == zone }?.status
  }

  func token(of zone: ZoneID, _ device: SimulatedDevice) throws -> ChangeToken? {
    try device.store?.syncState().zones.first { $0.zone == zone && $0.attachment == .attached }?.token
  }

  /// Closes a device's store, and opens it again.
  func restart(_ device: SimulatedDevice) throws {
    let machines = SimulatedMachines(world)
    machines.end(device)
    try machines.boot(device)
  }

  /// Lets one device sync while the others do nothing.
  func syncAlone(_ device: SimulatedDevice, _ steps: SyncSteps = .all) throws {
    try agreement.syncAlone(device, steps)
  }
}
