internal import OperationFormat

/// Reading the events of the list of zones, and what counts instead of those that cannot be read.
extension ObjectRemote {
  /// The most bytes of what lies at an offset of the list.
  private static let entryBytesMax = max(ZoneEvent.bytesMax, LogTombstone.bytesMax)

  /// Reads what is at an offset of the list of zones, or what counts instead of it; nil at its end.
  ///
  /// - Throws: ``RemoteError`` for what says nothing of the object, such as `unreachable`.
  func readEvent(_ offset: UInt64) async throws(RemoteError) -> ZoneList.Found? {
    let name = ObjectName.zoneEvent(offset)
    var problem: RemoteError?
    // Read twice: what was damaged on its way alone is an event.
    for _ in 0..<2 {
      do throws(RemoteError) {
        if let found = try await eventObject(name, offset) { return found }
        guard try await isHoleOfList(offset) else { return nil }
        return .unreadable(.missing(name), hash: ContentHash(of: [UInt8]().span.bytes))
      } catch {
        guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
        problem = error
      }
    }
    guard let problem else { return nil }
    if problem.isAboutOneObject, let amended = try await eventAmendment(offset) { return amended }
    return .unreadable(problem, hash: try await hashOfEvent(name))
  }

  /// What counts instead of an event that cannot be read; nil if nothing does.
  private func eventAmendment(_ offset: UInt64) async throws(RemoteError) -> ZoneList.Found? {
    do throws(RemoteError) {
      return try await eventObject(.amendment(of: nil, offset), offset)
    } catch {
      // It amends nothing. Whoever runs the remote is told.
      guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
      return nil
    }
  }

  /// Reads an event, or the tombstone of one; nil if there is no object.
  func eventObject(
    _ name: ObjectName, _ offset: UInt64
  ) async throws(RemoteError) -> ZoneList.Found? {
    guard let bytes = try await objects.get(name, bytesMax: Self.entryBytesMax) else { return nil }
    do throws(FormatError) {
      guard FrameKind(of: bytes.span.bytes) == .tombstone else {
        let read = try ZoneEvent.read(bytes.span.bytes)
        try checkIsSame(read.offset, offset, at: 0, "zoneEvent.offset")
        return .event(bytes)
      }
      try LogObject.checkTombstone(bytes.span.bytes, nil, offset)
      return .tombstone(bytes)
    } catch {
      throw .damaged(.damaged, name, error)
    }
  }

  /// The hash that the event behind one that cannot be read names: of as many of its bytes as an event may have.
  private func hashOfEvent(_ name: ObjectName) async throws(RemoteError) -> ContentHash {
    do throws(RemoteError) {
      let bytes = try await objects.getPrefix(name, ZoneEvent.bytesMax)?.bytes ?? []
      return ContentHash(of: bytes.span.bytes)
    } catch {
      guard error.isAboutOneObject else { throw error }
      return ContentHash(of: [UInt8]().span.bytes)
    }
  }

  func isHoleOfList(_ offset: UInt64) async throws(RemoteError) -> Bool {
    guard offset < Limits.placeMax, try await exists(.zoneEvent(offset + 1)) else { return false }
    // Two may have been put since.
    return try await !exists(.zoneEvent(offset))
  }
}
