internal import OperationFormat

/// Reading the events of the list of zones, and what counts instead of those that cannot be read.
extension ObjectRemote {
  /// Reads what is at an offset of the list of zones; nil at its end.
  ///
  /// - Throws: ``RemoteError`` for what says nothing of the object, such as `unreachable`.
  func readEvent(_ offset: UInt64) async throws(RemoteError) -> ZoneList.Found? {
    let name = ObjectName.zoneEvent(offset)
    var problem: RemoteError?
    // Read twice: what was damaged on its way alone is an event.
    for _ in 0..<2 {
      do throws(RemoteError) {
        guard let bytes = try await objects.get(name, bytesMax: ZoneEvent.bytesMax) else {
          guard try await isHoleOfList(offset) else { return nil }
          throw .missing(name)
        }
        try Self.checkIsEvent(bytes, name)
        return .event(bytes)
      } catch {
        guard error.isAboutOneObject || error.code == .newerFormat else { throw error }
        problem = error
      }
    }
    guard let problem else { return nil }
    if problem.isAboutOneObject, let amended = try await eventAmendment(offset) { return amended }
    return .unreadable(problem, hash: try await hashOfEvent(name))
  }

  /// What counts instead of an event that cannot be read; nil if nothing does.
  func eventAmendment(_ offset: UInt64) async throws(RemoteError) -> ZoneList.Found? {
    let name = ObjectName.amendment(of: nil, offset)
    do throws(RemoteError) {
      guard let bytes = try await objects.get(name, bytesMax: LogTombstone.bytesMax) else { return nil }
      guard FrameKind(of: bytes.span.bytes) == .tombstone else {
        try Self.checkIsEvent(bytes, name)
        return .event(bytes)
      }
      try LogObject.checkTombstone(bytes, name, nil, offset)
      return .tombstone(bytes)
    } catch {
      // It amends nothing. Whoever runs the remote is told.
      guard error.isAboutOneObject || error.code == .newerFormat else { throw error }
      return nil
    }
  }

  /// Throws unless bytes are an event, whichever.
  ///
  /// - Throws: ``RemoteError`` `damaged`; `newerFormat`.
  static func checkIsEvent(_ bytes: [UInt8], _ name: ObjectName) throws(RemoteError) {
    do throws(FormatError) {
      _ = try ZoneEvent.read(bytes.span.bytes)
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

  private func isHoleOfList(_ offset: UInt64) async throws(RemoteError) -> Bool {
    guard offset < Limits.placeMax, try await exists(.zoneEvent(offset + 1)) else { return false }
    // Two may have been put since.
    return try await !exists(.zoneEvent(offset))
  }
}
