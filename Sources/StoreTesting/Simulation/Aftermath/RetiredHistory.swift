import EventStore
import OperationFormat
import Replicator

/// Stores that are in sync write snapshots of a zone, which are the same bytes. Some retire their history. One that is
/// behind, and has something to send, begins with the snapshot of another. Nothing that they show changes by that, and all
/// continue to sync.
struct RetiredHistory: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (writer, zone) = pickWriter() else { return }
    begin(.historyRetired)
    try write("before", to: "value", of: "retired", in: zone, on: writer)
    try agreement.check(zone, after: "a write")
    var writes = 1
    for round in 0..<2 {
      try agreement.checkSnapshots(of: zone)
      for device in agreement.devices(with: zone) where choices.next(below: 2) == 0 {
        try retire(zone, on: device, &choices)
        if choices.next(below: 3) == 0 { try restart(device) }
      }
      for device in agreement.devices(with: zone) where device.configuration.role == .writer {
        // Copies that write the same at the same time under one identity have made one transaction.
        try write(
          "round \(round) by \(device.number)", to: "value", of: "retired", in: zone, on: device)
        writes += 1
      }
      // Who has something to send makes none.
      try agreement.checkSnapshots(of: zone)
      if choices.next(below: 2) == 0 { try beginAgain(zone, &choices) }
      try agreement.check(zone, after: "history was retired")
      try agreement.checkWrites(writes, of: "retired", in: zone, after: "history was retired")
    }
    try agreement.checkSnapshots(of: zone)
    try compareOrigins(of: zone)
  }

  /// Stores that have cut a zone's history at one place of its log begin with the same snapshot.
  private func compareOrigins(of zone: ZoneID) throws {
    var known: [UInt64: ContentHash] = [:]
    for device in agreement.devices(with: zone) {
      let origin = try device.store?.information().zones.first { $0.id == zone }?.origin
      guard let origin else { continue }
      guard known.updateValue(origin.content, forKey: origin.offset) ?? origin.content == origin.content
      else {
        throw SimulationFailure(
          .snapshotsAreEqual,
          "d\(device.number) begins \(zone) with another snapshot at offset \(origin.offset)")
      }
    }
  }

  /// Retires all of a zone's history, or what exceeds some bytes.
  private func retire(_ zone: ZoneID, on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard let store = device.store else { return }
    if choices.next(below: 2) == 0 {
      let policy = HistoryPolicy(logBytesMax: UInt64(choices.next(below: 3000)))
      return try unchanged(zone, on: device, by: "cutting history") {
        world.count(.historiesCut, try executor.wait { try await store.retireHistory(keeping: policy).count })
      }
    }
    try unchanged(zone, on: device, by: "retiring history") {
      do {
        try executor.wait { try await store.retireHistory(of: zone) }
        world.count(.historiesRetired)
      } catch let error as StoreError where error.code == .unsettled || error.code == .newerFormat {
        return
      }
    }
  }

  /// Lets a store that is behind begin with a snapshot of one that is not.
  private func beginAgain(_ zone: ZoneID, _ choices: inout SimulationChoices) throws {
    let devices = agreement.devices(with: zone)
    guard devices.count > 1, let ahead = devices.first, let behind = devices.last,
      let source = ahead.store, let store = behind.store
    else { return }
    try syncAlone(ahead)
    guard let manifest = try agreement.snapshot(of: zone, source) else { return }
    do {
      _ = try executor.wait {
        try await store.begin(zone, with: manifest) { try source.snapshotPart($0, of: manifest) }
      }
    } catch let error as StoreError where error.code == .outOfOrder || error.code == .incarnationChanged {
      return
    }
    world.count(.zonesBegunAgain)
    try checkIsSound(zone, behind)
    if choices.next(below: 3) == 0 { try restart(behind) }
  }

  private func unchanged(
    _ zone: ZoneID, on device: SimulatedDevice, by what: String, _ body: () throws -> Void
  ) throws {
    guard let store = device.store else { return }
    let before = try store.read { try $0.digest(of: zone) }
    try body()
    guard try store.read({ try $0.digest(of: zone) }) == before else {
      throw SimulationFailure(.recordsAreFold, "\(what) changes what d\(device.number) shows of \(zone)")
    }
    try checkIsSound(zone, device)
  }

  private func checkIsSound(_ zone: ZoneID, _ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    if let problem = try store.verify().problems.first {
      throw SimulationFailure(.recordsAreFold, "d\(device.number) is not sound: \(problem)")
    }
    let (last, digest) = try store.read { (try $0.lastPosition(), try $0.digest(of: zone)) }
    guard last > .start, try !store.read({ try $0.isFoldingAgain() }) else { return }
    let past = try store.snapshotBlockingThisThread(at: last)
    guard try past.read({ try $0.digest(of: zone) }) == digest else {
      throw SimulationFailure(
        .pastIsFold, "d\(device.number) has other records at its last position than now")
    }
  }
}
