import EventStore
import OperationFormat
import Replicator

/// A peer writes what no replica of ours would write. Its segments are the same for all devices, so all must
/// find the same in them: no device stops, loses anything, or differs.
struct LyingPeer: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (victim, zone) = pickWriter(), let store = victim.store else { return }
    begin(.peerThatLies)
    let lie = choices.pick(Lie.allCases)
    note("a peer lies: \(lie)")
    // All have read the log so far, and the victim has something pending.
    try write("known", to: "value", of: "lie", in: zone, on: victim)
    for device in devices where device.store != nil { try syncAlone(device) }
    let isPending = choices.next(below: 4) > 0
    if isPending { try write("pending", to: "value", of: "lie", in: zone, on: victim) }
    let state = try store.syncState()
    guard let token = state.zones.first(where: { $0.zone == zone })?.token else { return }
    let pending = try store.read { try $0.pending(in: zone) }
    let identity = pending.first.map {
      StoreIdentity(replica: $0.transaction.replica, epoch: $0.transaction.epoch)
    }
    let own = identity ?? state.identity
    let next = try pending.first?.transaction.sequence ?? nextSequence(of: own, in: zone, store)
    let seed = UInt64(choices.next(below: 1 << 20))
    for segment in try lie.segments(against: own, next: next, token, seed: seed) {
      let server = place.server
      _ = try executor.wait { try await server.append(segment, after: token) }
    }
    var text: String?
    if lie == .victimsHole, choices.next(below: 2) == 1 {
      text = try editWhileRenewing(victim, zone, endsThere: choices.next(below: 2) == 1)
    }
    try write("after", to: "other", of: "lie", in: zone, on: victim)
    try agreement.check(zone, after: "a lie (\(lie))")
    try checkRejections(of: lie, behind: token)
    try agreement.checkWrites(isPending ? 3 : 2, of: "lie", in: zone, after: "a lie (\(lie))")
    if let text { try check("after" + text, in: zone) }
    guard lie == .inventedKinds else { return }
    for device in agreement.devices(with: zone) {
      guard let store = device.store, try !store.knowsUnfolded(OperationKind.lastKnown.next) else { continue }
      throw SimulationFailure(
        .unknownIsKept, "d\(device.number) would not fold a kind of the next version after an upgrade")
    }
  }

  /// Lets a device whose stream was closed write its transactions again under a new epoch. Its app edits them
  /// before the log is folded again.
  ///
  /// - Returns: the text that its app sees.
  private func editWhileRenewing(
    _ device: SimulatedDevice, _ zone: ZoneID, endsThere: Bool
  ) throws -> String? {
    try syncAlone(device, .fetch)
    guard let store = device.store, try store.isOwnLaneClosed(of: zone) else { return nil }
    _ = try executor.wait { try await store.renewLane(of: zone) }
    let record = RecordID(zone: zone, name: "lie")
    try act(device) {
      try store.writeBlockingThisThread { transaction in
        let count = try transaction.count(of: "text", in: record, as: .text)
        if count > 2 { try transaction.removeText(1..<count - 1, from: "text", of: record) }
        try transaction.insertText("edited", at: min(1, count), in: "text", of: record)
      }
    }
    let text = try store.read { try $0.text(of: "text", in: record) }
    if endsThere {
      SimulatedMachines(world).end(device)
      try SimulatedMachines(world).boot(device)
    }
    return text
  }

  private func check(_ text: String, in zone: ZoneID) throws {
    for device in agreement.devices(with: zone) {
      let found = try device.store?.read { try $0.text(of: "text", in: RecordID(zone: zone, name: "lie")) }
      guard found != text else { continue }
      throw SimulationFailure(
        .nothingVanishes,
        "after a renewal, d\(device.number) shows “\(found ?? "nothing")”, and the app saw “\(text)”")
    }
  }

  /// All devices list which segments they rejected, and why.
  private func checkRejections(of lie: Lie, behind token: ChangeToken) throws {
    var expected: [UInt64: SegmentRejection]? =
      switch lie {
      case .lateParent: [2: .parent]
      case .absentParent: [1: .parent]
      case .hole: [1: .hole, 2: .laneClosed]
      case .base: [1: .base]
      case .baseGoesBack, .lessThanParent: [2: .base]
      case .longLineage: [UInt64(Limits.lineageMax) + 2: .parent]
      case .victimsHole: [1: .hole]
      // That it does not follow the victim's last segment shows only at devices that have that one.
      case .victimsNext: nil
      case .inventedKinds: [:]
      }
    for device in agreement.devices(with: token.zone) {
      guard let store = device.store else { continue }
      let rejected = try store.read { try $0.rejectedSegments(in: token.zone) }
      var found: [UInt64: SegmentRejection] = [:]
      for segment in rejected where segment.offset > token.offset {
        found[segment.offset - token.offset] = segment.reason
      }
      let reasons = expected ?? found
      guard found == reasons else {
        let (found, reasons) = (found.count, reasons.count)
        throw SimulationFailure(
          .nothingIsSilent,
          "after a lie (\(lie)), d\(device.number) has not rejected what it must: \(found) of \(reasons)")
      }
      expected = reasons
    }
  }

  private func nextSequence(of lane: StoreIdentity, in zone: ZoneID, _ store: LocalStore) throws -> UInt64 {
    let information = try store.information().zones.first { $0.id == zone }
    let last = information?.replicas.first { $0.replica == lane.replica && $0.epoch == lane.epoch }
    return (last?.lastSequence ?? 0) + 1
  }
}
