internal import OperationFormat

/// Reading a log's entries and checking them against each other.
extension RemoteAudit {
  /// So many offsets in a row may be missing; a file of any name may lie far behind.
  private static let missingMax: UInt64 = 4096

  /// Reads a log to its end, past what nobody can read where the remote lets it.
  ///
  /// - Parameter listed: the offsets where something lay before, in order.
  mutating func read(
    _ index: Int, _ remote: any RemoteLog, _ listed: [UInt64], _ progress: (UInt64) throws -> Void
  ) async throws {
    var token = ChangeToken.start(of: logs[index].zone, logs[index].incarnation)
    let objects = (remote as? any LogOfObjects)?.log
    while true {
      let outcome: FetchOutcome
      do throws(RemoteError) {
        outcome =
          if let objects {
            try await objects.segments(afterUnchecked: token, bytesMax: 8 << 20)
          } else {
            try await remote.segments(after: token, bytesMax: 8 << 20)
          }
      } catch {
        guard [.damagedSegment, .newerSegment, .missingSegment, .denied].contains(error.code) else {
          throw error
        }
        let isDenied = error.code == .denied
        if objects != nil, error.offset == nil || isDenied && token.offset >= listed.last ?? 0 {
          // Something else is in the place of the log's directory, or it may not be read: no offset behind can be read
          // either.
          problems.append(
            Problem(
              place: "\(ObjectName.log(of: token.incarnation))", message: "\(error)", isDenied: isDenied))
          logs[index].isReadable = false
          return
        }
        noteUnreadable(token.offset + 1, "\(error)", index, isDenied: isDenied)
        guard objects != nil else { return }
        token.offset += 1
        continue
      }
      guard case .segments(let page, _) = outcome, !page.isEmpty else {
        // What was listed and is at the next offset is the seal, or came meanwhile.
        let next = listed.first { $0 > token.offset } ?? 0
        if outcome != .gone(.purged), next > token.offset + 1 {
          if next - token.offset <= Self.missingMax {
            for offset in token.offset + 1..<next {
              noteUnreadable(offset, "it is missing, and there is more behind it", index)
            }
            token.offset = next - 1
            continue
          }
          if case .segments = outcome {
            problems.append(
              Problem(
                place: "\(ObjectName.entry(of: token.incarnation, next))",
                message: "its log ends at offset \(token.offset): all between is missing"))
            logs[index].lastOffset = token.offset
            return
          }
        }
        logs[index].lastOffset = token.offset
        guard case .gone(let fate) = outcome else { return }
        logs[index].fate = fate
        // What was thrown away is not read.
        logs[index].lastOffset = fate == .purged ? nil : token.offset + 1
        return
      }
      for segment in page {
        let hash = check(segment, index)
        logs[index].hashes.append(hash)
        token.offset = segment.offset
        if let hash { token.hash = hash } else if objects == nil { return }
      }
      try progress(segmentCount)
    }
  }

  /// - Parameter isDenied: whether others may read it: then it is not for this one to give up.
  private mutating func noteUnreadable(
    _ offset: UInt64, _ message: String, _ index: Int, isDenied: Bool = false
  ) {
    let entry = EntryPlace(
      log: EntryPlace.Log(logs[index].zone, logs[index].incarnation), offset: offset)
    problems.append(
      Problem(place: "\(entry)", message: message, entry: isDenied ? nil : entry, isDenied: isDenied))
    logs[index].isReadable = false
    logs[index].unreadable.append(offset)
    logs[index].hashes.append(nil)
  }

  // MARK: Amendments

  /// The events of the list of zones that were given up.
  func tombstones(
    of names: [ObjectName], _ remote: any LogOfObjects
  ) async throws(RemoteError) -> [LogTombstone] {
    var found: [LogTombstone] = []
    for name in names where name.incarnation == nil {
      guard let offset = name.offset ?? name.amendedOffset else { continue }
      let place = EntryPlace(offset: offset)
      if name.offset == nil {
        // Where the event can be read, nothing counts instead of it.
        if case .readable = try await remote.log.state(of: place) { continue }
      }
      do throws(RemoteError) {
        let state =
          name.offset == nil
          ? try await remote.log.amendment(of: place) : try await remote.log.state(of: place)
        if case .givenUp(let tombstone)? = state { found.append(tombstone) }
      } catch {
        guard error.isAboutOneObject else { throw error }
      }
    }
    return found
  }

  /// Tells a log's amendments: what each is was seen when the log was read.
  ///
  /// - Parameter names: the objects of that log.
  mutating func checkAmendments(
    _ index: Int, _ remote: any RemoteLog, _ names: [ObjectName]
  ) async throws(RemoteError) {
    guard let remote = remote as? any LogOfObjects else { return }
    let log = logs[index]
    for name in names {
      guard let offset = name.amendedOffset else { continue }
      let place = EntryPlace(log: EntryPlace.Log(log.zone, log.incarnation), offset: offset)
      do throws(RemoteError) {
        guard case .readable? = try await remote.log.amendment(of: place) else { continue }
        logs[index].repairs.append(offset)
      } catch {
        let isDenied = error.code == .denied
        guard error.isAboutOneObject || isDenied else { throw error }
        problems.append(
          Problem(
            place: "\(name)", message: "\(error)", entry: isDenied ? nil : place, isDenied: isDenied))
      }
    }
  }

  // MARK: Segments

  /// Checks what lies at an offset against what is before it.
  ///
  /// - Returns: the hash that a token behind it has; nil if it has none that can be believed.
  private mutating func check(_ segment: StoredSegment, _ index: Int) -> ContentHash? {
    let place = "\(ObjectName.entry(of: logs[index].incarnation, segment.offset))"
    let unpacked: UnpackedSegment
    do throws(FormatError) {
      if FrameKind(of: segment.bytes.span.bytes) == .tombstone {
        logs[index].tombstones.append(try LogTombstone.read(segment.bytes.span.bytes))
        // Nobody knows what the entry named.
        logs[index].isReadable = false
        return ContentHash(of: segment.bytes.span.bytes)
      }
      unpacked = try SegmentPacker.unpack(segment.bytes)
    } catch {
      logs[index].isReadable = false
      return checkMalformed(segment, error, place, index)
    }
    let header = unpacked.header
    var broken = unpacked.steps > Limits.foldStepsMax ? "it is more work than a segment may be" : nil
    do {
      logs[index].namedAssets.formUnion(try SegmentCut.assets(namedBy: unpacked.transactions))
    } catch {
      logs[index].isReadable = false
      if Self.isMalformed(error) {
        broken = "\(error)"
      } else {
        problems.append(Problem(place: place, message: "\(error)"))
      }
    }
    note(header, segment, index)
    checkRules(header, unpacked.transactions, at: segment.offset, index, broken: broken)
    return header.contentHash
  }

  private mutating func note(_ header: SegmentHeader, _ segment: StoredSegment, _ index: Int) {
    logs[index].segments += 1
    segmentCount += 1
    logs[index].transactions += header.transactionCount
    logs[index].bytes += UInt64(segment.bytes.count)
  }

  /// Whether an error is that of a content which is malformed for everyone.
  private static func isMalformed(_ error: any Error) -> Bool {
    guard let error = error as? FormatError else { return false }
    return error.code != .newerFormat && error.code != .outOfMemory
  }

  /// Checks a segment that cannot be unpacked. One that is as its writer made it, every reader rejects.
  ///
  /// - Returns: its hash, as far as its header can be read.
  private mutating func checkMalformed(
    _ segment: StoredSegment, _ error: FormatError, _ place: String, _ index: Int
  ) -> ContentHash? {
    if Self.isMalformed(error), let header = try? SegmentFrame.read(segment.bytes.span.bytes).header {
      note(header, segment, index)
      checkRules(header, [], at: segment.offset, index, broken: "\(error)")
      return header.contentHash
    }
    problems.append(Problem(place: place, message: "\(error)"))
    return try? SegmentFrame.readHeader(segment.bytes.span.bytes).contentHash
  }
}
