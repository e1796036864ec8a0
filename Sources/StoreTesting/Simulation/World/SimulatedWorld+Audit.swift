import EventStore
import OperationFormat
import Replicator

extension SimulatedWorld {
  /// Rounds over all devices until nothing moves. More than these, and something never comes to rest.
  static let roundsMax = 20
  /// The same where assets move a few at a time.
  static let roundsMaxWithAssets = 100

  /// Syncs every device in turn until a whole pass changes nothing. What it restores it restores once.
  func settle() throws {
    try attachAll()
    let roundsMax = hasAssets ? Self.roundsMaxWithAssets : Self.roundsMax
    for round in 1...roundsMax {
      coverage.add(.settlingRounds)
      note("settling round \(round)")
      for device in devices { try keepPolicies(of: device) }
      let before = try (states: states(), missing: missingCounts())
      for device in devices {
        // A retry may be far away: the app asks.
        try drain()
        // A second replicator has what the first has: one round shows that it comes to rest too.
        for index in device.replicators.indices where index == 0 || round == 1 {
          try act(device) { try deliver(.syncRequested(.all), device, index) }
          try drain()
        }
      }
      // Most conflicts come to light once everything meets: what some restore, others have not seen.
      if round == 1, !isAtRest { for device in devices { try restoreLoser(on: device, &timing) } }
      if try states() == before.states, try missingCounts() == before.missing, !movesAssets() {
        isAtRest = true
        return
      }
    }
    throw SimulationFailure(
      .roundsMakeProgress, "after \(roundsMax) rounds over all devices something still moves")
  }

  /// What is a device's own alone is synced too from now on.
  private func attachAll() throws {
    for device in devices {
      guard let store = device.store else { continue }
      for zone in device.view.zones.map(\.facts.zone) {
        try act(device) { try store.writeBlockingThisThread { try $0.attachZone(zone) } }
      }
    }
  }

  /// Lets everything go on that a round waits for.
  func drain() throws {
    while devices.contains(where: { $0.replicators.contains { $0.round != nil } }) {
      try advance()
    }
  }

  private func states() throws -> [StoreSyncState] {
    try devices.compactMap { try $0.store?.syncState() }
  }

  /// Checks the world once it has come to rest.
  func audit() throws {
    note("audit")
    for device in devices {
      guard let store = device.store else {
        throw SimulationFailure(.noSurprise, "d\(device.number) does not run")
      }
      try endRead(device)
      for zone in device.view.zones { try audit(zone, device, store) }
      for life in facts.lives
      where !life.isClosed && device.selects(life.zone) && device.view.zone(life.zone) == nil {
        throw SimulationFailure(.nothingVanishes, "d\(device.number) does not have zone \(life.zone)")
      }
      try verify(device)
      try checkGrowth(device, store)
    }
  }

  private func audit(_ zone: DeviceZone, _ device: SimulatedDevice, _ store: LocalStore) throws {
    let life = zone.facts
    let name = "zone \(life.zone) of d\(device.number)"
    if life.isClosed {
      // It is kept for what was never shipped, and for that alone.
      guard zone.unacknowledged.contains(where: { life.model.place(of: $0) == nil }) else {
        throw SimulationFailure(.nothingIsSilent, "\(name) was deleted at the remote and is still there")
      }
      return
    }
    guard life.incarnation != nil else {
      throw SimulationFailure(.roundsMakeProgress, "\(name) never came to the remote")
    }
    guard zone.offset == life.segments.count else {
      throw SimulationFailure(
        .acknowledgedIsEverywhere, "\(name) is folded up to \(zone.offset) of \(life.segments.count)")
    }
    guard zone.unacknowledged.isEmpty else {
      throw SimulationFailure(
        .acknowledgedIsEverywhere, "\(zone.unacknowledged.count) transactions of \(name) were never shipped")
    }
    guard !zone.isBehind else {
      throw SimulationFailure(.roundsMakeProgress, "\(name) is still to be folded again")
    }
    // Nobody has lied yet: what honest stores ship keeps the rules of the log.
    if let rejected = try store.read({ try $0.rejectedSegments(in: life.zone, limit: 1) }).first {
      throw SimulationFailure(
        .acknowledgedIsEverywhere,
        "\(name) has rejected the segment at \(rejected.offset): \(rejected.reason)")
    }
    try store.read { transaction in
      do {
        try life.model.compareAll(transaction, zone.view)
      } catch {
        throw SimulationFailure(.stateIsOracles, "\(name): \(error)")
      }
    }
  }

  /// The data file is as large as what it holds asks for, within a factor.
  private func checkGrowth(_ device: SimulatedDevice, _ store: LocalStore) throws {
    if device.hasHeldRead { return }
    let fileBytes = try store.information().fileBytes
    let bytes = device.view.loggedBytes
    guard fileBytes > Self.fileBytesMin + Self.fileBytesFactor * bytes else { return }
    throw SimulationFailure(
      .growthIsBounded,
      "d\(device.number)'s file has \(fileBytes) bytes for \(bytes) bytes of transactions that it ever had")
  }

  /// A file of few transactions: some pages a table, and as many again that wait to be used.
  private static let fileBytesMin = 1 << 20
  private static let fileBytesFactor = 8
}
