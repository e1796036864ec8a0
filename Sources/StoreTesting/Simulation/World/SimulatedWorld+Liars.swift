import EventStore
import OperationFormat
import Replicator

/// A peer that writes what no replica of ours would write. What it puts into a log is the same for all, so all must find the
/// same of it: nobody stops, nobody loses anything, nobody differs.
extension SimulatedWorld {
  private enum Lie: CaseIterable {
    /// A parent where none may be: it would change what earlier transactions had seen.
    case lateParent
    /// A parent that nobody has: the victim would count its own pending transactions as seen, and nobody else.
    case absentParent
    /// Sequences that do not begin at 1.
    case hole
    /// It has seen what is not there.
    case base
    /// It has seen the log, and then nothing of it.
    case baseGoesBack
    /// It continues a lane that has seen the log, and has seen nothing of it itself.
    case lessThanParent
    /// More lanes than a lineage may have, each of which continues the one before.
    case longLineage
    /// Next sequences of the victim's, with other content.
    case victimsNext
    /// Later sequences of the victim's, which close its lane.
    case victimsHole
    /// Kinds of operations that nobody has, and one of the next version.
    case inventedKinds
  }

  func sufferALiar(_ choices: inout SimulationChoices) throws {
    guard let (victim, zone) = pickWriter(), let store = victim.store else { return }
    mark(.peerThatLies)
    isCopied = true
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
    for segment in try segments(of: lie, own, next: next, token, seed: UInt64(choices.next(below: 1 << 20))) {
      let (server, offset) = (place.server, token.offset)
      _ = try executor.wait { try await server.append(segment, after: offset) }
    }
    var text: String?
    if lie == .victimsHole, choices.next(below: 2) == 1 {
      text = try editWhileRenewing(victim, zone, endsThere: choices.next(below: 2) == 1)
    }
    try write("after", to: "other", of: "lie", in: zone, on: victim)
    try checkAgreement(in: zone, "a lie (\(lie))")
    try checkRejections(of: lie, behind: token)
    for device in devicesWithPart(in: zone) {
      try checkWrites(isPending ? 3 : 2, of: "lie", in: zone, on: device, "a lie (\(lie))")
    }
    if let text { try check("after" + text, in: zone) }
    guard lie == .inventedKinds else { return }
    for device in devices where device.selects(zone) {
      guard let store = device.store, try !store.knowsUnfolded(OperationKind.lastKnown.next) else { continue }
      throw SimulationFailure(
        .unknownIsKept, "d\(device.number) would not fold a kind of the next version after an upgrade")
    }
  }

  /// Lets a device whose lane was closed issue its work again, and its app edit that work before the log was folded again.
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
      device.end()
      executor.run()
      try boot(device)
    }
    return text
  }

  private func check(_ text: String, in zone: ZoneID) throws {
    for device in devicesWithPart(in: zone) {
      let found = try device.store?.read { try $0.text(of: "text", in: RecordID(zone: zone, name: "lie")) }
      guard found != text else { continue }
      throw SimulationFailure(
        .nothingVanishes,
        "after a renewal, d\(device.number) shows “\(found ?? "nothing")”, and the app saw “\(text)”")
    }
  }

  /// All list what they have rejected, and why.
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
      // That it follows another segment than the victim's last shows only where that lies alone.
      case .victimsNext: nil
      case .inventedKinds: [:]
      }
    for device in devices where device.selects(token.zone) {
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

  /// What the liar ships, one after the other.
  private func segments(
    of lie: Lie, _ victim: StoreIdentity, next: UInt64, _ token: ChangeToken, seed: UInt64
  ) throws -> [PackedSegment] {
    var random = SeededRandom(seed: seed)
    let liar = ReplicaID(rawValue: UInt128(random.next()) << 64 | 0xBAD)
    func transaction(
      _ sequence: UInt64, of replica: ReplicaID? = nil, epoch: UInt32 = 0, parent: UInt64? = nil,
      base: UInt64? = nil, continuing identity: StoreIdentity? = nil, _ operations: [LogOperation]? = nil
    ) -> LogTransaction {
      LogTransaction(
        replica: replica ?? liar, epoch: epoch, sequence: sequence, zone: token.zone,
        base: base.map { Base(incarnation: token.incarnation, offset: $0) },
        parent: parent.map {
          let identity = identity ?? victim
          return TransactionID(replica: identity.replica, epoch: identity.epoch, sequence: $0)
        },
        timestamp: Timestamp(milliseconds: 1000 + sequence, counter: 0),
        operations: operations ?? [
          .set(record: "lie", type: "aftermath", field: "value", value: .string("lie \(sequence)"))
        ])
    }
    switch lie {
    case .lateParent:
      let (first, hash) = try pack([transaction(1)], token)
      let later = LogOperation.set(record: "lie", type: "aftermath", field: "late", value: .string("lie"))
      let second = transaction(2, parent: next - 1 + (random.next() & 1), [later])
      return [first, try pack([second], token, hash).0]
    case .absentParent: return [try pack([transaction(1, parent: next)], token).0]
    case .hole: return [try pack([transaction(5)], token).0, try pack([transaction(6)], token).0]
    case .base: return [try pack([transaction(1, base: token.offset + 7)], token).0]
    case .baseGoesBack:
      let (first, hash) = try pack([transaction(1, base: token.offset)], token)
      return [first, try pack([transaction(2)], token, hash).0]
    case .lessThanParent:
      let first = try pack([transaction(1, base: token.offset)], token).0
      let parent = StoreIdentity(replica: liar, epoch: 0)
      return [first, try pack([transaction(1, epoch: 1, parent: 1, continuing: parent)], token).0]
    case .longLineage:
      return try (0..<UInt32(Limits.lineageMax) + 2).map { epoch in
        let before = epoch == 0 ? nil : StoreIdentity(replica: liar, epoch: epoch - 1)
        return try pack(
          [transaction(1, epoch: epoch, parent: before.map { _ in 1 }, continuing: before)], token
        ).0
      }
    case .victimsNext:
      return [try pack([transaction(next, of: victim.replica, epoch: victim.epoch)], token).0]
    case .victimsHole:
      return [try pack([transaction(next + 5, of: victim.replica, epoch: victim.epoch)], token).0]
    case .inventedKinds:
      let kinds = (1000..<1300).map { LogOperation.unknown(kind: $0, payload: []) }
      let nextKind = LogOperation.unknown(kind: OperationKind.lastKnown.next.rawValue, payload: [0])
      let (first, hash) = try pack([transaction(1, kinds)], token)
      return [first, try pack([transaction(2, [nextKind])], token, hash).0]
    }
  }

  private func pack(
    _ transactions: [LogTransaction], _ token: ChangeToken, _ previous: ContentHash = .zero
  ) throws -> (PackedSegment, ContentHash) {
    let bytes = try transactions.map { try $0.encoded() }
    let header = try SegmentHeader.describing(
      bytes, incarnation: token.incarnation, baseHash: { _ in token.hash }, previousHash: previous)
    let cut = SegmentCut(header: header, isStored: false, transactions: bytes)
    return (try SegmentPacker.pack(cut), header.contentHash)
  }
}

extension OperationKind {
  fileprivate var next: OperationKind { OperationKind(rawValue: rawValue + 1) }
}
