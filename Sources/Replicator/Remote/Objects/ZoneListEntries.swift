internal import OperationFormat

/// Reads the events of the list of zones, and the amendments of those that cannot be read.
struct ZoneListEntries: Sendable {
  /// The largest object at an offset of the list.
  private static let entryBytesMax = max(ZoneEvent.bytesMax, LogTombstone.bytesMax)

  let objects: any ObjectStore

  /// Reads the event at an offset, or the amendment that replaces it; nil at the list's end.
  ///
  /// - Throws: ``RemoteError`` for a failure that says nothing about the object, such as `unreachable`.
  func read(_ offset: UInt64) async throws(RemoteError) -> FoundZoneEvent? {
    let name = ObjectName.zoneEvent(offset)
    var problem: RemoteError?
    // Read twice: an event that was only damaged in transit counts.
    for _ in 0..<2 {
      do throws(RemoteError) {
        if let found = try await object(name, offset) { return found }
        guard try await isHole(offset) else { return nil }
        return .unreadable(.missing(name), hash: ContentHash(of: [UInt8]().span.bytes))
      } catch {
        guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
        problem = error
      }
    }
    guard let problem else { return nil }
    if problem.isAboutOneObject, let amendment = try await amendment(offset) { return amendment }
    return .unreadable(problem, hash: try await hash(of: name))
  }

  /// Whether an event is missing, and the next one is there. What a wider hole has lost is put back like a lost
  /// end.
  func isHole(_ offset: UInt64) async throws(RemoteError) -> Bool {
    try await objects.entryAfterGap(at: .zoneEvent(offset)) == offset + 1
  }

  /// Reads an event, or the tombstone of one; nil if there is no object.
  func object(_ name: ObjectName, _ offset: UInt64) async throws(RemoteError) -> FoundZoneEvent? {
    guard let bytes = try await objects.get(name, bytesMax: Self.entryBytesMax) else { return nil }
    do throws(FormatError) {
      guard FrameKind(of: bytes.span.bytes) == .tombstone else {
        let read = try ZoneEvent.read(bytes.span.bytes)
        try checkIsSame(read.offset, offset, at: 0, "zoneEvent.offset")
        return .event(read.event, previous: read.previous, hash: read.hash)
      }
      try LogObject.checkTombstone(bytes.span.bytes, nil, offset)
      return .tombstone(bytes)
    } catch {
      throw .damaged(.damaged, name, error)
    }
  }

  /// Reads the amendment of an event; nil if there is none, or if it cannot be read.
  private func amendment(_ offset: UInt64) async throws(RemoteError) -> FoundZoneEvent? {
    do throws(RemoteError) {
      return try await object(.amendment(of: nil, offset), offset)
    } catch {
      // Such an amendment replaces nothing. The audit reports it to the remote's operator.
      guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
      return nil
    }
  }

  /// The hash by which the next event names one that cannot be read: that of its first bytes, as many as an
  /// event may have.
  private func hash(of name: ObjectName) async throws(RemoteError) -> ContentHash {
    do throws(RemoteError) {
      let bytes = try await objects.getPrefix(name, ZoneEvent.bytesMax)?.bytes ?? []
      return ContentHash(of: bytes.span.bytes)
    } catch {
      guard error.isAboutOneObject else { throw error }
      return ContentHash(of: [UInt8]().span.bytes)
    }
  }
}
