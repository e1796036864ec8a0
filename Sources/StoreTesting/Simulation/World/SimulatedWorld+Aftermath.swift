import EventStore
import OperationFormat
import Replicator

/// What may happen once a world has come to rest and was audited. The model of the world ends there: from then on the
/// devices are compared with each other.
extension SimulatedWorld {
  /// Runs what the seed has of it. It is drawn from streams of its own.
  func liveOn() throws {
    var choices = plan.choices(.aftermath)
    if configuration.has(.storeCopied) { try copyAStore(&timing) }
    let (imports, lies) = (choices.happens(perMille: 100), choices.happens(perMille: 150))
    if imports, options.faults.contains(.logImported) { try importALog(&choices) }
    if lies, options.faults.contains(.peerThatLies) { try sufferALiar(&choices) }
    var damage = plan.choices(.damage)
    let isDamaged = damage.happens(perMille: 150)
    if isDamaged, options.faults.contains(.remoteDamaged) { try damageTheRemote(&damage) }
    var oldRemote = plan.choices(.oldRemote)
    let goesBack = oldRemote.happens(perMille: 100)
    if goesBack, options.faults.contains(.remoteTakenBack) { try takeTheRemoteBack(&oldRemote) }
    var chain = plan.choices(.importChain)
    let isChained = chain.happens(perMille: 100)
    if isChained, options.faults.contains(.logImported) { try importInAChain(&chain) }
    var lostZone = plan.choices(.lostZone)
    let isLost = lostZone.happens(perMille: 100)
    if isLost, options.faults.contains(.remoteTakenBack) { try loseAZone(&lostZone) }
  }

  /// A device that writes, and a zone that it syncs.
  func pickWriter() -> (device: SimulatedDevice, zone: ZoneID)? {
    for device in devices where device.store != nil && device.configuration.role == .writer {
      let open = device.view.zones.first { !$0.facts.isClosed && $0.facts.incarnation != nil }
      if let open { return (device, open.facts.zone) }
    }
    return nil
  }

  /// Writes a field of a record, which is made first where it is not there.
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

  /// The devices that sync a zone as it is now. One that keeps an earlier life of it for what was never shipped has no part
  /// in this one.
  func devicesWithPart(in zone: ZoneID) -> [SimulatedDevice] {
    devices.filter { device in
      device.store != nil && device.selects(zone)
        && !device.view.zones.contains { $0.facts.zone == zone && $0.facts.isClosed }
    }
  }

  func syncAlone(_ device: SimulatedDevice, _ steps: SyncSteps = .all) throws {
    try act(device) { try deliver(.syncRequested(steps), device, 0) }
    try drain()
  }

  /// A device that is new may have many assets to bring.
  private static let passesMax = 100

  /// Lets all devices sync, and checks that they end equal in a zone, with nothing pending, and say so.
  func checkAgreement(in zone: ZoneID, _ what: String) throws {
    let devices = devicesWithPart(in: zone)
    var passes = 0
    repeat {
      for device in devices { try syncAlone(device) }
      passes += 1
    } while passes < 4 || passes < Self.passesMax && movesAssets()
    var first: (device: SimulatedDevice, digest: ContentHash)?
    for device in devices {
      guard let store = device.store else { continue }
      let state = try store.syncState().zones.first { $0.zone == zone && $0.attachment == .attached }
      guard let state else { continue }
      let status = device.replicators[0].last?.report.zones.first { $0.zone == zone }?.status
      guard status == .inSync, state.pending == 0 else {
        throw SimulationFailure(
          .acknowledgedIsEverywhere,
          "after \(what), d\(device.number) has \(state.pending) pending in \(zone) and says "
            + (status.map(Self.describe) ?? "nothing"))
      }
      let digest = try store.read { try $0.digest(of: zone) }
      guard first.map({ $0.digest == digest }) ?? true else {
        throw SimulationFailure(
          .equalSetsAreEqual,
          "after \(what), d\(first!.device.number) and d\(device.number) say that \(zone) is in sync, and differ"
        )
      }
      first = first ?? (device, digest)
      _ = try executor.wait { try await store.rebuild() }
      guard try store.read({ try $0.digest(of: zone) }) == digest else {
        throw SimulationFailure(
          .recordsAreFold, "after \(what), a rebuild of d\(device.number) changes what \(zone) shows")
      }
    }
  }
}
