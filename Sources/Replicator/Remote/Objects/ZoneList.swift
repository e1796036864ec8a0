internal import OperationFormat

/// A remote's list of zones, as far as it was read: its events, and the logs that follow from them.
///
/// It cannot be copied: to add an event while a copy exists would copy the whole list.
struct ZoneList: ~Copyable, Sendable {
  struct Entry: Sendable {
    /// Nil if it cannot be read, or was given up.
    var event: ZoneEvent?
    /// The hash of the event's bytes, which the next one names.
    var hash: ContentHash
    /// Whether the event changed anything. An impossible event, such as the creation of a zone that exists,
    /// does not.
    var counts = false
  }

  /// What was found at an offset of the list.
  enum Found: Sendable {
    /// An event with this offset.
    case event([UInt8])
    /// It was given up.
    case tombstone([UInt8])
    /// It cannot be read.
    case unreadable(RemoteError, hash: ContentHash)
  }

  /// The log of one incarnation of a zone.
  struct Log: Sendable {
    var zone: ZoneID
    /// Why it is closed; nil while it is open.
    var fate: ZoneFate?
  }

  /// The remote that has the list.
  let remote: RemoteID
  /// The entries in their order: that of offset n has the index n − 1.
  private(set) var entries: [Entry] = []
  /// The open log of each zone that has one.
  private(set) var live: [ZoneID: IncarnationID] = [:]
  /// All logs that the events name.
  private(set) var logs: [IncarnationID: Log] = [:]

  init(of remote: RemoteID) { self.remote = remote }

  /// The offset of the last event; 0 before the first.
  var offset: UInt64 { UInt64(entries.count) }

  /// The hash of the last event.
  var hash: ContentHash { entries.last?.hash ?? .zero }

  /// The token of an offset of at most ``offset``.
  func token(at offset: UInt64) -> DatabaseToken {
    DatabaseToken(remote: remote, offset: offset, hash: offset == 0 ? .zero : entries[Int(offset) - 1].hash)
  }

  /// Whether the list has a token's event, or an event that cannot be read in its place.
  func contains(_ token: DatabaseToken) -> Bool {
    guard token.offset <= offset else { return false }
    return isUnknown(at: token.offset) || self.token(at: token.offset) == token
  }

  /// Whether the event of an offset is unreadable or given up.
  private func isUnknown(at offset: UInt64) -> Bool { offset > 0 && entries[Int(offset) - 1].event == nil }

  /// Whether an event is unreadable or given up: there may be logs that the list does not name.
  private(set) var hasGaps = false

  /// Why events cannot be read, by their offsets. Beside the entries, which are many: an error is as large as
  /// three of them.
  private(set) var problems: [UInt64: RemoteError] = [:]

  /// The offsets of the events that cannot be read, in order.
  private(set) var unreadable: [UInt64] = []

  /// The incarnation of a zone that exists; nil if the zone is to be made with the proposed one.
  ///
  /// - Throws: ``RemoteError`` `mismatch` if the proposed one is another zone's.
  func incarnation(
    of zone: ZoneID, proposing proposed: IncarnationID
  ) throws(RemoteError) -> IncarnationID? {
    if let live = live[zone] { return live }
    guard let log = logs[proposed] else { return nil }
    // An earlier try made it, and it was deleted since: both tries get the same answer.
    if log.zone == zone { return proposed }
    throw RemoteError(
      .mismatch, "another zone has the incarnation \(proposed) already",
      hint: "propose random bits that were never used")
  }

  /// Encodes an event for the offset after the last.
  ///
  /// - Throws: ``RemoteError`` `mismatch` if the zone's name is empty or too long.
  func encodeNext(_ event: ZoneEvent) throws(RemoteError) -> [UInt8] {
    do throws(FormatError) {
      return try event.encode(at: offset + 1, after: hash)
    } catch {
      throw RemoteError(.mismatch, "the zone cannot be made: \(error)", hint: error.hint, underlying: error)
    }
  }

  /// Adds what was found at the offset after the last.
  ///
  /// An event whose hash of the event before it is wrong counts too: if someone has joined two
  /// copies of a remote, that must not stop all stores.
  ///
  /// - Parameter name: the name of its object, for errors.
  /// - Throws: ``RemoteError`` `damaged` for bytes that are no event.
  mutating func add(_ found: Found, _ name: ObjectName) throws(RemoteError) {
    entries.append(try entry(found, name))
    apply(entries.count - 1)
    if case .unreadable(let problem, _) = found {
      problems[offset] = problem
      unreadable.append(offset)
    }
  }

  /// The events in a range of entries, without those that changed nothing.
  func events(_ range: Range<Int>) -> [ZoneEvent] {
    entries[range].compactMap { $0.counts ? $0.event : nil }
  }

  /// Replaces an event that could not be read by what was found since.
  ///
  /// - Throws: ``RemoteError``, as ``add(_:_:)``.
  mutating func replace(at offset: UInt64, _ found: Found, _ name: ObjectName) throws(RemoteError) {
    entries[Int(offset) - 1] = try entry(found, name)
    (live, logs, hasGaps) = ([:], [:], false)
    for index in entries.indices { apply(index) }
    problems[offset] = if case .unreadable(let problem, _) = found { problem } else { nil }
    unreadable = problems.keys.sorted()
  }

  private func entry(_ found: Found, _ name: ObjectName) throws(RemoteError) -> Entry {
    switch found {
    case .unreadable(_, let hash): return Entry(event: nil, hash: hash)
    case .tombstone(let bytes): return Entry(event: nil, hash: ContentHash(of: bytes.span.bytes))
    case .event(let bytes):
      do throws(FormatError) {
        let read = try ZoneEvent.read(bytes.span.bytes)
        return Entry(event: read.event, hash: read.hash)
      } catch {
        throw .damaged(.damaged, name, error)
      }
    }
  }

  /// Applies an event. An impossible one, such as the creation of a zone that exists, changes nothing.
  private mutating func apply(_ index: Int) {
    guard let event = entries[index].event else {
      hasGaps = true
      return
    }
    entries[index].counts = apply(event)
  }

  /// - Returns: whether it changed anything.
  private mutating func apply(_ event: ZoneEvent) -> Bool {
    switch event.kind {
    case .created:
      guard live[event.zone] == nil, logs[event.incarnation] == nil else { return false }
      begin(event)
      return true
    case .deleted: return end(event, .deleted)
    case .purged: return end(event, .purged)
    case .reset:
      guard logs[event.incarnation] == nil else { return false }
      if let before = live[event.zone] { logs[before]?.fate = .reset(event.incarnation) }
      begin(event)
      return true
    default: return false
    }
  }

  private mutating func begin(_ event: ZoneEvent) {
    live[event.zone] = event.incarnation
    logs[event.incarnation] = Log(zone: event.zone)
  }

  private mutating func end(_ event: ZoneEvent, _ fate: ZoneFate) -> Bool {
    // The event of its creation may be unreadable.
    if logs[event.incarnation] == nil, hasGaps { logs[event.incarnation] = Log(zone: event.zone) }
    guard let log = logs[event.incarnation], log.zone == event.zone, log.fate == nil else { return false }
    logs[event.incarnation]?.fate = fate
    if live[event.zone] == event.incarnation { live[event.zone] = nil }
    return true
  }
}
