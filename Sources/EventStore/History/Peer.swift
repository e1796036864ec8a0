public import OperationFormat

/// Another store that writes to a zone, as far as its transactions tell. A store that was made from the export of another
/// one is another too.
public struct Peer: Hashable, Sendable, Identifiable {
  /// Which store.
  public let id: ReplicaID
  /// Who made its last transaction, as its app said.
  public let author: String?
  /// When it made that, by its clock, in milliseconds since 1970.
  public let wroteMilliseconds: UInt64
  /// Up to which offset of the zone's remote log it had folded by then; 0 for nothing. A store that reads and writes
  /// nothing tells nobody, so it may be further.
  public let seenOffset: UInt64
}

/// How far a transaction has come.
public enum Receipt: Hashable, Sendable {
  /// The remote does not have it, as far as this store knows.
  case local
  /// The remote has it, in the segment at an offset.
  case shipped(offset: UInt64)
  /// The remote has it, and these stores had folded it before they wrote last.
  case seen(by: [Peer], offset: UInt64)
}

extension Receipt {
  /// Whether the remote has it.
  public var isShipped: Bool { self != .local }

  /// The stores that have seen it.
  public var peers: [Peer] {
    if case .seen(let peers, _) = self { peers } else { [] }
  }

  /// What is true of both: how far the one has come that is behind.
  func atMost(_ other: Receipt) -> Receipt {
    switch (self, other) {
    case (.local, _), (_, .local): return .local
    case (.seen(let peers, let offset), .seen(let others, _)):
      let both = peers.filter { peer in others.contains { $0.id == peer.id } }
      return both.isEmpty ? .shipped(offset: offset) : .seen(by: both, offset: offset)
    case (.shipped, _): return self
    case (_, .shipped): return other
    }
  }
}

extension ReadTransaction {
  /// The other stores that have written to a zone, in the order of their identities.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the writers of the zone.
  public func peers(of zone: ZoneID) throws -> [Peer] {
    let (number, row) = try view.zones.visible(zone)
    let own = try view.replicas.number(of: identity.replica)
    let written = try view.lanes.writtenHere(in: number, row, identity)
    let reader = LogReader(view)
    var peers: [ReplicaID: Peer] = [:]
    for lane in try view.lanes.countedLanes(of: number) where lane.replica != own && lane.last > 0 {
      let id = try view.replicas.identity(of: lane.replica)
      // What this store was before is no other one.
      let last = TransactionID(replica: id, epoch: lane.epoch, sequence: lane.last)
      if written.writer(of: last) == .thisStore { continue }
      let position = try view.log.position(of: lane.replica, lane.epoch, lane.last, in: number)
      let entry = try position.map { try reader.entry(at: $0).transaction }
      let name = Lane(zone: number, replica: lane.replica, epoch: lane.epoch)
      let retired = try view.lanes.retirement(of: name)?.timestamp
      guard let timestamp = entry?.timestamp ?? retired else { continue }
      let base = try view.log.base(of: lane.replica, lane.epoch, lane.last, in: number)
      let seen = base.flatMap { $0.incarnation == row.token?.incarnation ? $0.offset : nil } ?? 0
      // A store writes in one epoch after the other.
      let known = peers[id]
      let isLater = known.map { $0.wroteMilliseconds <= timestamp.milliseconds } ?? true
      peers[id] = Peer(
        id: id, author: isLater ? entry?.author : known?.author,
        wroteMilliseconds: max(timestamp.milliseconds, known?.wroteMilliseconds ?? 0),
        seenOffset: max(seen, known?.seenOffset ?? 0))
    }
    return peers.values.sorted { $0.id < $1.id }
  }

  /// How far a transaction of a zone has come.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the writers of the zone.
  public func receipt(of id: TransactionID, in zone: ZoneID) throws -> Receipt {
    let floor = try view.states.storedRow(of: view.zones.visible(zone).row.state).floor
    // What is compacted is in the log up to the floor.
    let place = id.sequence == 0 ? floor?.offset : try placement(of: id, in: zone)?.offset
    guard let offset = place else { return .local }
    let peers = try peers(of: zone).filter { $0.id != id.replica && $0.seenOffset >= offset }
    return peers.isEmpty ? .shipped(offset: offset) : .seen(by: peers, offset: offset)
  }
}
