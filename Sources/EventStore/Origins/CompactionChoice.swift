import OperationFormat

/// Chooses up to where a zone may be compacted, and counts what would go.
///
/// Any floor leaves all stores with the same. The choice is a care alone: who has seen the floor when it writes loses
/// nothing by it that it would not lose else.
struct CompactionChoice {
  /// The last floor, 0 for none; the offset up to which one may be named, and why not more.
  let floor: UInt64
  let last: UInt64
  let limit: CompactionPlan.Limit?
  /// The last one, if it is so much above the floor that naming it is worth it.
  let due: UInt64?
  private let zone: ZoneID
  private let number: ZoneNumber
  private let incarnation: IncarnationNumber

  /// - Throws: ``StoreError`` `zoneUnknown`, `outOfOrder` if the zone is not synced, `damaged`.
  /// - Complexity: linear in the log's entries and writers
  init(
    of zone: ZoneID, _ source: borrowing ReadTransaction, keeping policy: CompactionPolicy,
    at wallMilliseconds: Int64
  ) throws {
    let view = source.readView
    let (number, row) = try view.zones.visible(zone)
    guard let token = row.token, token.offset > 0,
      let outline = try source.logOutline(of: zone, view.incarnations.identity(of: token.incarnation))
    else {
      throw StoreError(
        .outOfOrder, "zone “\(zone)” has read nothing of a remote log, whose offsets floors are",
        hint: "attach and sync it first")
    }
    let known = try view.states.storedRow(of: row.state).floor
    let floor = known?.incarnation == token.incarnation ? known?.offset ?? 0 : 0
    let now = outline.now(at: wallMilliseconds)
    let times = outline.times(at: now)
    var (last, limit) = Self.last(of: outline, times, policy, now)
    if let unsent = try Self.unsentBase(of: number, row, token, source), unsent < last {
      (last, limit) = (unsent, .unsent)
    }
    if last > floor, try Self.onlyNamesFloors(floor + 1...last, in: number, token.incarnation, view) {
      last = floor
    }
    let age =
      last > floor
      ? outline.time(at: last, times)
        - (floor > 0 ? min(outline.time(at: floor, times), outline.time(at: last, times)) : 0) : 0
    due = last > floor && age >= policy.millisecondsMax / 4 ? last : nil
    (self.zone, self.number, incarnation, self.floor, self.last, self.limit) = (
      zone, number, token.incarnation, floor, last, limit
    )
  }

  /// What would go.
  ///
  /// - Complexity: linear in the records
  func plan(_ source: borrowing ReadTransaction) throws -> CompactionPlan {
    var gain: (records: UInt64, values: UInt64, units: UInt64) = (0, 0, 0)
    if last > floor {
      gain = try Self.gain(
        of: zone, number, CompactionFloor(incarnation: incarnation, offset: last), source.readView)
    }
    return CompactionPlan(
      zone: zone, floor: floor, next: last > floor ? last : nil, limit: limit, records: gain.records,
      values: gain.values, units: gain.units)
  }

  /// The last offset that a policy allows, and why it is not the log's last one.
  private static func last(
    of log: LogOutline, _ times: [UInt64], _ policy: CompactionPolicy, _ now: UInt64
  ) -> (offset: UInt64, limit: CompactionPlan.Limit?) {
    let end = log.end
    func before(_ age: UInt64) -> UInt64 { age == 0 ? .max : now - min(now, age) }
    let last = log.lastOffset(by: before(policy.millisecondsMax), times)
    // A writer that has since written under another epoch writes nothing more under this one.
    let lastOffsets = log.lastOffsets
    let waiting = log.writers(behind: last, after: before(policy.horizonMilliseconds), times)
      .filter { $0.lastOffset == lastOffsets[$0.replica] }
    guard let least = waiting.map(\.base).min() else { return (last, last < end ? .age : nil) }
    return (least, .writers(Set(waiting.filter { $0.base == least }.map(\.replica)).sorted()))
  }

  /// Whether entries of the log do nothing but name floors: then a floor that covers them changes nothing, and is one more of
  /// them. Of many entries, or many transactions, it is not looked.
  private static func onlyNamesFloors(
    _ offsets: ClosedRange<UInt64>, in zone: ZoneNumber, _ incarnation: IncarnationNumber, _ view: ReadView
  ) throws -> Bool {
    guard offsets.upperBound - offsets.lowerBound < entriesLookedAtMax else { return false }
    for offset in offsets {
      guard let row = try view.segments.row(at: offset, in: zone, incarnation) else { return false }
      if row.rejection != nil || row.isQuarantined { continue }
      guard row.last - row.first < entriesLookedAtMax else { return false }
      let lane = Lane(zone: zone, replica: row.replica, epoch: row.epoch)
      let floors = try view.floors(of: lane, row.first...row.last, incarnation)
      guard UInt64(floors.named.count) == row.last - row.first + 1 else { return false }
    }
    return true
  }

  private static let entriesLookedAtMax: UInt64 = 16

  /// What the transactions had seen that wait to be sent, at least; nil if none does.
  private static func unsentBase(
    of zone: ZoneNumber, _ row: ZoneRow, _ token: ZoneRow.Token, _ source: borrowing ReadTransaction
  ) throws -> UInt64? {
    let view = source.readView
    var least: UInt64?
    for lane in try view.lanes.countedLanes(of: zone) {
      let placed = try view.placements.lastPlaced(lane.replica, lane.epoch, in: zone, token.incarnation)
      guard lane.last > placed else { continue }
      let base = try view.log.base(of: lane.replica, lane.epoch, placed + 1, in: zone)
      least = min(least ?? .max, base.map { $0.incarnation == token.incarnation ? $0.offset : 0 } ?? 0)
    }
    return least
  }

  /// What would go of the records that nobody has changed since a floor.
  private static func gain(
    of zone: ZoneID, _ number: ZoneNumber, _ floor: CompactionFloor, _ view: ReadView
  ) throws -> (records: UInt64, values: UInt64, units: UInt64) {
    var gain: (records: UInt64, values: UInt64, units: UInt64) = (0, 0, 0)
    func isUpTo(_ head: HeadID) throws -> Bool {
      if head.isCompacted { return true }
      return floor.covers(
        try view.placements.placement(
          of: head.replica, head.epoch, head.sequence, in: number, floor.incarnation)?.offset)
    }
    try view.forEachRow(in: zone) { _, row, state in
      let heads = try view.heads(of: .existence, in: row, state)
      guard heads.contains(where: { !$0.head.id.isCompacted }),
        try heads.allSatisfy({ try isUpTo($0.head.id) })
      else { return true }
      let existences = try heads.map { try Existence(payload: $0.payload.span.bytes) }
      let isAlive = ExistencePolicy.typeOfAlive(in: existences) != nil
      if !isAlive { gain.records += 1 }
      try row.withUnpacked { row in
        let index = try CellIndex(row)
        for entry in index.entries {
          try index.withRow(of: entry, in: row) { row in
            let reader = CellReader(entry.cell, in: StoredRow(row), state, view)
            switch entry.cell.layout {
            case .heads? where entry.cell.isRegister:
              gain.values += UInt64(max(0, try reader.inlineHeads().total - 1))
            case .units?:
              let root = try UnitOrderRoot(reader.body)
              gain.units += isAlive ? root.units - root.visible : root.units
            case .heads?, .elements?, nil: break
            }
          }
        }
      }
      return true
    }
    return gain
  }
}
