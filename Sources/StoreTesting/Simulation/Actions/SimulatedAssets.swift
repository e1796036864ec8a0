import EventStore
import OperationFormat
import Replicator

/// The zones whose assets a device downloads by itself, and what it misses. Other worlds draw nothing for it.
struct SimulatedAssets: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Whether a device downloads a zone's assets by itself.
  func isEager(_ device: SimulatedDevice, _ zone: ZoneID) -> Bool {
    let zones = options.workloads.flatMap(\.zones)
    let place = UInt64(zones.firstIndex(of: zone) ?? zones.count)
    var random = world.plan.random(.identities).stream(1 << 32 | UInt64(device.number) << 16 | place)
    return random.next(below: 2) == 0
  }

  /// Sets the policies of a device's zones again: a zone that was deleted and created again is lazy.
  func keepPolicies(of device: SimulatedDevice) throws {
    guard hasAssets else { return }
    for zone in device.view.zones.map(\.facts.zone) {
      // The commit before may have been its process's last.
      guard let store = device.store else { return }
      let policy: AssetPolicy = isEager(device, zone) ? .eager : .lazy
      let isOff = try store.read { try $0.zones().contains(zone) && $0.assetPolicy(of: zone) != policy }
      guard isOff else { continue }
      try SimulatedMachines(world).attempt(
        on: device, [.full, .commitFailed, .commitUncertain, .zoneUnknown, .closed]
      ) { try await store.setAssetPolicy(policy, of: zone) }
    }
  }

  /// The assets that a device's log names and whose files are missing.
  func missing(at device: SimulatedDevice) throws -> [NamedAsset] {
    guard hasAssets, let store = device.store else { return [] }
    var missing: [NamedAsset] = []
    try store.forEachAsset { asset in
      if !asset.isHere { missing.append(asset) }
      return true
    }
    return missing
  }

  func missingCounts() throws -> [Int] { try devices.map { try missing(at: $0).count } }

  /// Whether some round ended before all assets had moved that it found.
  var areMoving: Bool {
    hasAssets
      && devices.contains { device in
        device.replicators.first?.last?.report.zones.contains { $0.status == .unfinished } ?? false
      }
  }
}
