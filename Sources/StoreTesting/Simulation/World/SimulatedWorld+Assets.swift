import EventStore
import OperationFormat
import Replicator

/// What worlds with assets have besides: files that fail, zones that are eager at some devices, and a check of every asset
/// at the end. No other world draws anything for it.
extension SimulatedWorld {
  /// So often all is asked for that is not here, and brought to whom it is owed.
  private static let assetPassesMax = 4

  var hasAssets: Bool { options.assetThresholdBytes != nil }

  // MARK: While it lives

  /// Decides whether a call for an asset's file fails. It has the faults of commits: both are the disk's.
  func drawAssetFault(_ call: String, _ device: SimulatedDevice) -> AssetFault? {
    guard !isHealed, !isVerifying else { return nil }
    // Its process has ended: nothing more is done.
    if device.isDying { return .before(Self.ioError) }
    if disk.happens(perMille: configuration.rate(.crashInCommit)) {
      device.isDying = true
      return disk.next(below: 2) == 0 ? .before(Self.ioError) : .after(Self.ioError)
    }
    // What cannot be read is damaged, as far as a store can tell: that is for whoever has the file to mend.
    guard Self.writingCalls.contains(call) else { return nil }
    if disk.happens(perMille: configuration.rate(.diskFull)) {
      mark(.diskFull)
      return .before(Self.noSpace)
    }
    if disk.happens(perMille: configuration.rate(.commitFailed)) {
      mark(.commitFailed)
      return .before(Self.ioError)
    }
    return nil
  }

  private static let writingCalls: Set<String> = ["mkdir", "pwrite", "rename", "unlink", "ftruncate"]
  /// `EIO` and `ENOSPC`: the same numbers on all systems.
  private static let (ioError, noSpace): (Int32, Int32) = (5, 28)

  static let inAnAssetsPlace = "is a file, where a remote keeps assets"

  /// Whether something else is in the place of a directory of assets: nothing that would be below can be read, put or removed.
  func checkPlace(of name: ObjectName) throws(RemoteError) {
    guard !isHealed, hasAssets, name.isOfAsset, let assetsInTheWay else { return }
    let directory = name.components[2]
    guard options.faults.contains(.assetInTheWay),
      Int(directory.suffix(1), radix: 16).map({ $0 % 2 }) == assetsInTheWay
    else { return }
    mark(.assetInTheWay)
    throw RemoteError(.damaged, "\(directory) \(Self.inAnAssetsPlace)", hint: "move it away")
  }

  /// Whether a device downloads a zone's assets by itself.
  func isEager(_ device: SimulatedDevice, _ zone: ZoneID) -> Bool {
    let zones = options.workloads.flatMap(\.zones)
    let place = UInt64(zones.firstIndex(of: zone) ?? zones.count)
    var random = plan.random(.identities).stream(1 << 32 | UInt64(device.number) << 16 | place)
    return random.next(below: 2) == 0
  }

  /// Lets the app of a device decide anew which of its zones are eager: one that was deleted and made again is lazy.
  func keepPolicies(of device: SimulatedDevice) throws {
    guard hasAssets else { return }
    for zone in device.view.zones.map(\.facts.zone) {
      // The commit before may have been its process's last.
      guard let store = device.store else { return }
      let policy: AssetPolicy = isEager(device, zone) ? .eager : .lazy
      let isKept = try store.read { try $0.zones().contains(zone) && $0.assetPolicy(of: zone) != policy }
      guard isKept else { continue }
      try attempt(on: device, [.full, .commitFailed, .commitUncertain, .zoneUnknown, .closed]) {
        try await store.setAssetPolicy(policy, of: zone)
      }
    }
  }

  /// The assets that a device's log names and that are not there.
  func missingAssets(_ device: SimulatedDevice) throws -> [NamedAsset] {
    guard hasAssets, let store = device.store else { return [] }
    var missing: [NamedAsset] = []
    try store.forEachAsset { asset in
      if !asset.isHere { missing.append(asset) }
      return true
    }
    return missing
  }

  func missingCounts() throws -> [Int] { try devices.map { try missingAssets($0).count } }

  /// Whether some round ended before all assets had moved that it found.
  func movesAssets() -> Bool {
    hasAssets
      && devices.contains { device in
        device.replicators.first?.last?.report.zones.contains { $0.status == .unfinished } ?? false
      }
  }

  // MARK: At its end

  /// Checks the assets of a world that has come to rest: what an eager zone names is there, what a lazy one names comes
  /// when it is asked for, and all of it is whole.
  func auditAssets() throws {
    guard hasAssets else { return }
    note("audit of the assets")
    for device in devices { try checkEagerZones(of: device) }
    for _ in 0..<Self.assetPassesMax {
      guard try devices.contains(where: { try !missingAssets($0).isEmpty }) else { break }
      for device in devices { try askForAll(device) }
      // What came now may be owed to another zone's remote.
      try settle()
    }
    for device in devices { try checkAllAreWhole(device) }
  }

  /// A device of which every asset of an eager zone is there, but those that the zone's remote does not have: they are owed
  /// to it by a device that could not give them.
  private func checkEagerZones(of device: SimulatedDevice) throws {
    for asset in try missingAssets(device) {
      for zone in asset.zones where isEager(device, zone) {
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

  /// Asks for what is not there, zone by zone.
  private func askForAll(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    let replicator = LogReplicator(store: store, remote: place.server)
    for asset in try missingAssets(device) {
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
              "the remote has asset \(asset.reference.hash) of \(zone), and d\(device.number) cannot have it: \(error)"
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
      // What alone a zone names that is closed cannot come any more, and what a wiped store owed nobody knows.
      let mayMiss = open.isEmpty || devices.contains { $0.generation > 0 }
      if condition == .whole || condition == .missing && mayMiss { return true }
      throw SimulationFailure(
        .assetsAreThere,
        "asset \(asset.reference.hash) of \(asset.zones) is \(condition) at d\(device.number)")
    }
  }

  /// The life of a zone that a device is in step with; nil if it is closed.
  private func openLife(of zone: ZoneID, _ device: SimulatedDevice) -> IncarnationID? {
    guard let facts = device.view.zone(zone)?.facts, !facts.isClosed else { return nil }
    return facts.incarnation
  }

  private func isAtRemote(_ asset: RemoteAsset) throws -> Bool {
    let server = place.server
    guard case .whole = try executor.wait({ try await server.assetState(asset) }) else { return false }
    return true
  }

  /// Whether some device knows that a zone's remote lacks something. A store that was thrown away took what it knew along.
  private func isOwed(_ zone: ZoneID) throws -> Bool {
    try devices.contains { device in
      try device.generation > 0
        || device.store?.syncState().zones.contains { $0.zone == zone && $0.hasUnsentAssets } ?? false
    }
  }
}
