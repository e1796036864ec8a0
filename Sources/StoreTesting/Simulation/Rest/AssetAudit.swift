import EventStore
import OperationFormat
import Replicator

/// Checks the assets of a world at rest: every device has the assets of its eager zones, can download those
/// of its lazy zones, and every file is whole. Invariant 19.
struct AssetAudit: WorldPart {
  /// How often all devices download what they miss. A device may then owe a downloaded asset to another zone.
  private static let passesMax = 4

  unowned let world: SimulatedWorld
  private let assets: SimulatedAssets

  init(_ world: SimulatedWorld) {
    self.world = world
    assets = SimulatedAssets(world)
  }

  func run() throws {
    guard hasAssets else { return }
    note("audit of the assets")
    for device in devices { try checkEagerZones(of: device) }
    for _ in 0..<Self.passesMax {
      guard try devices.contains(where: { try !assets.missing(at: $0).isEmpty }) else { break }
      for device in devices { try downloadAll(device) }
      try SimulatedSettling(world).settle()
    }
    for device in devices { try checkAllAreWhole(device) }
  }

  /// A device has every asset of its eager zones, except those that the zone's remote does not have. A device
  /// owes those to the remote and could not give them.
  private func checkEagerZones(of device: SimulatedDevice) throws {
    for asset in try assets.missing(at: device) {
      for zone in asset.zones where assets.isEager(device, zone) {
        guard let incarnation = openLife(of: zone, device) else { continue }
        let name = "asset \(asset.reference.hash) of the eager zone \(zone)"
        let remote = RemoteAsset(asset.reference, of: zone, incarnation)
        if try isAtRemote(remote) {
          throw SimulationFailure(
            .assetsAreThere, "d\(device.number) does not have \(name), and the remote has it")
        }
        if try !isOwed(zone) {
          throw SimulationFailure(
            .assetsAreThere, "neither d\(device.number) nor the remote has \(name), and nobody owes it")
        }
      }
    }
  }

  /// Downloads what is missing, zone by zone.
  private func downloadAll(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    let replicator = LogReplicator(store: store, remote: place.server)
    for asset in try assets.missing(at: device) {
      for zone in asset.zones {
        guard let incarnation = openLife(of: zone, device),
          try isAtRemote(RemoteAsset(asset.reference, of: zone, incarnation))
        else { continue }
        note("d\(device.number) asks for asset \(asset.reference.hash) of \(zone)")
        try act(device) {
          do {
            try executor.wait { try await replicator.downloadAsset(asset.reference, in: zone) }
          } catch {
            throw SimulationFailure(
              .assetsAreThere,
              "the remote has asset \(asset.reference.hash) of \(zone), and d\(device.number) cannot have "
                + "it: "
                + "\(error)"
            )
          }
        }
      }
    }
  }

  private func checkAllAreWhole(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    try store.forEachAsset { asset in
      let open = asset.zones.filter { openLife(of: $0, device) != nil }
      let condition = try store.checkAsset(asset.reference)
      // An asset that only closed zones name cannot be downloaded any more. What a wiped store owed is
      // unknown.
      let mayMiss = open.isEmpty || devices.contains { $0.generation > 0 }
      if condition == .whole || condition == .missing && mayMiss { return true }
      throw SimulationFailure(
        .assetsAreThere,
        "asset \(asset.reference.hash) of \(asset.zones) is \(condition) at d\(device.number)")
    }
  }

  /// The incarnation of a zone that a device syncs; nil if its log is closed.
  private func openLife(of zone: ZoneID, _ device: SimulatedDevice) -> IncarnationID? {
    guard let facts = device.view.zone(zone)?.facts, !facts.isClosed else { return nil }
    return facts.incarnation
  }

  private func isAtRemote(_ asset: RemoteAsset) throws -> Bool {
    let server = place.server
    guard case .whole = try executor.wait({ try await server.assetState(asset) }) else { return false }
    return true
  }

  /// Whether some device owes a zone's remote an asset. What a wiped store owed is unknown.
  private func isOwed(_ zone: ZoneID) throws -> Bool {
    try devices.contains { device in
      try device.generation > 0
        || device.store?.syncState().zones.contains { $0.zone == zone && $0.hasUnsentAssets } ?? false
    }
  }
}
