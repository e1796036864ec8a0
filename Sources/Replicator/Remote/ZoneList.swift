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

  /// Adds the next event.
  ///
  /// What cannot be, such as a second life beside the first, changes nothing: the first stays.
  mutating func add(_ event: ZoneEvent, hash: ContentHash) {
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
