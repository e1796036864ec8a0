internal import EventStore
internal import OperationFormat

/// Amends entries that cannot be read: puts back the same bytes, or gives the entry up with a tombstone.
///
/// An object that cannot be read keeps its name; the amendment then has a name of its own, in the directory
/// `amendments`. If nothing has the entry's name, the amendment gets that. So the first amendment counts for
/// everybody, and is never changed while it can be read. One that cannot be read amends nothing, and is
/// replaced.
package struct EntryAmendments: Sendable {
  let objects: any ObjectStore
  private let entries: LogEntries
  private let events: ZoneListEntries

  init(_ objects: any ObjectStore) {
    self.objects = objects
    entries = LogEntries(objects: objects)
    events = ZoneListEntries(objects: objects)
  }

  // MARK: Looking

  /// Says what is at a place, without its amendment.
  package func state(of place: EntryPlace) async throws(RemoteError) -> EntryState {
    let problem: RemoteError
    do throws(RemoteError) {
      if let found = try await found(at: place.name, place) { return found }
      let isHole =
        if let log = place.log {
          try await entries.entryAfterHole(at: place.offset, of: log.incarnation, log.zone) != nil
        } else {
          try await events.isHole(place.offset)
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

  /// The amendment of a place whose object cannot be read; nil if there is none.
  ///
  /// - Throws: ``RemoteError`` if the amendment cannot be read.
  package func amendment(of place: EntryPlace) async throws(RemoteError) -> EntryState? {
    try await found(at: place.amendmentName, place)
  }

  /// What the object of a name says about a place; nil if there is no object.
  private func found(
    at name: ObjectName, _ place: EntryPlace
  ) async throws(RemoteError) -> EntryState? {
    if let log = place.log {
      guard let found = try await objects.get(name, bytesMax: LogObject.bytesMax) else { return nil }
      let entry = try LogObject.read(found, name, log.zone, log.incarnation, place.offset)
      guard case .tombstone = entry else { return .readable }
      return .givenUp(try Self.tombstone(found, name))
    }
    switch try await events.object(name, place.offset) {
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

  /// The size and hash of the object at a place, for a tombstone, and a segment's header if that is whole.
  private func content(
    of place: EntryPlace
  ) async throws(RemoteError) -> (LogTombstone.Content, SegmentHeader?) {
    let bytesMax = place.log == nil ? ZoneEvent.bytesMax : LogObject.bytesMax
    let prefix: ObjectPrefix?
    do throws(RemoteError) {
      prefix = try await objects.getPrefix(place.name, bytesMax)
    } catch {
      // Something else has the name, such as a directory.
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

  // MARK: Giving up and putting back

  /// Gives up an entry that cannot be read: every reader takes it as empty from then on.
  ///
  /// - Parameters:
  ///   - place: the entry.
  ///   - last: the last offset of the log that has an object, by a list of the objects.
  ///   - note: the reason, for people.
  ///   - milliseconds: since 1970.
  /// - Returns: what the entry is now: given up, or what an earlier amendment made it.
  /// - Throws: ``RemoteError`` `mismatch` if there is nothing to give up; `newerSegment`, `newerFormat` if a
  ///   newer version can read it.
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
        .mismatch, "\(place) can be read", hint: "give up only an entry that cannot be read",
        offset: place.offset)
    case .givenUp(let before): return .givenUp(before)
    case .newer(let error): throw place.log == nil ? error : error.ofSegment
    case .end where place.offset >= last:
      throw RemoteError(
        .mismatch, "nothing is at \(place), nor after it",
        hint: "if the log lost its end, put back what a store has: `replay remote REMOTE --repair STORE`",
        offset: place.offset)
    case .unreadable(let content, _, _): (tombstone.content, name) = (content, place.amendmentName)
    case .hole, .end: break
    }
    if let log = place.log { try await checkMayGiveUp(place.offset, of: log) }
    let bytes: [UInt8]
    do throws(FormatError) {
      bytes = try tombstone.encode()
    } catch {
      throw RemoteError(.mismatch, "\(error)", hint: "write a shorter note", underlying: error)
    }
    let state = try await put(bytes, name, place)
    // A snapshot has what the entry had: who begins with it would differ from who reads the log.
    if let log = place.log?.incarnation {
      try await SnapshotNames(objects: objects).removeAll(of: log, from: place.offset)
    }
    return state
  }

  /// Lets readers pass the seal of a deleted log: an amendment gives it up.
  func passSeal(of log: EntryPlace.Log, at offset: UInt64) async throws(RemoteError) {
    let place = EntryPlace(log: log, offset: offset)
    let tombstone = LogTombstone(passingSealOf: log.incarnation, at: offset)
    guard let bytes = try? tombstone.encode() else {
      preconditionFailure("the note of a passed seal is too long")
    }
    _ = try await put(bytes, place.amendmentName, place)
  }

  /// Throws if no snapshot would be left for the entries that a log does not have any more.
  private func checkMayGiveUp(_ offset: UInt64, of log: EntryPlace.Log) async throws(RemoteError) {
    guard let floor = try await entries.floors.floor(of: log.incarnation) else { return }
    let names = SnapshotNames(objects: objects)
    if floor.offset < offset, try await names.manifest(of: floor.snapshot(of: log.zone)) != nil { return }
    throw RemoteError(
      .mismatch,
      "the log begins at offset \(floor.offset) with a snapshot, and without the one there no store could begin",
      hint: "restore what is missing from a backup, or put it back from a store with --repair", offset: offset
    )
  }

  /// Puts the bytes of an entry back.
  ///
  /// - Parameter isOccupied: whether an object that cannot be read has the entry's name.
  /// - Returns: what the entry is now: readable, or what an earlier amendment made it.
  func putBack(
    _ bytes: [UInt8], at place: EntryPlace, isOccupied: Bool
  ) async throws(RemoteError) -> EntryState {
    try await put(bytes, isOccupied ? place.amendmentName : place.name, place)
  }

  /// Whether a place has the bytes that were put back: another segment may have taken it.
  func has(
    _ bytes: [UInt8], at place: EntryPlace, isOccupied: Bool
  ) async throws(RemoteError) -> Bool {
    let name = isOccupied ? place.amendmentName : place.name
    return try await objects.get(name, bytesMax: LogObject.bytesMax) == bytes
  }

  private func put(
    _ bytes: [UInt8], _ name: ObjectName, _ place: EntryPlace
  ) async throws(RemoteError) -> EntryState {
    if name == place.amendmentName { try await removeDamagedAmendment(of: place) }
    _ = try await objects.putIfAbsent(name, bytes)
    guard let found = try await found(at: name, place) else { throw .notShown(name) }
    return found
  }

  // MARK: Damaged amendments

  /// What can still be read of a damaged amendment.
  enum DamagedAmendment: Sendable {
    /// It gave the entry up: stores that have read it do not have the entry.
    case tombstone
    case segment(SegmentHeader)
    case unknown
  }

  /// Looks at an amendment that cannot be read; nil if there is none, or it can be read.
  func damagedAmendment(of place: EntryPlace) async throws(RemoteError) -> DamagedAmendment? {
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

  private func removeDamagedAmendment(of place: EntryPlace) async throws(RemoteError) {
    // Read twice: an amendment that was only damaged in transit stays.
    for _ in 0..<2 where try await damagedAmendment(of: place) == nil { return }
    try await objects.delete(place.amendmentName)
  }
}
