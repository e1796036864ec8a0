import EventStore
import OperationFormat

/// Work with whole zones in another process.
extension CrashWriter {
  /// Deletes the first zone and creates it again, with another record.
  static func replaceZone(in directory: String) async throws {
    let store = try open(directory, "consistent")
    try await store.write { tx in
      try tx.deleteZone(zones[0])
      try tx.createZone(zones[0])
      try tx.create(RecordID(zone: zones[0], name: "second"), type: "note")
    }
    store.close()
    say("done")
  }

  /// The page of a list of zones that both processes of a test apply.
  static func page() -> (events: [ZoneEvent], token: DatabaseToken) {
    var events: [ZoneEvent] = []
    for number in 0..<50 {
      let zone = ZoneID(name: Name("listed\(number)"))
      let incarnation = IncarnationID(rawValue: UInt128(1000 + number))
      events.append(ZoneEvent(kind: .created, zone: zone, incarnation: incarnation))
      if number % 5 == 0 { events.append(ZoneEvent(kind: .deleted, zone: zone, incarnation: incarnation)) }
    }
    let token = DatabaseToken(
      remote: RemoteID(rawValue: 5), offset: UInt64(events.count), hash: ContentHash(of: [5].span.bytes))
    return (events, token)
  }

  static func applyPage(in directory: String) async throws {
    let store = try open(directory, "consistent")
    let (events, token) = page()
    let report = try await store.applyZoneEvents(events, token: token, chosen: nil)
    store.close()
    say("\(report.created.count) created")
  }

  /// Stores the next cut of a zone, and prints its last sequence.
  static func cut(in directory: String) async throws {
    let store = try open(directory, "consistent")
    guard let cut = try store.nextCut(of: zones[0]) else { return say("nothing") }
    let stored = try await store.storeCut(cut.header, of: zones[0])
    store.close()
    say("\(stored.sequences.upperBound)")
  }

  /// Reclaims the space of deleted zones, repeatedly.
  static func reclaim(in directory: String) async throws {
    let store = try open(directory, "consistent")
    while true {
      let report = try await store.reclaim { say("\($0.transactions)") }
      say("\(report.zones) zones")
    }
  }
}
