import LMDB
import OperationFormat

/// What a read or a write sees: rows, zones and names as of one moment. It caches zones and names, so that
/// reading a record costs only the look-up of its row.
///
/// Not `Sendable`: one thread uses it at a time, as its transaction.
@usableFromInline
final class ReadView: TableReading {
  let transaction: LMDBTransaction
  let tables: Tables
  let interned: Interned
  /// What is read, if somebody wants to know.
  @exclusivity(unchecked) var footprint: ReadFootprint?
  /// Whether a record is there if any head of its existence says so, and references read as what they are while
  /// their records are not there: as indexes see records.
  let showsAll: Bool

  // Accesses never overlap, so none is checked.
  @exclusivity(unchecked) private var knownZones = MetInOrder<ZoneID, KnownZone>()
  @exclusivity(unchecked) private var lastReplica: (number: ReplicaNumber, id: ReplicaID)?
  /// The last sequences of lanes that the remote has.
  @exclusivity(unchecked) private var placedLanes = MetInOrder<PlacedLane, UInt64>()
  @exclusivity(unchecked) private var zonesOfStates = MetInOrder<StateNumber, ZoneID>()
  @exclusivity(unchecked) private var numbers = RecentNames()
  /// Cached names, by number.
  @exclusivity(unchecked) private var knownNames: [Name?] = []
  private static let namesMax: UInt32 = 1024
  /// How many fields the record has that was read last.
  @exclusivity(unchecked) var lastFieldCount = 0
  /// Cached existence of records that others refer to by cascades or nullify references.
  @exclusivity(unchecked) var fates = RecordFates()
  @exclusivity(unchecked) private var madeLogCache: LogCache?
  @exclusivity(unchecked) private var madeIndexes: [StoredIndex]?
  @exclusivity(unchecked) private var madeZones: [ZoneID]?

  init(
    _ transaction: consuming LMDBTransaction, tables: Tables, interned: Interned, showsAll: Bool = false
  ) {
    self.transaction = transaction
    self.tables = tables
    self.interned = interned
    self.showsAll = showsAll
  }

  /// Made when the log is read, which most reads do not do.
  var logCache: LogCache {
    if let madeLogCache { return madeLogCache }
    let made = LogCache()
    madeLogCache = made
    return made
  }

  func noteLogRead() { footprint?.noteAll() }

  func zoneRowIfThere(_ zone: ZoneNumber) throws -> ZoneRow? { try zones.storedRow(of: zone) }

  /// The state that a zone's records are in.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  func state(of zone: ZoneID) throws -> StateNumber {
    let index = try zoneIndex(of: zone)
    return knownZones.entries[index].value.state
  }

  /// The index of a zone in the cache, for ``zone(at:)``.
  func zoneIndex(of zone: ZoneID) throws -> Int {
    if let index = knownZones.index(of: zone) { return index }
    footprint?.note(zone)
    let (number, row) = try zones.visible(zone)
    let log = row.status == .local ? nil : ZoneLog(zone: number, incarnation: row.token?.incarnation)
    return knownZones.append(zone, KnownZone(state: row.state, log: log))
  }

  /// Lets a zone's records be those of a state, which need not be its present one.
  ///
  /// - Returns: the index of the zone in the cache.
  func show(_ state: StateNumber, of zone: ZoneID) -> Int {
    knownZones.index(of: zone) ?? knownZones.append(zone, KnownZone(state: state, log: nil))
  }

  /// As ``zoneIndex(of:)``; nil if there is no such zone.
  func zoneIndexIfThere(of zone: ZoneID) throws -> Int? {
    do {
      return try zoneIndex(of: zone)
    } catch let error as StoreError where error.code == .zoneUnknown {
      return nil
    }
  }

  /// As ``state(of:)``; nil if there is no such zone.
  func stateIfThere(of zone: ZoneID) throws -> StateNumber? {
    try zoneIndexIfThere(of: zone).map { self.zone(at: $0).state }
  }

  /// The identity of a replica: most rows that are read have the same.
  func replica(_ number: ReplicaNumber) throws -> ReplicaID {
    if let lastReplica, lastReplica.number == number { return lastReplica.id }
    let id = try replicaID(number)
    lastReplica = (number, id)
    return id
  }

  func zone(at index: Int) -> (id: ZoneID, state: StateNumber) {
    let (id, known) = knownZones.entries[index]
    return (id, known.state)
  }

  /// Whether the remote does not have an operation of a synced zone, as far as the store knows.
  ///
  /// - Parameter index: that of the zone in the cache.
  func isPending(_ operation: HeadID, inZoneAt index: Int) throws -> Bool {
    footprint?.note(pendingOf: knownZones.entries[index].key)
    guard let log = knownZones.entries[index].value.log else { return false }
    guard let incarnation = log.incarnation else { return true }
    let lane = PlacedLane(zone: log.zone, replica: operation.replica, epoch: operation.epoch)
    if let known = placedLanes.index(of: lane) {
      return placedLanes.entries[known].value < operation.sequence
    }
    let last = try placements.lastPlaced(operation.replica, operation.epoch, in: log.zone, incarnation)
    _ = placedLanes.append(lane, last)
    return last < operation.sequence
  }

  /// The zone whose records are in a state.
  func zone(of state: StateNumber) throws -> ZoneID {
    if let index = zonesOfStates.index(of: state) { return zonesOfStates.entries[index].value }
    guard let zone = try zones.id(of: states.storedRow(of: state).zone) else {
      throw StoreError(
        .damaged, "the state \(state.rawValue) belongs to no zone", hint: "run a verification of the store")
    }
    _ = zonesOfStates.append(state, zone)
    return zone
  }

  /// The zones of the store, in order.
  func visibleZones() throws -> [ZoneID] {
    footprint?.noteZones()
    if let madeZones { return madeZones }
    let zones = try self.zones.allVisible().map(\.id).sorted()
    madeZones = zones
    return zones
  }

  /// The indexes of the store.
  func knownIndexes() throws -> [StoredIndex] {
    if let madeIndexes { return madeIndexes }
    let indexes = try self.indexes.all()
    madeIndexes = indexes
    return indexes
  }

  /// Notes that a record is read, where its row tells nothing yet.
  func noteRead(_ record: RecordID) {
    guard footprint != nil, let state = try? state(of: record.zone) else { return }
    record.name.withBytes { footprint?.note(record: TableKey.record(state, $0).span) }
  }

  /// The number of a type's or field's name; nil if the store has none for it.
  func number(of name: Name) throws -> NameNumber? {
    if let number = numbers.number(of: name) { return number }
    let number = try names.number(of: name)
    if let number { numbers.remember(name, number) }
    return number
  }

  /// The name that has a number.
  func name(_ number: NameNumber) throws -> Name {
    let index = Int(number.rawValue)
    if index < knownNames.count, let name = knownNames[index] { return name }
    let name = try names.identity(of: number)
    if number.rawValue < Self.namesMax {
      while knownNames.count <= index { knownNames.append(nil) }
      knownNames[index] = name
    }
    return name
  }
}

/// What a read knows of a zone that it has met.
private struct KnownZone {
  let state: StateNumber
  /// Nil of a local zone.
  let log: ZoneLog?
}

/// A zone's log at the remote: no incarnation of it is known before the first round.
private struct ZoneLog {
  let zone: ZoneNumber
  let incarnation: IncarnationNumber?
}

/// A lane in a zone's log at the remote.
private struct PlacedLane: Hashable {
  let zone: ZoneNumber
  let replica: ReplicaNumber
  let epoch: UInt32
}
