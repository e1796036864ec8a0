package import OperationFormat

/// The place of an entry in a remote: of a zone's log, or of the list of zones.
package struct EntryPlace: Hashable, Sendable, CustomStringConvertible {
  /// The log; nil for the list of zones.
  package var log: Log?
  /// From 1.
  package var offset: UInt64

  /// One life of a zone's log.
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

  /// Where its object lies.
  package var name: ObjectName {
    log.map { .entry(of: $0.incarnation, offset) } ?? .zoneEvent(offset)
  }

  /// Where lies what counts instead of it.
  package var amendmentName: ObjectName { .amendment(of: log?.incarnation, offset) }

  package var description: String { "\(name)" }
}

/// What lies at a place.
package enum EntryState: Sendable {
  case readable
  case givenUp(LogTombstone)
  /// A newer version can read it.
  case newer(RemoteError)
  /// Nobody can read it. The header may be readable, where the body is not.
  case unreadable(LogTombstone.Content, header: SegmentHeader?, RemoteError)
  /// Nothing lies there, and something behind it.
  case hole(RemoteError)
  /// Nothing lies there, nor at the next offset.
  case end
}
