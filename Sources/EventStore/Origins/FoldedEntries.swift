import LMDB
import OperationFormat

/// Removes what a store knows of entries that the snapshot of a zone does not name with which the zone begins, in steps.
///
/// At or below its floor a snapshot names only the entries that something needs: see ``SnapshotEntries``. A store that
/// began with it knows no others, and keeps all rules. So a store that retired its history, or had read a part of the log
/// before, becomes equal to it: it has the same rows of `segments` and `placements`, and the same of lanes.
///
/// A row of `replicas` says that there is work left, from the commit that makes the snapshot the origin on. Each step
/// leaves a sound store, so one that is cut short is continued from the start.
struct FoldedEntries: Sendable {
  /// A lane as the snapshot has it.
  private struct NamedLane: Sendable {
    var id: StoreIdentity
    var last: UInt64
    /// The sequences from which on its transactions had seen more.
    var bases: Set<UInt64>
    /// Its entries at or below the floor that place transactions, in order.
    var entries: [(offset: UInt64, row: SegmentRow)] = []
  }

  /// How far the work is.
  struct Progress: Sendable {
    fileprivate var lane = 0
    fileprivate var entry = 0
    fileprivate var base: UInt64 = 0
    fileprivate var rejected: UInt64 = 0
    fileprivate var offset: UInt64 = 0
  }

  private let zone: ZoneNumber
  private let content: ContentHash
  private let offset: UInt64
  private let foldedThrough: UInt64
  private let lanes: [NamedLane]
  /// The offsets at or below the floor of all entries that the snapshot has.
  private let named: Set<UInt64>

  init(_ zone: ZoneNumber, _ manifest: SnapshotManifest, _ head: SnapshotHead) {
    (self.zone, content, offset, foldedThrough) = (
      zone, manifest.content, manifest.offset, head.foldedThrough
    )
    var lanes = head.lanes.map { lane in
      NamedLane(id: lane.id, last: lane.last, bases: Set(lane.bases.map(\.sequence)))
    }
    let entries = head.entries.prefix { $0.offset <= head.foldedThrough }
    for entry in entries {
      guard let lane = entry.lane, entry.row.rejection == nil else { continue }
      lanes[lane].entries.append((entry.offset, entry.row))
    }
    (self.lanes, named) = (lanes, Set(entries.map(\.offset)))
  }

  /// Removes all of it, of every zone.
  ///
  /// It leaves out a zone whose snapshot cannot be read, or whose places are not those that the snapshot has: a verification
  /// says so. And one whose records are behind its log: what is written meanwhile goes by its places.
  static func removeAll(_ core: StoreCore) async throws {
    // The log's transactions count at the places that they have.
    try await RetiredEntries.removeAll(core)
    for (zone, content) in try core.read({ try $0.readView.lanes.folding() }) {
      do {
        try await removeAll(of: zone, content, core)
      } catch let error as StoreError where error.code == .damaged {
        continue
      } catch is FormatError {
        continue
      }
    }
  }

  private static func removeAll(of zone: ZoneNumber, _ content: ContentHash, _ core: StoreCore) async throws {
    let files = core.snapshots
    let manifest = try files.manifest(of: content)
    let head = try SnapshotHead(manifest) { try files.part($0, of: manifest) }
    let entries = FoldedEntries(zone, manifest, head)
    var left: Progress? = Progress()
    while let progress = left {
      left = try await core.perform { store in
        guard try store.storage.zoneRow(zone).building == .none else { return nil }
        return try entries.step(store.storage, from: progress)
      }
    }
  }

  /// Removes some of it.
  ///
  /// - Returns: what the next step continues from; nil if this was the last one, or the zone begins with another snapshot.
  func step(
    _ storage: TableStorage, from progress: Progress, _ budget: RemovalBudget = RemovalBudget()
  ) throws -> Progress? {
    guard try storage.lanes.foldingContent(of: zone) == content else { return nil }
    guard let origin = try storage.zones.origin(of: zone), origin.content == content else {
      try storage.lanes.removeRows(.foldedEntries, of: zone)
      return nil
    }
    var (left, budget) = (progress, budget)
    while left.lane < lanes.count {
      guard try removeRows(of: lanes[left.lane], storage, origin.incarnation, &left, &budget) else {
        return left
      }
      (left.lane, left.entry, left.base) = (left.lane + 1, 0, 0)
    }
    if foldedThrough > 0 {
      // A rejected entry is listed by a row of its own, which leads to that of the entry.
      let tables = storage.tables
      let rows = [
        (tables.replicas, TableKey.rows(.rejectedSegments, of: zone, origin.incarnation), \Progress.rejected),
        (tables.segments, TableKey.segments(of: zone, origin.incarnation), \Progress.offset),
      ]
      for (table, prefix, number) in rows where left[keyPath: number] <= foldedThrough {
        let next = try storage.removeRows(
          of: table, under: prefix, left[keyPath: number]...foldedThrough, except: named, &budget)
        left[keyPath: number] = next ?? foldedThrough + 1
        if next != nil { return left }
      }
      storage.forgetPlacements()
      storage.forgetLookBack(from: 0)
    }
    // The floor that counts there is the one that the snapshot has.
    let floors = TableKey.rows(.countedFloors, of: zone, origin.incarnation)
    let next = try storage.removeRows(of: storage.tables.replicas, under: floors, 0...offset - 1, &budget)
    if next != nil { return left }
    try storage.lanes.removeRows(.foldedEntries, of: zone)
    return nil
  }

  /// Gives a lane the places, bases and floors that it has in a store that began with the snapshot.
  ///
  /// - Returns: whether it has them.
  private func removeRows(
    of known: NamedLane, _ storage: TableStorage, _ incarnation: IncarnationNumber, _ left: inout Progress,
    _ budget: inout RemovalBudget
  ) throws -> Bool {
    guard known.last > 0, let replica = try storage.replicas.number(of: known.id.replica) else { return true }
    let lane = Lane(zone: zone, replica: replica, epoch: known.id.epoch)
    while left.entry < known.entries.count {
      let entry = known.entries[left.entry]
      let placed = left.entry > 0 ? known.entries[left.entry - 1].row.last : 0
      let isDone = try storage.placements.fold(
        of: lane, after: placed, into: entry.row.first...entry.row.last, at: entry.offset, incarnation,
        &budget)
      guard isDone else { return false }
      left.entry += 1
    }
    func removeRows(_ kind: LaneRowKind, from first: UInt64, except kept: Set<UInt64>) throws -> UInt64? {
      guard first <= known.last else { return nil }
      let prefix = TableKey.rows(kind, of: zone).appending(lane.replica, lane.epoch)
      return try storage.removeRows(
        of: storage.tables.replicas, under: prefix, first...known.last, except: kept, &budget)
    }
    if let next = try removeRows(.retiredBases, from: left.base, except: known.bases) {
      left.base = next
      return false
    }
    left.base = known.last + 1
    storage.forgetBases()
    return try removeRows(.floors, from: 0, except: []) == nil
  }
}

extension LaneTable {
  /// The content of the snapshot that a zone begins with, while the store may know entries that it does not name; nil if
  /// there are none.
  func foldingContent(of zone: ZoneNumber) throws -> ContentHash? {
    try transaction.withCheckedValue(of: .rows(.foldedEntries, of: zone), in: tables.replicas) { row in
      var reader = ByteReader(row)
      return try ContentHash.read(from: &reader, "zone.folded")
    }
  }

  /// The zones of which the store still knows such entries.
  func folding() throws -> [(zone: ZoneNumber, content: ContentHash)] {
    var found: [(zone: ZoneNumber, content: ContentHash)] = []
    let prefix = [LaneRowKind.foldedEntries.rawValue]
    try transaction.forEachEntry(in: tables.replicas, under: prefix) { key, row in
      var reader = ByteReader(try CheckedRow.content(of: row, under: key))
      let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 1))
      found.append((zone, try ContentHash.read(from: &reader, "zone.folded")))
      return true
    }
    return found
  }
}

extension LaneTable where Source == TableStorage {
  /// Notes that the store may know entries that the snapshot of a zone does not name with which it begins from now on.
  func setFolding(_ content: ContentHash, of zone: ZoneNumber) throws {
    try source.putChecked(.rows(.foldedEntries, of: zone), in: tables.replicas) { $0.append(content) }
  }
}

extension PlacementTable where Source == TableStorage {
  /// Gives the sequences of a lane that follow a placed one, up to the last of an entry at or below a floor, the places
  /// that they have in a store that knows no entry of the lane in between: see
  /// ``SegmentTable/placeFolded(before:in:_:at:)``.
  ///
  /// - Parameters:
  ///   - placed: the last sequence of the entry before; 0 if there is none.
  ///   - sequences: those of the entry. The last one is after `placed`.
  /// - Returns: whether they have them; if not, the next call continues. It takes a budget of two rows at least.
  fileprivate func fold(
    of lane: Lane, after placed: UInt64, into sequences: ClosedRange<UInt64>, at offset: UInt64,
    _ incarnation: IncarnationNumber, _ budget: inout RemovalBudget
  ) throws -> Bool {
    let last = sequences.upperBound
    var known: [(first: UInt64, last: UInt64, offset: UInt64)] = []
    var next = placed + 1
    while next <= last, !budget.isSpent {
      let place = try placement(of: lane.replica, lane.epoch, next, in: lane.zone, incarnation)
      guard let place, place.first == next, place.last <= last else {
        throw StoreError(
          .damaged,
          "sequence \(next) of replica number \(lane.replica.rawValue), epoch \(lane.epoch), has not the place that "
            + "the snapshot gives it with which zone “\(try zoneNumbers.identity(of: lane.zone))” begins",
          hint: StoreError.damageHint)
      }
      budget.rows -= 1
      known.append(place)
      next = place.last + 1
    }
    let isDone = next > last
    var folded: [ClosedRange<UInt64>] = [placed + 1...max(placed + 1, next - 1)]
    if isDone {
      folded = [max(placed + 1, sequences.lowerBound)...last]
      if placed + 1 < sequences.lowerBound { folded.insert(placed + 1...sequences.lowerBound - 1, at: 0) }
    }
    if known.isEmpty { return isDone }
    if known.map({ $0.first...$0.last }) == folded, known.allSatisfy({ $0.offset == offset }) {
      return isDone
    }
    source.forgetPlacements()
    for place in known {
      let key = TableKey.placement(of: lane, incarnation, last: place.last)
      _ = try transaction.delete(key.span, in: tables.placements)
    }
    for sequences in folded {
      try source.putChecked(
        .placement(of: lane, incarnation, last: sequences.upperBound), in: tables.placements
      ) { writer in
        writer.append(varint: sequences.lowerBound)
        writer.append(varint: offset)
      }
    }
    return isDone
  }
}

extension TableKey {
  fileprivate static func placement(
    of lane: Lane, _ incarnation: IncarnationNumber, last: UInt64
  ) -> TableKey {
    .placement(lane.zone, incarnation, lane.replica, lane.epoch, last: last)
  }
}

extension TableStorage {
  /// Removes the rows of a table whose keys are a prefix and one of some numbers, 8 bytes each, but for those of other numbers.
  ///
  /// - Returns: the first number that was not looked at; nil if all were.
  fileprivate func removeRows(
    of table: Table, under prefix: TableKey, _ numbers: ClosedRange<UInt64>, except kept: Set<UInt64> = [],
    _ budget: inout RemovalBudget
  ) throws -> UInt64? {
    var next: UInt64?
    var removed: [UInt64] = []
    var rows = budget.rows
    let first = prefix.appending(numbers.lowerBound)
    let place = prefix.span.byteCount
    try transaction.forEachEntry(in: table, under: prefix.span.bytes, from: first.span.bytes) { key, _ in
      let number = try key.bigEndian64(at: place)
      guard number <= numbers.upperBound else { return false }
      if rows <= 0 {
        next = number
        return false
      }
      rows -= 1
      if !kept.contains(number) { removed.append(number) }
      return true
    }
    budget.rows = rows
    for number in removed { _ = try transaction.delete(prefix.appending(number).span, in: table) }
    return next
  }
}
