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
        guard [.damagedSegment, .newerSegment, .missingSegment].contains(error.code) else { throw error }
        noteUnreadable(token.offset + 1, "\(error)", index)
        guard objects != nil else { return }
        token.offset += 1
        continue
      }
      guard case .segments(let page, _) = outcome, !page.isEmpty else {
        if case .segments = outcome, let next = listed.first(where: { $0 > token.offset }) {
          guard next - token.offset <= Self.missingMax else {
            problems.append(
              Problem(
                place: "\(ObjectName.entry(of: token.incarnation, next))",
                message: "its log ends at offset \(token.offset): all between is missing"))
            logs[index].lastOffset = token.offset
            return
          }
          for offset in token.offset + 1..<next {
            noteUnreadable(offset, "it is missing, and there is more behind it", index)
          }
          // What was listed and is at the next offset came meanwhile.
          if next > token.offset + 1 {
            token.offset = next - 1
            continue
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
      try progress(logs.reduce(0) { $0 + $1.segments })
    }
  }

  private mutating func noteUnreadable(_ offset: UInt64, _ message: String, _ index: Int) {
    let place = ObjectName.entry(of: logs[index].incarnation, offset)
    problems.append(Problem(place: "\(place)", message: message))
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
  mutating func checkAmendments(
    _ index: Int, _ remote: any RemoteLog, _ names: [ObjectName]
  ) async throws(RemoteError) {
    guard let remote = remote as? any LogOfObjects else { return }
    let log = logs[index]
    for name in names where name.incarnation == log.incarnation {
      guard let offset = name.amendedOffset else { continue }
      let place = EntryPlace(log: EntryPlace.Log(log.zone, log.incarnation), offset: offset)
      do throws(RemoteError) {
        guard case .readable? = try await remote.log.amendment(of: place) else { continue }
        logs[index].repairs.append(offset)
      } catch {
        guard error.isAboutOneObject else { throw error }
        problems.append(Problem(place: "\(name)", message: "\(error)"))
      }
    }
  }

  // MARK: Segments

  /// Checks what lies at an offset against what is before it.
  ///
  /// - Returns: the hash that a token behind it has; nil if it has none that can be believed.
  private mutating func check(_ segment: StoredSegment, _ index: Int) -> ContentHash? {
    let place = "\(ObjectName.entry(of: logs[index].incarnation, segment.offset))"
    let header: SegmentHeader
    let transactions: [[UInt8]]
    do throws(FormatError) {
      if FrameKind(of: segment.bytes.span.bytes) == .tombstone {
        logs[index].tombstones.append(try LogTombstone.read(segment.bytes.span.bytes))
        // Nobody knows what the entry named.
        logs[index].isReadable = false
        return ContentHash(of: segment.bytes.span.bytes)
      }
      let unpacked = try SegmentPacker.unpack(segment.bytes)
      (header, transactions) = (unpacked.header, unpacked.transactions)
    } catch {
      problems.append(Problem(place: place, message: "\(error)"))
      logs[index].isReadable = false
      do throws(FormatError) {
        return try SegmentFrame.readHeader(segment.bytes.span.bytes).contentHash
      } catch {
        return nil
      }
    }
    do {
      logs[index].namedAssets.formUnion(try SegmentCut.assets(namedBy: transactions))
    } catch {
      problems.append(Problem(place: place, message: "\(error)"))
      logs[index].isReadable = false
    }
    logs[index].segments += 1
    logs[index].transactions += header.transactionCount
    logs[index].bytes += UInt64(segment.bytes.count)
    checkBase(header, segment.offset, place, index)
    checkChain(header, segment.offset, place, index)
    if let problem = checkLineage(header, transactions, index) {
      problems.append(Problem(place: place, message: problem))
    }
    return header.contentHash
  }

  private mutating func checkBase(_ header: SegmentHeader, _ offset: UInt64, _ place: String, _ index: Int) {
    guard header.base > 0 else { return }
    guard header.base < offset else {
      return problems.append(Problem(place: place, message: "its base \(header.base) is not before it"))
    }
    // Of what nobody can read, and of what was given up, nobody knows the hash. Nor of what a remote has left out that gives
    // its segments other offsets than asked for.
    guard header.base <= UInt64(logs[index].hashes.count),
      let found = logs[index].hashes[Int(header.base) - 1],
      !logs[index].tombstones.contains(where: { $0.offset == header.base }), found != header.baseHash
    else { return }
    problems.append(
      Problem(place: place, message: "its base \(header.base) is another segment than it says"))
  }

  /// Each writer's sequences begin at 1 and follow, and each of its segments names the one before.
  private mutating func checkChain(
    _ header: SegmentHeader, _ offset: UInt64, _ place: String, _ index: Int
  ) {
    let sequences = header.sequences
    let known = logs[index].writers.firstIndex { $0.replica == header.replica && $0.epoch == header.epoch }
    var writer =
      known.map { logs[index].writers[$0] }
      ?? Writer(
        replica: header.replica, epoch: header.epoch, lastSequence: 0, segments: 0, lastHash: .zero,
        lastOffset: 0)
    if let closed = writer.closedAt, let known {
      logs[index].writers[known].segments += 1
      return logs[index].consequences.append(
        Problem(place: place, message: "readers have closed its writer's lane at offset \(closed)"))
    }
    func isBetween(_ found: UInt64) -> Bool { writer.lastOffset < found && found < offset }
    // What is missing may have been in an entry that nobody can read, which is told; or was given up.
    let isUnreadable = logs[index].unreadable.contains(where: isBetween)
    let isGivenUp = logs[index].tombstones.contains { isBetween($0.offset) }
    var messages: [String] = []
    if sequences.lowerBound - 1 > writer.lastSequence {
      messages.append(
        "it begins at sequence \(sequences.lowerBound), and "
          + (known == nil ? "its writer has none before it" : "\(writer.lastSequence) was the last"))
    } else if sequences.upperBound > writer.lastSequence, header.previousHash != writer.lastHash,
      !isUnreadable, !isGivenUp
    {
      messages.append("it does not name its writer's segment before it")
    }
    for message in messages {
      if isGivenUp {
        logs[index].consequences.append(
          Problem(place: place, message: "\(message): what is between was given up"))
      } else {
        problems.append(Problem(place: place, message: message))
      }
    }
    writer.segments += 1
    // Behind what nobody can read, readers have not come to reject anything.
    if !messages.isEmpty, !isUnreadable { writer.closedAt = offset }
    // One that lies there twice says nothing new.
    if sequences.upperBound > writer.lastSequence {
      writer.lastSequence = sequences.upperBound
      writer.lastHash = header.contentHash
      writer.lastOffset = offset
    }
    if let known {
      logs[index].writers[known] = writer
    } else {
      logs[index].writers.append(writer)
      logs[index].writers.sort { ($0.replica, $0.epoch) < ($1.replica, $1.epoch) }
    }
  }
}
