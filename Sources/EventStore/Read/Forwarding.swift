public import OperationFormat

/// The way from a place that a record has left to where it is now. References that name the old place follow it.
///
/// It follows from the heads of the record's existence: no operation makes it, and it ends when the record is
/// created again at the old place.
public struct Forwarding: Hashable, Sendable {
  /// The place that the record has left.
  public let from: RecordID
  /// Where it was moved from there.
  public let to: RecordID
  /// Where it is now: it may have been moved again, or deleted.
  public let place: RecordPlace

  package init(from: RecordID, to: RecordID, place: RecordPlace) {
    (self.from, self.to, self.place) = (from, to, place)
  }
}

extension RecordReading where Self: ~Copyable {
  /// Where a record is now. If it does not exist where it is named, and its deletion there was a move, that is the
  /// place to which it was moved, and so on.
  ///
  /// It is ``RecordPlace/elsewhere(_:)`` if moves lead to a zone that this store does not have, also if the record
  /// itself is named there; and if the copy has not arrived yet in a zone that it has.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: a look-up for each zone on the way.
  public func place(of record: RecordID) throws -> RecordPlace {
    try ForwardingReader(reader.view).place(of: record)
  }

  /// Where a record exists now: it, or the copy that moves lead to. Nil if it does not exist, or is not in this
  /// store: ``place(of:)`` distinguishes these.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: as ``place(of:)``.
  public func current(_ record: RecordID) throws -> RecordID? {
    if case .here(let place) = try place(of: record) { place } else { nil }
  }

  /// Calls a closure with each record that moved away from a zone and is not there, in the order of their names,
  /// until it returns false.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the zone's records.
  public func forEachForwarding(in zone: ZoneID, _ body: (Forwarding) throws -> Bool) throws {
    let view = try reader.view
    let moves = ForwardingReader(view)
    let state = try view.state(of: zone)
    try view.forEachStoredRow(in: state, after: nil) { bytes, row in
      // The commonest case: one head says that the record exists.
      guard row.plainType == nil else { return true }
      let name = try Name(utf8: bytes)
      guard let to = try moves.destination(of: row, named: name, state) else { return true }
      return try body(
        Forwarding(from: RecordID(zone: zone, name: name), to: to, place: try moves.place(of: to)))
    }
  }

  /// The records that moved away from a zone and are not there, in the order of their names.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records.
  public func forwardings(in zone: ZoneID) throws -> [Forwarding] {
    var found: [Forwarding] = []
    try forEachForwarding(in: zone) { forwarding in
      found.append(forwarding)
      return true
    }
    return found
  }
}
