import EventStore
import OperationFormat
import Replicator

/// Checks that devices end equal after the facts have ended: invariants 2, 3, 5, 10 and 23.
struct AgreementChecker: WorldPart {
  /// The most passes over all devices. A device that is new may have many assets to download.
  private static let passesMax = 100

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// The devices that sync the present incarnation of a zone. A device that keeps an earlier one, for
  /// transactions that were never shipped, is not among them.
  func devices(with zone: ZoneID) -> [SimulatedDevice] {
    devices.filter { device in
      device.store != nil && device.selects(zone)
        && !device.view.zones.contains { $0.facts.zone == zone && $0.facts.isClosed }
    }
  }

  /// Lets one device sync while the others do nothing.
  func syncAlone(_ device: SimulatedDevice, _ steps: SyncSteps = .all) throws {
    try act(device) { try SimulatedRounds(world).deliver(.syncRequested(steps), device, 0) }
    try SimulatedSettling(world).drain()
  }

  /// Lets all devices sync, and checks that they end equal in a zone, have nothing pending there, and say so.
  ///
  /// - Parameter event: what happened before, for the failure.
  func check(_ zone: ZoneID, after event: String) throws {
    let devices = devices(with: zone)
    var passes = 0
    repeat {
      for device in devices { try syncAlone(device) }
      passes += 1
    } while passes < 4 || passes < Self.passesMax && SimulatedAssets(world).areMoving
    var first: (device: SimulatedDevice, digest: ContentHash)?
    for device in devices {
      guard let store = device.store else { continue }
      let state = try store.syncState().zones.first { $0.zone == zone && $0.attachment == .attached }
      guard let state else { continue }
      let status = device.replicators[0].last?.report.zones.first { $0.zone == zone }?.status
      guard status == .inSync, state.pending == 0 else {
        throw SimulationFailure(
          .acknowledgedIsEverywhere,
          "after \(event), d\(device.number) has \(state.pending) pending in \(zone) and says "
            + (status.map(RoundText.text) ?? "nothing"))
      }
      let digest = try store.read { try $0.digest(of: zone) }
      guard first.map({ $0.digest == digest }) ?? true else {
        throw SimulationFailure(
          .equalSetsAreEqual,
          "after \(event), d\(first!.device.number) and d\(device.number) say that \(zone) is in sync, and "
            + "differ"
        )
      }
      first = first ?? (device, digest)
      _ = try executor.wait { try await store.rebuild() }
      guard try store.read({ try $0.digest(of: zone) }) == digest else {
        throw SimulationFailure(
          .recordsAreFold, "after \(event), a rebuild of d\(device.number) changes what \(zone) shows")
      }
    }
  }

  /// Checks at every device how many writes of a record count. A write that counts twice, or not at all,
  /// shows in a counter.
  func checkWrites(_ count: Int, of name: Name, in zone: ZoneID, after event: String) throws {
    let record = RecordID(zone: zone, name: name)
    for device in devices(with: zone) {
      let found = try device.store?.read { try $0.counter("writes", of: record)?.value }
      guard found != .int(Int64(count)) else { continue }
      throw SimulationFailure(
        .countedOnce,
        "after \(event), d\(device.number) counts \(found.map { "\($0)" } ?? "no") of \(count) writes of "
          + "\(record)"
      )
    }
  }

  /// Checks that the snapshots of all stores that are settled are the same.
  func checkSnapshots(of zone: ZoneID) throws {
    var first: (device: SimulatedDevice, manifest: SnapshotManifest)?
    for device in devices(with: zone) {
      guard let store = device.store, let manifest = try snapshot(of: zone, store) else { continue }
      let digest = try store.read { try $0.digest(of: zone) }
      guard manifest.digest == digest else {
        throw SimulationFailure(
          .snapshotsAreEqual, "a snapshot of \(zone) by d\(device.number) has another digest than its records"
        )
      }
      // Throws if it is not what a remote's audit takes.
      try executor.wait {
        try await SnapshotCheck.run(manifest) { index in
          let stored = try store.snapshotPart(index, of: manifest)
          return try manifest.parts[index].unpack(stored.span.bytes)
        }
      }
      if let (other, known) = first, known.offset == manifest.offset, known != manifest {
        throw SimulationFailure(
          .snapshotsAreEqual,
          "d\(other.number) and d\(device.number) write other snapshots of \(zone) at offset \(known.offset)")
      }
      if first != nil { world.count(.snapshotsEqual) }
      first = first ?? (device, manifest)
    }
  }

  /// Checks that all stores are sound, and make the same snapshot.
  func checkStores(of zone: ZoneID) throws {
    try checkSnapshots(of: zone)
    for device in devices(with: zone) where device.store != nil { try FoldChecker(world).check(device) }
  }

  /// A store that knows more of the zone than the log, or less, makes none.
  func snapshot(of zone: ZoneID, _ store: LocalStore) throws -> SnapshotManifest? {
    do {
      return try store.makeSnapshot(of: zone)
    } catch let error as StoreError where error.code == .unsettled || error.code == .newerFormat {
      return nil
    }
  }
}
