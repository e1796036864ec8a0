import OperationFormat

@testable import EventStore

extension LocalStore {
  /// All that the store's tables say of the log of a zone that begins with a snapshot, as text with identities in place of
  /// numbers: entries, places, floors, and of each lane that has places what is kept of it. Nothing of what waits to be sent.
  func knownLog(_ zone: ZoneID = noteZone) throws -> [String] {
    try read { tx in
      let view = tx.readView
      let number = try view.zones.number(of: zone)
      guard let incarnation = try view.zones.origin(of: number)?.incarnation else { return ["no origin"] }
      var lines: [String] = []
      func name(_ replica: ReplicaNumber, _ epoch: UInt32) throws -> String {
        replica == .none ? "nobody" : "\(try view.replicas.identity(of: replica)).\(epoch)"
      }
      try view.segments.forEach(in: number, incarnation, from: 0) { offset, row in
        let rejection = row.rejection.map { "\($0)" } ?? "taken"
        lines.append(
          "entry \(offset): \(try name(row.replica, row.epoch)) \(row.first) to \(row.last), \(row.hash), "
            + "\(row.chain.map { "\($0.hash)" } ?? "no chain"), \(row.receivedMilliseconds ?? 0), \(rejection)"
        )
      }
      try view.segments.forEachRejected(in: number, incarnation) { offset, _ in
        lines.append("rejected \(offset)")
        return true
      }
      for kind in [LaneRowKind.countedFloors, .floors, .foldedEntries] {
        try tx.transaction.forEachEntry(
          in: tx.tables.replicas, under: TableKey.rows(kind, of: number).span.bytes
        ) { key, row in
          let place = kind == .foldedEntries ? 0 : try key.bigEndian64(at: key.byteCount - 8)
          lines.append("\(kind) \(place): \(row.bytes.dropLast(4))")
          return true
        }
      }
      var lanes: [String] = []
      for found in try view.lanes.countedLanes(of: number) {
        let lane = Lane(zone: number, replica: found.replica, epoch: found.epoch)
        var last = try view.placements.lastPlaced(lane.replica, lane.epoch, in: number, incarnation)
        guard
          let retirement = try view.lanes.retirement(of: lane)
            ?? (last > 0 ? (0, Timestamp(rawValue: 0)) : nil)
        else { continue }
        var line = "\(try name(lane.replica, lane.epoch)) to \(retirement.last) at \(retirement.timestamp)"
        while last > 0 {
          let place = try view.placements.placement(
            of: lane.replica, lane.epoch, last, in: number, incarnation)
          guard let place else { break }
          line += ", \(place.first) to \(place.last) at \(place.offset)"
          last = place.first - 1
        }
        for step in try view.lanes.retiredBases(of: lane, incarnation) {
          line += ", \(step.base) from \(step.sequence)"
        }
        let closure = try view.lanes.closure(of: lane.replica, lane.epoch, in: number, incarnation)
        let parent = try view.lanes.parent(of: lane.replica, lane.epoch, in: number)
        line += ", closed at \(closure ?? 0), after "
        line += try parent.map { "\(try name($0.replica, $0.epoch)) \($0.sequence)" } ?? "none"
        lanes.append(line)
      }
      return lines.sorted() + lanes.sorted()
    }
  }

  /// The floors of a zone that count behind what it begins with: by all transactions that name one, and as they were counted
  /// when the log was read.
  func floorsThatCount(
    in zone: ZoneID = noteZone
  ) throws -> (named: [CompactionFloor], counted: [CompactionFloor]) {
    try read { tx in
      let view = tx.readView
      let number = try view.zones.number(of: zone)
      guard let token = try view.zoneRowIfThere(number)?.token else { return ([], []) }
      let begin = try view.zones.origin(of: number).map { origin in
        CompactionFloor(
          incarnation: origin.incarnation,
          offset: try view.lanes.countedFloor(of: number, origin.incarnation, before: origin.offset + 1))
      }
      func all(_ next: (CompactionFloor?) throws -> CompactionFloor?) rethrows -> [CompactionFloor] {
        var found: [CompactionFloor] = []
        while let floor = try next(found.last ?? begin) { found.append(floor) }
        return found
      }
      let floors = try view.logFloors(of: number, token.incarnation, upTo: token.offset)
      return (
        all { floors.next(after: $0) },
        try all { try view.lanes.nextCountedFloor(of: number, token, after: $0) }
      )
    }
  }

  /// How many rows a table has.
  func rows(_ table: String) throws -> Int {
    try information().tables.first { $0.name == table }?.entries ?? 0
  }
}
