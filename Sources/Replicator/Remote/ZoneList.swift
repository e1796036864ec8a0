internal import OperationFormat

/// What a remote's list of zones says, as far as it was read: its events, and what follows from them.
struct ZoneList: Sendable {
  struct Entry: Sendable {
    var event: ZoneEvent
    /// The hash of the event's bytes, which the next one names.
    var hash: ContentHash
  }

  /// One life of a zone's log.
  struct Log: Sendable {
    var zone: ZoneID
    /// Why it is closed; nil while it is open.
    var fate: ZoneFate?
  }

  /// Whose list it is.
  let remote: RemoteID
  /// The events in their order: that of offset n is at n − 1.
  private(set) var entries: [Entry] = []
  /// The open log of each zone that has one.
  private(set) var live: [ZoneID: IncarnationID] = [:]
  /// All logs that there ever were.
  private(set) var logs: [IncarnationID: Log] = [:]

  init(of remote: RemoteID) { self.remote = remote }

  /// The offset of the last event; 0 before the first.
  var offset: UInt64 { UInt64(entries.count) }

  /// The hash of the last event.
  var hash: ContentHash { entries.last?.hash ?? .zero }

  /// The place of the event at an offset of at most ``offset``.
  func token(at offset: UInt64) -> DatabaseToken {
    DatabaseToken(remote: remote, offset: offset, hash: offset == 0 ? .zero : entries[Int(offset) - 1].hash)
  }

  /// Whether a token's event is in the list.
  func contains(_ token: DatabaseToken) -> Bool {
    token.offset <= offset && self.token(at: token.offset) == token
  }

  /// The incarnation of a zone that is there; nil if it is to be made under the proposed one.
  ///
  /// - Throws: ``RemoteError`` `mismatch` if the proposed one is another zone's.
  func incarnation(
    of zone: ZoneID, proposing proposed: IncarnationID
  ) throws(RemoteError) -> IncarnationID? {
    if let live = live[zone] { return live }
    guard let log = logs[proposed] else { return nil }
    // An earlier try made it, and it was deleted since: the answer to that try is the answer to this one.
    if log.zone == zone { return proposed }
    throw RemoteError(
      .mismatch, "the incarnation \(proposed) is another zone's already",
      hint: "propose random bits that were never used")
  }

  /// Encodes an event for the place after the last.
  ///
  /// - Throws: ``RemoteError`` `mismatch` if the zone's name is empty or too long.
  func encodeNext(_ event: ZoneEvent) throws(RemoteError) -> [UInt8] {
    do throws(FormatError) {
      return try event.encode(at: offset + 1, after: hash)
    } catch {
      throw RemoteError(.mismatch, "the zone cannot be made: \(error)", hint: error.hint, underlying: error)
    }
  }

  /// Reads the next event and adds it.
  ///
  /// - Parameter name: where it lies, for errors.
  /// - Throws: ``RemoteError`` `damaged` if it is none, or not the one that comes after the last; `newerFormat`.
  mutating func add(_ bytes: [UInt8], _ name: ObjectName) throws(RemoteError) {
    do throws(FormatError) {
      let read = try ZoneEvent.read(bytes.span.bytes)
      try checkIsSame(read.offset, offset + 1, at: 0, "zoneEvent.offset")
      try checkIsSame(read.previous, hash, at: 0, "zoneEvent.previous")
      add(read.event, hash: read.hash)
    } catch {
      throw .damaged(.damaged, name, error)
    }
  }

  /// Checks that bytes are an event, whichever.
  ///
  /// - Throws: ``RemoteError`` `damaged`; `newerFormat`.
  func check(_ bytes: [UInt8], _ name: ObjectName) throws(RemoteError) {
    do throws(FormatError) {
      _ = try ZoneEvent.read(bytes.span.bytes)
    } catch {
      throw .damaged(.damaged, name, error)
    }
  }

  /// Adds the next event.
  ///
  /// What cannot be, such as a second life beside the first, changes nothing: the first stays.
  private mutating func add(_ event: ZoneEvent, hash: ContentHash) {
    entries.append(Entry(event: event, hash: hash))
    switch event.kind {
    case .created:
      guard live[event.zone] == nil, logs[event.incarnation] == nil else { return }
      begin(event)
    case .deleted: end(event, .deleted)
    case .purged: end(event, .purged)
    case .reset:
      guard logs[event.incarnation] == nil else { return }
      if let before = live[event.zone] { logs[before]?.fate = .reset(event.incarnation) }
      begin(event)
    default: return
    }
  }

  private mutating func begin(_ event: ZoneEvent) {
    live[event.zone] = event.incarnation
    logs[event.incarnation] = Log(zone: event.zone)
  }

  private mutating func end(_ event: ZoneEvent, _ fate: ZoneFate) {
    guard let log = logs[event.incarnation], log.zone == event.zone, log.fate == nil else { return }
    logs[event.incarnation]?.fate = fate
    live[event.zone] = nil
  }
}
