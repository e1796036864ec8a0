internal import EventStore
internal import OperationFormat

/// Finds the order of events that were lost together: each names the hash of the one before, and a token
/// names the last.
struct OrderOfEvents {
  /// More events have very many orders; new events serve as well.
  private static let eventsMax = 8
  private static let triesMax = 50_000

  let logs: [EntryPlace.Log]
  let last: DatabaseToken
  private var tries = 0

  init(logs: [EntryPlace.Log], last: DatabaseToken) {
    self.logs = logs
    self.last = last
  }

  /// The events up to the token with their offsets; nil if none of the logs' orders gives the token's hash.
  mutating func find(after token: DatabaseToken) throws -> [(offset: UInt64, bytes: [UInt8])]? {
    guard last.offset > token.offset, last.offset - token.offset <= min(Self.eventsMax, logs.count) else {
      return nil
    }
    return try find(token.offset, token.hash, [])
  }

  private mutating func find(
    _ offset: UInt64, _ hash: ContentHash, _ taken: Set<Int>
  ) throws -> [(offset: UInt64, bytes: [UInt8])]? {
    if offset == last.offset { return hash == last.hash ? [] : nil }
    for (index, log) in logs.enumerated() where !taken.contains(index) && tries < Self.triesMax {
      tries += 1
      let event = ZoneEvent(kind: .created, zone: log.zone, incarnation: log.incarnation)
      let bytes = try event.encode(at: offset + 1, after: hash)
      guard let rest = try find(offset + 1, ContentHash(of: bytes.span.bytes), taken.union([index])) else {
        continue
      }
      return [(offset + 1, bytes)] + rest
    }
    return nil
  }
}

/// What the list of zones says about an event that cannot be read.
struct LostEvent: Sendable {
  /// Whether the event before it can be read.
  let followsEvent: Bool
  /// The hash of the event before it.
  let previous: ContentHash
  /// The hash of the object there.
  let content: ContentHash
  /// Those of the given logs that other events name.
  let logsThere: Set<IncarnationID>

  /// Nil if the event can be read.
  ///
  /// - Parameter list: the list, read to its end.
  init?(
    at offset: UInt64, _ logs: [IncarnationID], _ list: KnownZones, _ events: ZoneListEntries
  ) async throws(RemoteError) {
    guard list.isUnreadable(offset), case .unreadable(_, let content)? = try await events.read(offset) else {
      return nil
    }
    let before = offset == 1 ? nil : try await events.read(offset - 1)
    followsEvent = offset == 1 || before?.event != nil
    previous = before?.hash ?? .zero
    self.content = content
    logsThere = Set(logs.filter { list.log($0) != nil })
  }
}
