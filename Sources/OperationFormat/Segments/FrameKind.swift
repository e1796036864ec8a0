/// What a file of a remote is, by the four bytes it begins with.
package enum FrameKind: Hashable, Sendable, CaseIterable {
  /// A segment as it travels (``SegmentFrame``).
  case segment
  /// A segment as a remote log keeps it (``SegmentEnvelope``).
  case envelope
  /// The end of a zone's log (``LogSeal``).
  case seal
  /// An entry of a remote's list of zones (``ZoneEvent``).
  case zoneEvent
  /// What stands for an entry that was given up (``LogTombstone``).
  case tombstone

  /// The kind of frame that `bytes` begin with; nil for none of them, or fewer than four bytes.
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
    }
  }
}
