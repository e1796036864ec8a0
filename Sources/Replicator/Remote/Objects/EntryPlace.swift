package import OperationFormat

/// The place of an entry in a zone's log, or of an event in the list of zones.
package struct EntryPlace: Hashable, Sendable, CustomStringConvertible {
  /// The log; nil for the list of zones.
  package var log: Log?
  /// From 1.
  package var offset: UInt64

  /// The log of one incarnation of a zone.
  package struct Log: Hashable, Sendable {
    package var zone: ZoneID
    package var incarnation: IncarnationID

    package init(_ zone: ZoneID, _ incarnation: IncarnationID) {
      self.zone = zone
      self.incarnation = incarnation
    }
  }

  package init(log: Log? = nil, offset: UInt64) {
    self.log = log
    self.offset = offset
  }

  /// The name of its object.
  package var name: ObjectName {
    log.map { .entry(of: $0.incarnation, offset) } ?? .zoneEvent(offset)
  }

  /// The name of its amendment.
  package var amendmentName: ObjectName { .amendment(of: log?.incarnation, offset) }

  package var description: String { "\(name)" }
}

/// What is at a place.
package enum EntryState: Sendable {
  case readable
  case givenUp(LogTombstone)
  /// A newer version can read it.
  case newer(RemoteError)
  /// It is damaged. Its header may be readable.
  case unreadable(LogTombstone.Content, header: SegmentHeader?, RemoteError)
  /// Nothing is there, and an object follows.
  case hole(RemoteError)
  /// Nothing is there, nor at the next offset.
  case end
}
