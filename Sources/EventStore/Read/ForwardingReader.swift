import OperationFormat

/// Follows records that moved to other zones, by the heads of their existence.
///
/// A move keeps a record's name and changes its zone. So no way is longer than there are zones, and a search
/// for the places that a record has left needs only its name in each zone.
struct ForwardingReader {
  private let view: ReadView

  init(_ view: ReadView) { self.view = view }

  /// Where a row's record was moved; nil if it is alive, or was deleted.
  func destination(of row: StoredRow, named name: Name, _ state: StateNumber) throws -> RecordID? {
    guard try view.alive(row, state) == nil,
      let place = Existence.destination(of: try view.existences(in: row, state)), place.name == name
    else { return nil }
    let zone = try view.zone(of: state)
    let seen = place.seen(inLogOf: zone)
    return seen.zone == zone ? nil : seen
  }

  /// Where a record is now. Moves that lead back to where they began lead to a copy that has not arrived.
  func place(of record: RecordID) throws -> RecordPlace {
    var record = record
    var passed: Set<ZoneID> = []
    while passed.insert(record.zone).inserted {
      guard let state = try view.stateIfThere(of: record.zone) else { return .elsewhere(record) }
      var next: RecordID?
      let place = try view.withStoredRow(named: record.name, in: state) { row -> RecordPlace? in
        if try view.visible(row, state) != nil { return .here(record) }
        next = try destination(of: row, named: record.name, state)
        return .nowhere(record)
      }
      guard let next else {
        if let place { return place }
        // What was compacted is dropped once it is deleted.
        let isGone = try passed.count == 1 || view.states.storedRow(of: state).floor != nil
        return isGone ? .nowhere(record) : .elsewhere(record)
      }
      record = next
    }
    return .elsewhere(record)
  }

  /// What is found of a record where it is named, or else where moves lead from there; nil if it is nowhere.
  func follow<R>(_ record: RecordID, _ find: (RecordID) throws -> R?) throws -> R? {
    if let found = try find(record) { return found }
    guard case .here(let place) = try self.place(of: record) else { return nil }
    return try find(place)
  }

  /// A record, and the places from which moves lead to it.
  ///
  /// - Complexity: a look-up in each zone of the store.
  func placesLeading(to record: RecordID) throws -> [RecordID] {
    var origins: [ZoneID: [RecordID]] = [:]
    for zone in try view.visibleZones() {
      let state = try view.state(of: zone)
      let next = try view.withStoredRow(named: record.name, in: state) {
        try destination(of: $0, named: record.name, state)
      }
      if let next { origins[next.zone, default: []].append(RecordID(zone: zone, name: record.name)) }
    }
    var places = [record]
    var met: Set<ZoneID> = [record.zone]
    var count = 0
    while count < places.count {
      places += origins[places[count].zone, default: []].filter { met.insert($0.zone).inserted }
      count += 1
    }
    return places
  }
}
