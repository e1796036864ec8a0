import LMDB
import OperationFormat

/// The events of the remote's list of zones, as far as the store has read it: if the list loses its end, the events are put
/// back from here.
///
/// They are rows of `incarnations`: 4, offset (8). Of a page in which an event was given up, or counts for nothing, none is
/// kept. Events do not say here which one they follow: the hash in the store's token proves it.
struct ZoneEventTable<Source: TableReading>: TableView {
  let source: Source

  /// The event at an offset; nil if it is not known.
  func event(at offset: UInt64) throws -> ZoneEvent? {
    try transaction.withCheckedValue(of: .zoneEvent(offset), in: tables.incarnations) { try event($0) }
  }

  /// Calls a closure with each event that is known, in the order of the list.
  func forEachEvent(_ body: (ZoneEvent) throws -> Void) throws {
    let prefix = TableKey.zoneEvent(0).span.extracting(..<1).bytes
    try transaction.forEachEntry(in: tables.incarnations, under: prefix) { key, row in
      try body(try event(CheckedRow.content(of: row, under: key)))
      return true
    }
  }

  private func event(_ row: RawSpan) throws -> ZoneEvent {
    var reader = ByteReader(row)
    let kind = ZoneEvent.Kind(rawValue: try reader.readUInt8("event.kind"))
    let incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("event.incarnation"))
    return ZoneEvent(
      kind: kind, zone: try ZoneID(interned: row.extracting(reader.position...)),
      incarnation: try incarnations.identity(of: incarnation))
  }

  /// The events after an offset, up to another one; nil if one of them is not known.
  ///
  /// - Complexity: linear in them
  func events(after first: UInt64, through last: UInt64) throws -> [ZoneEvent]? {
    var events: [ZoneEvent] = []
    var offset = first
    while offset < last {
      offset += 1
      guard let event = try event(at: offset) else { return nil }
      events.append(event)
    }
    return events
  }
}

extension ZoneEventTable where Source == TableStorage {
  // | bytes | what |
  // |---|---|
  // | 1 | kind |
  // | varint | incarnation's number |
  // | 1, … | owner of the zone, with its byte count |
  // | … | name of the zone |

  /// Keeps the events of a page, if each of its offsets has one.
  func keep(_ events: [ZoneEvent], after start: UInt64, through last: UInt64) throws {
    guard last > start, UInt64(events.count) == last - start, events.allSatisfy(\.zone.canBeInterned) else {
      return
    }
    for (index, event) in events.enumerated() {
      let incarnation = try incarnations.makeNumber(for: event.incarnation)
      var zone = TableKey()
      event.zone.appendInterned(to: &zone)
      try source.putChecked(.zoneEvent(start + UInt64(index) + 1), in: tables.incarnations) { writer in
        writer.append(event.kind.rawValue)
        writer.append(varint: UInt64(incarnation.rawValue))
        writer.append(zone.span)
      }
    }
  }
}

extension TableKey {
  fileprivate static func zoneEvent(_ offset: UInt64) -> TableKey {
    var key = TableKey()
    key.append(UInt8(4))
    return key.appending(offset)
  }
}
