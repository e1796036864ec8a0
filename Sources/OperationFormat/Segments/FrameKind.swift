/// The kind of a remote's file, which its first four bytes tell.
package enum FrameKind: Hashable, Sendable, CaseIterable {
  /// A segment as it is sent (``SegmentFrame``).
  case segment
  /// A segment as a remote log stores it (``SegmentEnvelope``).
  case envelope
  /// The end of a zone's log (``LogSeal``).
  case seal
  /// An entry of a remote's list of zones (``ZoneEvent``).
  case zoneEvent
  /// The object that marks an entry as given up (``LogTombstone``).
  case tombstone
  /// What a snapshot has (``SnapshotManifest``).
  case snapshot
  /// Where a log begins (``LogFloor``).
  case floor

  /// The kind of the frame that starts with `bytes`; nil if there is no such kind, or there are fewer than
  /// four bytes.
  package init?(of bytes: RawSpan) {
    for kind in Self.allCases {
      var reader = ByteReader(bytes)
      do throws(FormatError) { try reader.readMagic(kind, "frame") } catch { continue }
      self = kind
      return
    }
    return nil
  }

  var magic: StaticString {
    switch self {
    case .segment: "TRSG"
    case .envelope: "TRLE"
    case .seal: "TRSE"
    case .zoneEvent: "TRZE"
    case .tombstone: "TRTS"
    case .snapshot: "TRSN"
    case .floor: "TRLF"
    }
  }
}
