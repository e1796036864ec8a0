internal import OperationFormat

/// What an append meets at an offset of a log.
enum MetEntry: Sendable {
  /// A segment; what counts instead of the object there, if `isAmended`.
  case segment(SegmentHead, isAmended: Bool)
  case seal(ZoneFate)
  /// What nobody can read, a hole, or what was given up: it is passed.
  case unreadable
  /// Nothing, and nothing behind it.
  case end
}

/// Reading what lies at an offset of a zone's log, and what counts instead of it where it cannot be read.
extension ObjectRemote {
  /// Reads the beginning of what lies at an offset.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment`, `newerSegment`.
  func look(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> LogSlot<SegmentHead>? {
    let name = ObjectName.entry(of: incarnation, offset)
    do throws(RemoteError) {
      guard let prefix = try await objects.getPrefix(name, LogObject.prefixBytes) else { return nil }
      return try LogObject.look(at: prefix, name, zone, incarnation, offset)
    } catch {
      throw error.ofSegment
    }
  }

  /// Reads an entry whole, or what counts instead of it; nil at the log's end.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment`, `newerSegment`, `missingSegment`.
  func read(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> LogSlot<StoredSegment>? {
    do throws(RemoteError) {
      if let found = try await readObject(incarnation, zone, offset) { return found }
      guard try await isHole(offset, of: incarnation) else { return nil }
      throw .missing(.entry(of: incarnation, offset))
    } catch {
      guard error.isAboutOneObject, error.code == .damagedSegment else { throw error }
      if let amendment = try await amendment(of: incarnation, zone, offset) { return amendment }
      throw error
    }
  }

  /// Reads the object at an offset whole; nil if there is none.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment`, `newerSegment`.
  func readObject(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> LogSlot<StoredSegment>? {
    let name = ObjectName.entry(of: incarnation, offset)
    do throws(RemoteError) {
      guard let bytes = try await objects.get(name, bytesMax: LogObject.bytesMax) else { return nil }
      return try LogObject.read(bytes, name, zone, incarnation, offset)
    } catch {
      throw error.ofSegment
    }
  }

  /// What counts instead of an entry that cannot be read; nil if nothing does.
  func amendment(
    of incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> LogSlot<StoredSegment>? {
    let name = ObjectName.amendment(of: incarnation, offset)
    do throws(RemoteError) {
      guard let bytes = try await objects.get(name, bytesMax: LogObject.bytesMax) else { return nil }
      return try LogObject.read(bytes, name, zone, incarnation, offset)
    } catch {
      throw error.ofSegment
    }
  }

  /// Finds what an append has to know of an offset.
  func meet(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> MetEntry {
    do throws(RemoteError) {
      switch try await look(incarnation, zone, offset) {
      case .segment(let found)?: return .segment(found, isAmended: false)
      case .seal(let fate)?: return .seal(fate)
      case .tombstone?: return .unreadable
      case nil:
        guard try await isHole(offset, of: incarnation) else { return .end }
      }
    } catch {
      guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
    }
    // Read once more, whole: what was damaged on its way alone is not passed.
    do throws(RemoteError) {
      switch try await read(incarnation, zone, offset) {
      case .segment(let stored)?: return .segment(try LogObject.head(of: stored), isAmended: true)
      case .seal(let fate)?: return .seal(fate)
      case .tombstone?: return .unreadable
      // Put since, or seen late: whoever puts something there is told.
      case nil: return .end
      }
    } catch {
      guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
      return .unreadable
    }
  }

  /// Whether anything is at an offset of a log.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment` if something else is in the place of its directory: that
  ///   concerns this log alone.
  func exists(_ incarnation: IncarnationID, _ offset: UInt64) async throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      return try await exists(.entry(of: incarnation, offset))
    } catch {
      throw error.ofSegment
    }
  }

  /// Whether anything lies at a name, be it no object of ours.
  func exists(_ name: ObjectName) async throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      return try await objects.getPrefix(name, 1) != nil
    } catch {
      if error.isAboutOneObject { return true }
      throw error
    }
  }

  /// Whether an offset where nothing lay is a hole in the log: something lies behind it.
  func isHole(_ offset: UInt64, of incarnation: IncarnationID) async throws(RemoteError) -> Bool {
    guard offset < Limits.placeMax, try await exists(incarnation, offset + 1) else { return false }
    // Two may have been put since.
    return try await !exists(incarnation, offset)
  }
}
