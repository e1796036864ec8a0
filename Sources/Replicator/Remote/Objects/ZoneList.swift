internal import OperationFormat

/// What a remote's list of zones says, as far as it was read: its events, and what follows from them.
///
/// It is not copied: a copy that is kept while an event is added would cost as much as the whole list.
struct ZoneList: ~Copyable, Sendable {
  struct Entry: Sendable {
    /// Nil where nobody can read it, or it was given up.
    var event: ZoneEvent?
    /// The hash of the event's bytes, which the next one names.
    var hash: ContentHash
    /// Why it cannot be read.
    var problem: RemoteError?
    /// Whether the event changed anything. What cannot be, such as a second life beside the first, is nobody's business.
    var counts = false
  }

  /// What was found at an offset of the list.
  enum Found: Sendable {
    /// An event that says that it lies there.
    case event([UInt8])
    /// It was given up.
    case tombstone([UInt8])
    /// Nobody can read it.
    case unreadable(RemoteError, hash: ContentHash)
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

  /// Whether a token's event is in the list, or was where nobody can read now what is there.
  func contains(_ token: DatabaseToken) -> Bool {
    guard token.offset <= offset else { return false }
    return isUnknown(at: token.offset) || self.token(at: token.offset) == token
  }

  /// Whether nobody knows what an offset's event was.
  private func isUnknown(at offset: UInt64) -> Bool { offset > 0 && entries[Int(offset) - 1].event == nil }

  /// Whether the list does not say all that it once said: there may be logs that it does not name.
  private(set) var hasGaps = false

  /// The offsets of the events that cannot be read, in order.
  private(set) var unreadable: [UInt64] = []

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

  /// Adds what was found at the place after the last.
  ///
  /// - Parameter name: where it lies, for errors.
  /// An event that names another one before it than is there counts as it stands: who joined two copies of a remote did not
  /// mean to stop everybody.
  ///
  /// - Throws: ``RemoteError`` `damaged` for bytes that are no event.
  mutating func add(_ found: Found, _ name: ObjectName) throws(RemoteError) {
    entries.append(try entry(found, name))
    apply(entries.count - 1)
    if entries[entries.count - 1].problem != nil { unreadable.append(offset) }
  }

  /// The events of some entries that count.
  func events(_ range: Range<Int>) -> [ZoneEvent] {
    entries[range].compactMap { $0.counts ? $0.event : nil }
  }

  /// Puts what was found since in the place of an event that could not be read.
  ///
  /// - Throws: ``RemoteError``, as ``add(_:_:)``.
  mutating func replace(at offset: UInt64, _ found: Found, _ name: ObjectName) throws(RemoteError) {
    entries[Int(offset) - 1] = try entry(found, name)
    (live, logs, hasGaps) = ([:], [:], false)
    for index in entries.indices { apply(index) }
    unreadable = entries.indices.filter { entries[$0].problem != nil }.map { UInt64($0) + 1 }
  }

  private func entry(_ found: Found, _ name: ObjectName) throws(RemoteError) -> Entry {
    switch found {
    case .unreadable(let problem, let hash): return Entry(event: nil, hash: hash, problem: problem)
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

  /// Does what an event says.
  ///
  /// What cannot be, such as a second life beside the first, changes nothing: the first stays.
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
    // The event of its beginning may be one that nobody can read.
    if logs[event.incarnation] == nil, hasGaps { logs[event.incarnation] = Log(zone: event.zone) }
    guard let log = logs[event.incarnation], log.zone == event.zone, log.fate == nil else { return false }
    logs[event.incarnation]?.fate = fate
    if live[event.zone] == event.incarnation { live[event.zone] = nil }
    return true
  }
}
