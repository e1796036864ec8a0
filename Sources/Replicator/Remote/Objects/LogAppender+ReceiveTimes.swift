internal import OperationFormat

/// Puts entries with their receive times.
extension LogAppender {
  /// So many entries before its own place a writer asks for the place's clock.
  static let entriesAskedMax = 256

  /// Puts a segment under the name of an entry, unless something has that name.
  ///
  /// The receive time is a part of the entry's bytes only. No call recognises a segment by it: the append that is
  /// repeated finds the header, and gives the time that the entry has.
  func putEntry(
    _ segment: PackedSegment, _ offset: UInt64, _ chain: LogChain?
  ) async throws(RemoteError) -> (isPut: Bool, place: SegmentPlace) {
    let name = ObjectName.entry(of: segment.header.incarnation, offset)
    func place(_ received: UInt64?) -> SegmentPlace {
      SegmentPlace(offset: offset, receivedMilliseconds: received, chain: chain)
    }
    let isOfferedAgain = segment.formerReceivedMilliseconds != nil
    let wallMilliseconds: @Sendable () -> Int64
    switch clock {
    case .none, .keeper:
      let now: UInt64? = if case .keeper(let milliseconds) = clock { milliseconds() } else { nil }
      let received = segment.stated(now)
      let isPut = try await objects.putIfAbsent(
        name, bytes(segment, offset, received, chain, isOfferedAgain: isOfferedAgain))
      return (isPut, place(received))
    case .place(let wall): wallMilliseconds = wall
    }
    var witness = ReceiveTimeRule.Witness.unasked
    while true {
      let rule = ReceiveTimeRule(wallMilliseconds: wallMilliseconds(), witness: witness)
      let put = try await objects.putIfAbsent(name) { [self] time in
        guard case .states(let received) = rule.verdict(on: segment, at: time) else { return nil }
        return bytes(segment, offset, received, chain, isOfferedAgain: isOfferedAgain)
      }
      switch put {
      case .exists: return (false, place(nil))
      case .put(let time):
        seen.note(time)
        guard case .states(let received) = rule.verdict(on: segment, at: time) else { continue }
        return (true, place(received))
      case .declined(let time):
        seen.note(time)
        witness = try await self.witness(before: offset, for: segment.header)
      }
    }
  }

  /// Asks the log before an offset whether another replica vouches for the place's clock.
  ///
  /// - Complexity: reads the beginnings of at most ``entriesAskedMax`` entries: up to the newest of another replica, or up
  ///   to where it was asked before.
  private func witness(
    before offset: UInt64, for header: SegmentHeader
  ) async throws(RemoteError) -> ReceiveTimeRule.Witness {
    let (log, writer) = (header.incarnation, header.replica)
    let asked = seen.offsetAsked(by: writer, in: log)
    var greatest: UInt64 = 0
    for before in (1..<offset).suffix(Self.entriesAskedMax).reversed() where before >= asked {
      let slot: LogSlot<SegmentHead>?
      do throws(RemoteError) {
        slot = try await entries.look(log, header.zone, before)
      } catch {
        guard error.isAboutOneObject || error.isOfNewerEntry else { throw error }
        // It may be readable later.
        seen.noteNobody(before: before, vouchesTo: writer, in: log)
        return .none
      }
      // Nobody vouches across an entry that cannot be read, or that was trimmed.
      guard case .segment(let found)? = slot else {
        seen.noteNobody(before: offset, vouchesTo: writer, in: log)
        return .none
      }
      greatest = max(greatest, found.receivedMilliseconds ?? 0)
      switch found.testimony(to: writer) {
      case .vouches: return .vouches(greatest)
      case .denies:
        seen.noteNobody(before: offset, vouchesTo: writer, in: log)
        return .none
      case .nothing: continue
      }
    }
    seen.noteNobody(before: offset, vouchesTo: writer, in: log)
    return .none
  }
}
