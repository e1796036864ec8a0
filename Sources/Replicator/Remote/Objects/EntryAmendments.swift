internal import EventStore
internal import OperationFormat

/// What whoever runs a remote can do about an entry that nobody can read: put what was there again, or give it up.
///
/// Either lies beside the log, under a name of its own, where an object that cannot be read has the entry's name; where
/// nothing has it, under that. So the first one counts, for everybody, and is never changed while it can be read. One that
/// cannot be read amends nothing, and is replaced.
extension ObjectRemote {
  /// Looks at what lies at a place, whatever counts instead of it.
  package func state(of place: EntryPlace) async throws(RemoteError) -> EntryState {
    let problem: RemoteError
    do throws(RemoteError) {
      if let found = try await found(at: place.name, place) { return found }
      let isHole =
        if let log = place.log {
          try await self.isHole(place.offset, of: log.incarnation)
        } else {
          try await isHoleOfList(place.offset)
        }
      return isHole ? .hole(.missing(place.name)) : .end
    } catch {
      if error.isOfNewerEntry { return .newer(error) }
      guard error.isAboutOneObject else { throw error }
      problem = error
    }
    let (content, header) = try await content(of: place)
    return .unreadable(content, header: header, problem)
  }

  /// What counts instead of the object at a place if it cannot be read; nil if nothing does.
  ///
  /// - Throws: ``RemoteError`` if what lies there amends nothing.
  package func amendment(of place: EntryPlace) async throws(RemoteError) -> EntryState? {
    try await found(at: place.amendmentName, place)
  }

  /// What lies under a name of a place; nil if nothing does.
  private func found(
    at name: ObjectName, _ place: EntryPlace
  ) async throws(RemoteError) -> EntryState? {
    if let log = place.log {
      guard let found = try await objects.get(name, bytesMax: LogObject.bytesMax) else { return nil }
      let entry = try LogObject.read(found, name, log.zone, log.incarnation, place.offset)
      guard case .tombstone = entry else { return .readable }
      return .givenUp(try Self.tombstone(found, name))
    }
    switch try await eventObject(name, place.offset) {
    case .tombstone(let found)?: return .givenUp(try Self.tombstone(found, name))
    case nil: return nil
    default: return .readable
    }
  }

  private static func tombstone(
    _ bytes: [UInt8], _ name: ObjectName
  ) throws(RemoteError) -> LogTombstone {
    do throws(FormatError) {
      return try LogTombstone.read(bytes.span.bytes)
    } catch {
      throw .damaged(.damaged, name, error)
    }
  }

  /// Gives up an entry that nobody can read: every reader takes it for an empty one from now on.
  ///
  /// - Parameters:
  ///   - place: the entry.
  ///   - last: the last offset of the log where something lies, by a list of the objects.
  ///   - note: why, for people.
  ///   - milliseconds: since 1970.
  /// - Returns: what counts as the entry now: the tombstone, or what was put before.
  /// - Throws: ``RemoteError`` `mismatch` if there is nothing to give up; `newerSegment`, `newerFormat` if a newer
  ///   version can read it.
  package func quarantine(
    _ place: EntryPlace, last: UInt64, note: String, milliseconds: UInt64
  ) async throws(RemoteError) -> EntryState {
    var tombstone = LogTombstone(
      incarnation: place.log?.incarnation, offset: place.offset, milliseconds: milliseconds, content: nil,
      note: note)
    var name = place.name
    switch try await state(of: place) {
    case .readable:
      throw RemoteError(
        .mismatch, "\(place) can be read", hint: "only what nobody can read is given up", offset: place.offset
      )
    case .givenUp(let before): return .givenUp(before)
    case .newer(let error): throw place.log == nil ? error : error.ofSegment
    case .end where place.offset >= last:
      throw RemoteError(
        .mismatch, "nothing lies at \(place), nor behind it",
        hint: "a log that lost its end takes back what a store has: `replay remote REMOTE --repair STORE`",
        offset: place.offset)
    case .unreadable(let content, _, _): (tombstone.content, name) = (content, place.amendmentName)
    case .hole, .end: break
    }
    let bytes: [UInt8]
    do throws(FormatError) {
      bytes = try tombstone.encode()
    } catch {
      throw RemoteError(.mismatch, "\(error)", hint: "write a shorter note", underlying: error)
    }
    return try await put(bytes, name, place)
  }

  /// Puts what was at a place again.
  ///
  /// - Parameter isOccupied: whether an object that cannot be read has the entry's name.
  /// - Returns: what counts as the entry now: this, or what was put before.
  package func putBack(
    _ bytes: [UInt8], at place: EntryPlace, isOccupied: Bool
  ) async throws(RemoteError) -> EntryState {
    try await put(bytes, isOccupied ? place.amendmentName : place.name, place)
  }

  /// Whether bytes that were put back are what counts at a place: another segment may have taken it.
  func counts(
    _ bytes: [UInt8], at place: EntryPlace, _ isOccupied: Bool
  ) async throws(RemoteError) -> Bool {
    let name = isOccupied ? place.amendmentName : place.name
    return try await objects.get(name, bytesMax: LogObject.bytesMax) == bytes
  }

  /// Puts back what says which remote it is, where that is missing or damaged.
  ///
  /// - Parameters:
  ///   - remote: which one it is.
  ///   - logs: logs of that remote. One must be there: an incarnation is random, so no other remote has it.
  /// - Throws: ``RemoteError``, why the marker cannot be read, if none of the logs is there.
  package func putMarkerBack(_ remote: RemoteID, logs: [IncarnationID]) async throws(RemoteError) {
    do throws(RemoteError) {
      _ = try await readIdentity()
    } catch {
      guard error.code == .notARemote || error.code == .damaged else { throw error }
      var isThere = false
      for log in logs where !isThere { isThere = try await exists(log, 1) }
      guard isThere else { throw error }
      try await objects.delete(.marker)
      _ = try await objects.putIfAbsent(.marker, RemoteMarker(remote: remote).bytes)
    }
  }

  /// What can still be told of an amendment that cannot be read.
  enum LostAmendment: Sendable {
    /// It gave the entry up: stores that have read it do not have the entry.
    case tombstone
    case segment(SegmentHeader)
    case unknown
  }

  /// Looks at an amendment that cannot be read; nil if there is none, or it can be read.
  func lostAmendment(of place: EntryPlace) async throws(RemoteError) -> LostAmendment? {
    do throws(RemoteError) {
      _ = try await amendment(of: place)
      return nil
    } catch {
      guard error.isAboutOneObject else { throw error }
    }
    do throws(RemoteError) {
      guard let prefix = try await objects.getPrefix(place.amendmentName, LogObject.prefixBytes) else {
        return nil
      }
      if FrameKind(of: prefix.bytes.span.bytes) == .tombstone { return .tombstone }
      guard let log = place.log,
        case .segment(let head) = try LogObject.look(
          at: prefix, place.amendmentName, log.zone, log.incarnation, place.offset)
      else { return .unknown }
      return .segment(head.header)
    } catch {
      guard error.isAboutOneObject else { throw error }
      return .unknown
    }
  }

  /// Removes what has the name of an amendment and cannot be read.
  private func removeLostAmendment(of place: EntryPlace) async throws(RemoteError) {
    // Looked at twice: what was damaged on its way alone counts.
    for _ in 0..<2 where try await lostAmendment(of: place) == nil { return }
    try await objects.delete(place.amendmentName)
  }

  private func put(
    _ bytes: [UInt8], _ name: ObjectName, _ place: EntryPlace
  ) async throws(RemoteError) -> EntryState {
    if name == place.amendmentName { try await removeLostAmendment(of: place) }
    _ = try await objects.putIfAbsent(name, bytes)
    guard let found = try await found(at: name, place) else { throw .unreadable(name) }
    return found
  }

  /// What lies at a place, for a tombstone: its first bytes, and a segment's header where that is whole.
  private func content(
    of place: EntryPlace
  ) async throws(RemoteError) -> (LogTombstone.Content, SegmentHeader?) {
    let bytesMax = place.log == nil ? ZoneEvent.bytesMax : LogObject.bytesMax
    let prefix: ObjectPrefix?
    do throws(RemoteError) {
      prefix = try await objects.getPrefix(place.name, bytesMax)
    } catch {
      // No object at all, such as a directory.
      guard error.isAboutOneObject else { throw error }
      prefix = nil
    }
    let bytes = prefix?.bytes ?? []
    let content = LogTombstone.Content(
      byteCount: min(prefix?.totalBytes ?? 0, .max - 1), hash: ContentHash(of: bytes.span.bytes))
    guard let log = place.log, let prefix else { return (content, nil) }
    do throws(RemoteError) {
      let entry = try LogObject.look(at: prefix, place.name, log.zone, log.incarnation, place.offset)
      guard case .segment(let head) = entry else { return (content, nil) }
      return (content, head.header)
    } catch {
      return (content, nil)
    }
  }
}

/// A remote whose log is kept by the algorithm over objects.
package protocol LogOfObjects: RemoteLog {
  var log: ObjectRemote { get }
}

extension FolderRemote: LogOfObjects {}
extension MemoryRemote: LogOfObjects {}
