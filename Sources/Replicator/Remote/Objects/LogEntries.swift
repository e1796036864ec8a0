internal import OperationFormat

/// What an append finds at an offset of a log.
enum FoundEntry: Sendable {
  /// A segment. If `isAmended`, it is the amendment that replaces the object there.
  case segment(SegmentHead, isAmended: Bool)
  /// The seal that closes the log: there, or, if the log was discarded, after what is missing.
  case seal(ZoneFate, at: UInt64)
  /// A tombstone, with its hash.
  case tombstone(ContentHash)
  /// An entry that cannot be read: the append passes it.
  case unreadable
  /// No entry, but one at a later offset, the next: the append passes the hole.
  case hole(next: UInt64)
  /// Nothing, and nothing after it.
  case end
}

/// Why an entry is not there.
private enum LogGap {
  /// It is lost: the next entry is at a later offset.
  case hole(next: UInt64)
  /// The log was discarded. Its seal is at a later offset.
  case discarded(ZoneFate, seal: UInt64)
}

/// The seal of a log that was discarded: one that was purged or reset.
///
/// Nothing is missing before the seal: what is not there is gone. It goes from the last one on, so the seal is always the
/// next object after it. Once the log was opened again, it ends before what is not there, and grows over the seal, which is an
/// empty entry then.
struct DiscardSeal: Sendable {
  var offset: UInt64
  var fate: ZoneFate
  /// Whether the log was opened again since.
  var isPassed: Bool
}

/// Reads the entries of zones' logs, and the amendments of those that cannot be read.
struct LogEntries: Sendable {
  let objects: any ObjectStore
  var floors: LogFloors { LogFloors(objects: objects) }

  /// Reads the beginning of what is at an offset; nil if nothing is there.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment`, `newerSegment`.
  func look(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> LogSlot<SegmentHead>? {
    let name = ObjectName.entry(of: incarnation, offset)
    do throws(RemoteError) {
      guard let prefix = try await objects.getPrefix(name, LogObject.prefixBytes) else { return nil }
      let found = try LogObject.look(at: prefix, name, zone, incarnation, offset)
      guard case .seal = found, let passed = try await passed(incarnation, zone, offset) else { return found }
      return .tombstone(passed)
    } catch {
      throw error.ofSegment
    }
  }

  /// The tombstone with which a log continues after a seal; nil if it ends there.
  private func passed(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> StoredSegment? {
    let amendment = ObjectName.amendment(of: incarnation, offset)
    guard case .tombstone(let found)? = try await object(amendment, incarnation, zone, offset) else {
      return nil
    }
    return found
  }

  /// Reads an entry whole, or the amendment that replaces it; nil at the log's end.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment`, `newerSegment`, `missingSegment`, `expired`.
  func read(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> LogSlot<StoredSegment>? {
    let name = ObjectName.entry(of: incarnation, offset)
    do throws(RemoteError) {
      if let found = try await object(name, incarnation, zone, offset) {
        guard case .seal = found, let passed = try await passed(incarnation, zone, offset) else {
          return found
        }
        return .tombstone(passed)
      }
      switch try await gap(at: offset, of: incarnation, zone) {
      case nil: return nil
      case .discarded(let fate, let seal)?: return .seal(fate, at: seal)
      case .hole?: throw .missing(name)
      }
    } catch {
      guard error.isAboutOneObject, error.code == .damagedSegment else { throw error }
      // Something foreign may be where the log does not begin yet.
      try await checkBegins(by: offset, of: incarnation)
      let amendment = ObjectName.amendment(of: incarnation, offset)
      if let found = try await object(amendment, incarnation, zone, offset) { return found }
      throw error
    }
  }

  /// Reads the object of an entry whole; nil if there is none.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment`, `newerSegment`.
  private func object(
    _ name: ObjectName, _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> LogSlot<StoredSegment>? {
    do throws(RemoteError) {
      guard let bytes = try await objects.get(name, bytesMax: LogObject.bytesMax) else { return nil }
      return try LogObject.read(bytes, name, zone, incarnation, offset)
    } catch {
      throw error.ofSegment
    }
  }

  /// Finds what an append must know about an offset.
  func find(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> FoundEntry {
    do throws(RemoteError) {
      switch try await look(incarnation, zone, offset) {
      case .segment(let found)?: return .segment(found, isAmended: false)
      case .seal(let fate, let seal)?: return .seal(fate, at: seal)
      // Its hash is of all of it, and only its beginning was read.
      case .tombstone?: break
      case nil:
        switch try await gap(at: offset, of: incarnation, zone) {
        case nil: return .end
        case .discarded(let fate, let seal)?: return .seal(fate, at: seal)
        case .hole(let next)?: return .hole(next: next)
        }
      }
    } catch {
      guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
    }
    // Read again, whole: an entry that was only damaged in transit is not passed.
    do throws(RemoteError) {
      switch try await read(incarnation, zone, offset) {
      case .segment(let stored)?: return .segment(try LogObject.head(of: stored), isAmended: true)
      case .seal(let fate, let seal)?: return .seal(fate, at: seal)
      case .tombstone(let stored)?: return .tombstone(ContentHash(of: stored.bytes.span.bytes))
      // Put since, or seen late: a put at this offset finds out.
      case nil: return .end
      }
    } catch {
      guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
      return .unreadable
    }
  }

  /// Whether an entry was given up since the remote last stated a chain before an offset.
  ///
  /// - Complexity: reads the entries before the offset that state no chain
  func followsTombstone(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ offset: UInt64
  ) async throws(RemoteError) -> Bool {
    var before = offset - 1
    do throws(RemoteError) {
      while before > 0 {
        switch try await read(incarnation, zone, before) {
        case .tombstone?: return true
        case .segment(let stored)? where stored.chain == nil: before -= 1
        default: return false
        }
      }
    } catch {
      guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
    }
    return false
  }

  /// Whether something was put for the case that an entry cannot be read.
  func isAmended(_ incarnation: IncarnationID, _ offset: UInt64) async throws(RemoteError) -> Bool {
    try await exists(.amendment(of: incarnation, offset))
  }

  /// If an entry is missing, but one that follows is there: the offset of the first of these; nil if nothing is
  /// missing.
  ///
  /// A hole has at most 4,096 offsets, and ends with an entry that can be read, unless it has only one: what is further
  /// away, and what is no entry, is foreign.
  ///
  /// - Throws: ``RemoteError`` `expired` if the log begins after the offset.
  func entryAfterHole(
    at offset: UInt64, of incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> UInt64? {
    guard case .hole(let next)? = try await gap(at: offset, of: incarnation, zone) else { return nil }
    return next
  }

  /// Says why an entry is not there; nil if the log ends before it.
  ///
  /// - Throws: ``RemoteError`` `expired` if the log begins after the offset.
  private func gap(
    at offset: UInt64, of incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> LogGap? {
    var next: UInt64?
    do throws(RemoteError) {
      next = try await objects.entryAfterGap(at: .entry(of: incarnation, offset))
    } catch {
      throw error.ofSegment
    }
    var seal: DiscardSeal?
    if let next { seal = try await discardSeal(at: next, of: incarnation, zone) }
    if let seal, !seal.isPassed { return .discarded(seal.fate, seal: seal.offset) }
    // At the start of a log, also where nothing follows: nobody must begin it again.
    guard next != nil || offset == 1 else { return nil }
    let begin = try await floors.begin(of: incarnation)
    if begin.first > offset || begin.first == offset && begin.lacksEntry {
      throw .expired(.entry(of: incarnation, offset), objects.name, first: begin.first)
    }
    if seal != nil { return nil }
    for _ in 0..<Self.foreignMax {
      guard let found = next, found - offset <= ObjectName.entriesInDirectory else { return nil }
      if found == offset + 1 { return .hole(next: found) }
      if try await isEntry(found, of: incarnation, zone) { return .hole(next: found) }
      next = try await objects.nextEntry(after: .entry(of: incarnation, found))?.offset
    }
    return nil
  }

  /// The object at an offset, if it is the seal of a log that was discarded.
  func discardSeal(
    at offset: UInt64, of incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> DiscardSeal? {
    let name = ObjectName.entry(of: incarnation, offset)
    let found: ZoneFate
    do throws(RemoteError) {
      guard let prefix = try await objects.getPrefix(name, LogObject.prefixBytes),
        case .seal(let fate, _) = try LogObject.look(at: prefix, name, zone, incarnation, offset),
        fate.discardsLog
      else { return nil }
      found = fate
    } catch {
      guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
      return nil
    }
    let isPassed = try await passed(incarnation, zone, offset) != nil
    return DiscardSeal(offset: offset, fate: found, isPassed: isPassed)
  }

  /// The seal that stands for what a log lacks from an offset on; nil if there is none.
  func discardSeal(
    after offset: UInt64, of incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> DiscardSeal? {
    let next = try await objects.nextEntry(after: .entry(of: incarnation, offset))?.offset
    return if let next { try await discardSeal(at: next, of: incarnation, zone) } else { nil }
  }

  /// Whether a log has no entry. The seal of one that was discarded and opened again is none while all before it is
  /// missing.
  func isEmpty(_ incarnation: IncarnationID, _ zone: ZoneID) async throws(RemoteError) -> Bool {
    guard try await hasAny(of: incarnation, from: 1) else { return true }
    if try await exists(incarnation, 1) { return false }
    return try await discardSeal(after: 1, of: incarnation, zone)?.isPassed ?? false
  }

  /// So many foreign objects are looked through for an entry.
  private static let foreignMax = 64

  private func isEntry(
    _ offset: UInt64, of incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      return try await look(incarnation, zone, offset) != nil
    } catch {
      if error.isOfNewerEntry { return true }
      guard error.isAboutOneObject else { throw error }
      return false
    }
  }

  /// Throws if a log begins after an offset.
  func checkBegins(by offset: UInt64, of incarnation: IncarnationID) async throws(RemoteError) {
    let first = try await floors.first(of: incarnation)
    guard first > offset else { return }
    throw .expired(.entry(of: incarnation, offset), objects.name, first: first)
  }

  /// Whether a log has an entry at an offset, or after it.
  func hasAny(of incarnation: IncarnationID, from offset: UInt64) async throws(RemoteError) -> Bool {
    if try await exists(incarnation, offset) { return true }
    return try await objects.nextEntry(after: .entry(of: incarnation, offset)) != nil
  }

  /// Whether anything is at an offset of a log.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment` if something else is in the place of its directory: that
  ///   concerns only this log.
  func exists(_ incarnation: IncarnationID, _ offset: UInt64) async throws(RemoteError) -> Bool {
    try await exists(.entry(of: incarnation, offset))
  }

  private func exists(_ name: ObjectName) async throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      return try await objects.exists(name)
    } catch {
      throw error.ofSegment
    }
  }
}
