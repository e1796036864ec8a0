import EventStore
import OperationFormat

/// What the app of a device shows of its store, and reads again when it is told to.
enum SimulatedScreen {
  typealias Read = WatchedRead<Content>

  enum Content: Equatable {
    case nothing
    case record(Record?)
    case hits([QueryHit])
    case number(Int)
    case zones([ZoneID])
    case place(RecordPlace)
    case holders([Holder])
  }

  /// The screens of an app that works with some zones.
  static func all(of zones: [ZoneID], _ store: LocalStore) throws -> [Read] {
    var screens: [Read] = []
    func add(_ read: @escaping (borrowing ReadTransaction) throws -> Content) throws {
      screens.append(try store.watchedRead(read))
    }
    try add { tx in .zones(try tx.zones()) }
    let queries = queries(of: zones)
    for query in queries { try add { tx in .hits(try tx.hits(query)) } }
    try add { tx in .number(try queries.reduce(0) { try $0 + tx.count($1) }) }
    for zone in zones {
      try add { tx in try tx.hasZone(zone) ? .number(try tx.pendingCount(in: zone)) : .nothing }
      try add { tx in try tx.hasZone(zone) ? .number(Int(try tx.token(of: zone)?.offset ?? 0)) : .nothing }
      let target = RecordID(zone: zone, name: records[0])
      try add { tx in .place(try tx.place(of: target)) }
      try add { tx in .holders(try tx.holders(of: target)) }
      for name in records {
        let record = RecordID(zone: zone, name: name)
        try add { tx in try tx.hasZone(zone) ? .record(try tx.record(record)) : .nothing }
      }
    }
    return screens
  }

  /// Some records of the workloads.
  private static let records: [Name] = ["r0", "r1", "link0"]

  /// A window of an index, ranges and elements of others, a look at all records, and one through references.
  private static func queries(of zones: [ZoneID]) -> [RecordQuery] {
    let (first, last) = (QueryField(.field("f0", .register)), QueryField(.field("f2", .register)))
    var target = first
    target.path = ["f1"]
    return [
      RecordQuery(types: ["t0", "t1"], zones: zones, order: [QueryOrder(first)], limit: 2),
      RecordQuery(
        types: ["link"], zones: zones, condition: .compare(.value(of: "generation"), .greater, 500_000_000)),
      RecordQuery(
        types: ["t0", "t1"], zones: zones,
        condition: .contains(QueryField(.field("f2", .set)), .int(3))),
      RecordQuery(zones: zones, condition: .compare(last, .notEqual, .null)),
      RecordQuery(types: ["entry"], zones: zones, condition: .compare(.value(of: "amount"), .greater, 90)),
      RecordQuery(zones: zones, condition: .compare(target, .notEqual, .null)),
    ]
  }
}
