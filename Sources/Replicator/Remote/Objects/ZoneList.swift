internal import EventStore
internal import OperationFormat

/// What is known of a remote's list of zones, as far as it was read: the logs that follow from its events, and
/// what is wrong with the list.
///
/// It keeps neither events nor names: a page of the list is read from its objects again. Only while an event
/// cannot be read, it keeps the events after that one, because each page has them.
///
/// It cannot be copied: to add an event while a copy exists would copy the whole.
struct ZoneList: ~Copyable, Sendable {
  /// The most events that are read. A log costs some fifty bytes of memory, and a remote is not to be believed
  /// that it has any number of them.
  static let eventsMax: UInt64 = 1 << 26

  private struct Later {
    var offset: UInt64
    var event: ZoneEvent
  }

  /// The remote that has the list.
  let remote: RemoteID
  private let eventsMax: UInt64
  /// The offset of the last event; 0 before the first.
  private(set) var offset: UInt64 = 0
  /// The hash of the last event.
  private(set) var hash = ContentHash.zero
  /// Whether the last event could be read, and was not given up.
  private(set) var isLastKnown = false
  private var logs: ZoneLogs
  /// A bit for each event: whether it changed anything. An impossible event, such as the creation of a zone
  /// that exists, does not. That of offset n is bit n − 1.
  private var counting: [UInt64] = []
  /// How many events cannot be read, or were given up.
  private var gapCount = 0
  /// Logs of which only the end is known, or that they were opened again. They were added because there are gaps.
  private var endsAlone = 0
  /// Why events cannot be read, by their offsets.
  private(set) var problems: [UInt64: RemoteError] = [:]
  /// The offsets of the events that cannot be read, in order.
  private(set) var unreadable: [UInt64] = []
  /// The events that count after the first that cannot be read.
  private var later: [Later] = []

  /// - Parameters:
  ///   - eventsMax: the most events.
  ///   - logs: none yet.
  init(of remote: RemoteID, eventsMax: UInt64 = Self.eventsMax, logs: ZoneLogs = ZoneLogs()) {
    self.remote = remote
    self.eventsMax = min(eventsMax, UInt64(RowTable.rowsMax))
    self.logs = logs
  }

  // MARK: Reading

  /// Where the list ends, as far as it was read.
  var token: DatabaseToken { DatabaseToken(remote: remote, offset: offset, hash: hash) }

  /// Whether an event is unreadable or given up: there may be logs that the list does not name.
  var hasGaps: Bool { gapCount > 0 }

  /// The bytes that it holds, without those of names and errors.
  var heldBytes: Int {
    logs.heldBytes + counting.capacity * MemoryLayout<UInt64>.stride
      + later.capacity * MemoryLayout<Later>.stride + unreadable.capacity * MemoryLayout<UInt64>.stride
      + problems.capacity * MemoryLayout<(UInt64, RemoteError)>.stride
  }

  /// What the list says of a log.
  func log(_ incarnation: IncarnationID) -> ZoneLogs.Log? { logs.log(incarnation) }

  /// The open log of a zone; nil if it has none.
  func openLog(of zone: ZoneID) -> IncarnationID? { logs.openLog(of: ZoneLogs.ZoneKey(zone)) }

  /// Whether the event of an offset that was read changed anything.
  func counts(at offset: UInt64) -> Bool {
    precondition(1...self.offset ~= offset, "the list was not read that far")
    return counting[Int(offset - 1) / 64] >> ((offset - 1) % 64) & 1 == 1
  }

  /// Whether what is at an offset that was read may have been there then: an event that counted names its log.
  func mayBe(_ found: FoundZoneEvent, at offset: UInt64) -> Bool {
    switch found {
    case .event(let event, _, _):
      !counts(at: offset) || logs.log(event.incarnation)?.zone == ZoneLogs.ZoneKey(event.zone)
    case .tombstone: !counts(at: offset)
    case .unreadable: problems[offset] != nil
    }
  }

  /// The events that count after an offset, if one at or before the next offset cannot be read.
  func later(than offset: UInt64) -> [ZoneEvent] {
    later[(later.prefixCount { $0.offset <= offset })...].map(\.event)
  }

  /// The incarnation of a zone that exists; nil if the zone is to be made with the proposed one.
  ///
  /// - Throws: ``RemoteError`` `mismatch` if the proposed one is another zone's.
  func incarnation(
    of zone: ZoneID, proposing proposed: IncarnationID
  ) throws(RemoteError) -> IncarnationID? {
    let key = ZoneLogs.ZoneKey(zone)
    if let open = logs.openLog(of: key) { return open }
    guard let log = logs.log(proposed) else { return nil }
    // An earlier try made it, and it was deleted since: both tries get the same answer.
    if log.zone == key { return proposed }
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

  // MARK: Adding

  /// Adds what was found at the offset after the last.
  ///
  /// An event whose hash of the event before it is wrong counts too: if someone has joined two
  /// copies of a remote, that must not stop all stores.
  ///
  /// - Throws: ``RemoteError`` `damaged` if the list has more events than are read.
  mutating func add(_ found: FoundZoneEvent) throws(RemoteError) {
    guard offset < eventsMax else {
      throw RemoteError(
        .damaged, "the list of zones has more than \(eventsMax) events",
        hint: "no more are read: divide the zones among several remotes")
    }
    offset += 1
    hash = found.hash
    isLastKnown = found.event != nil
    if offset % 64 == 1 { counting.append(0) }
    switch found {
    case .event(let event, _, _):
      guard apply(event) else { return }
      setCounts(at: offset)
      if !unreadable.isEmpty { later.append(Later(offset: offset, event: event)) }
    case .tombstone: gapCount += 1
    case .unreadable(let problem, _):
      gapCount += 1
      problems[offset] = problem
      unreadable.append(offset)
    }
  }

  /// Takes what was found since at the offset of an event that could not be read.
  ///
  /// - Returns: false if later events may mean something else with it: then the list is to be read again from
  ///   its start.
  mutating func mend(at offset: UInt64, _ found: FoundZoneEvent) -> Bool {
    guard problems[offset] != nil else { return true }
    switch found {
    case .unreadable: return true
    case .tombstone: break
    case .event(let event, _, _):
      // No later event names the log or the zone, and none counts only because of a gap.
      guard event.kind == .created, endsAlone == 0, logs.log(event.incarnation) == nil,
        !logs.hasHad(ZoneLogs.ZoneKey(event.zone))
      else { return false }
      logs.make(event.incarnation, of: ZoneLogs.ZoneKey(event.zone))
      setCounts(at: offset)
      gapCount -= 1
      later.insert(Later(offset: offset, event: event), at: later.prefixCount { $0.offset <= offset })
    }
    if offset == self.offset { (hash, isLastKnown) = (found.hash, found.event != nil) }
    problems[offset] = nil
    unreadable.remove(at: unreadable.prefixCount { $0 < offset })
    let first = unreadable.first ?? .max
    // A new array: the room of a long one is not kept.
    later = Array(later[(later.prefixCount { $0.offset <= first })...])
    return true
  }

  private mutating func setCounts(at offset: UInt64) {
    counting[Int(offset - 1) / 64] |= 1 << ((offset - 1) % 64)
  }

  /// Applies an event. An impossible one, such as the creation of a zone that exists, changes nothing.
  ///
  /// - Returns: whether it changed anything.
  private mutating func apply(_ event: ZoneEvent) -> Bool {
    let zone = ZoneLogs.ZoneKey(event.zone)
    switch event.kind {
    case .created:
      guard logs.openLog(of: zone) == nil, logs.log(event.incarnation) == nil else { return false }
    case .deleted: return end(event.incarnation, of: zone, .deleted)
    case .purged: return end(event.incarnation, of: zone, .purged)
    case .reset: return end(event.incarnation, of: zone, .reset)
    case .reopened: return reopen(event.incarnation, of: zone)
    default: return false
    }
    logs.make(event.incarnation, of: zone)
    return true
  }

  private mutating func reopen(_ log: IncarnationID, of zone: ZoneLogs.ZoneKey) -> Bool {
    guard logs.openLog(of: zone) == nil else { return false }
    guard let known = logs.log(log) else {
      // The events of its beginning and its end may be unreadable.
      if hasGaps {
        logs.make(log, of: zone)
        endsAlone += 1
      }
      return hasGaps
    }
    guard known.zone == zone, known.fate?.mayReopen ?? false else { return false }
    logs.reopen(log)
    return true
  }

  private mutating func end(_ log: IncarnationID, of zone: ZoneLogs.ZoneKey, _ fate: ZoneFate) -> Bool {
    guard let known = logs.log(log) else {
      // The event of its creation may be unreadable.
      if hasGaps {
        logs.addClosed(log, of: zone, fate)
        endsAlone += 1
      }
      return hasGaps
    }
    guard known.zone == zone, known.fate == nil else { return false }
    logs.close(log, fate)
    return true
  }
}
