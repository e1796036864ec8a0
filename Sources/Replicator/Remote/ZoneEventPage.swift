public import EventStore

/// A part of a remote's list of zones.
public struct ZoneEventPage: Hashable, Sendable {
  public var events: [ZoneEvent]
  /// Where the page ended. Its offset is that of the last event, and offsets are dense from 1.
  public var token: DatabaseToken
  /// Whether there is more after it.
  public var hasMore: Bool
  /// The offset of the token that the page follows. An event that was given up has an offset, but is not in
  /// ``events``.
  public var startOffset: UInt64
  /// The events of the list that cannot be read, with the last page. The token does not pass the first one.
  public var problems: [ZoneListProblem] = []
  /// The events after the first that cannot be read. They come again with each page that ends before it.
  public var later: [ZoneEvent] = []

  /// Creates a page. `startOffset` is the offset of the token that it follows; nil if each offset has an
  /// event.
  public init(events: [ZoneEvent], token: DatabaseToken, hasMore: Bool, startOffset: UInt64? = nil) {
    self.events = events
    self.token = token
    self.hasMore = hasMore
    self.startOffset = startOffset ?? token.offset - min(token.offset, UInt64(events.count))
  }
}

/// An event of a remote's list of zones that cannot be read.
public struct ZoneListProblem: Hashable, Sendable, CustomStringConvertible {
  /// Its offset in the list.
  public var offset: UInt64
  public var failure: SyncFailure

  public init(offset: UInt64, failure: SyncFailure) {
    self.offset = offset
    self.failure = failure
  }

  public var description: String { "event \(offset) of the list of zones: \(failure)" }
}
