internal import OperationFormat
internal import Replicator

/// Zones of which who runs the remote has discarded all: they were purged or reset. A remote that cannot do that says so, and
/// has nothing to keep.
enum RemoteDiscardChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all = checks(.purged) + checks(.reset)

  private static func checks(_ fate: ZoneFate) -> [RemoteLogConformance.Check] {
    [
      Check("A \(fate) log takes nothing and gives nothing, and the list tells it once", doors: 2) { trial in
        var maker = trial.maker(try await trial.create())
        let first = try maker.next()
        for segment in [first, try maker.next()] { _ = try await trial.append(segment) }
        let (incarnation, next) = (maker.incarnation, try maker.next())
        // What this client has read of the list is old then.
        _ = try await trial.page(after: .start(of: RemoteTrial.zone, incarnation), door: 1)
        for door in 0..<2 {
          guard try await trial.discard(incarnation, fate, door: door) else { return }
          for door in 0..<2 {
            for offset in UInt64(0)...2 {
              let outcome = try await trial.outcome(next, after: offset, door: door)
              try trial.expect(outcome, .gone(fate), "an append after \(offset)")
            }
            let start = ChangeToken.start(of: RemoteTrial.zone, incarnation)
            try trial.expect(try await trial.page(after: start, door: door), .gone(fate), "a fetch")
            let token = ChangeToken(
              zone: RemoteTrial.zone, incarnation: incarnation, offset: 1, hash: first.header.contentHash)
            try trial.expect(
              try await trial.page(after: token, door: door), .gone(fate), "after an entry that went")
          }
        }
        try trial.expect(try await trial.events().map(\.kind), [.created, fate.event], "the list")
      },
      Check(
        "Of eight that discard a log at once (\(fate)), all succeed, and the list tells it once", doors: 8
      ) { trial in
        var maker = trial.maker(try await trial.create())
        for _ in 0..<3 { _ = try await trial.append(try maker.next()) }
        let incarnation = maker.incarnation
        let done = try await trial.inParallel(8) { try await trial.discard(incarnation, fate, door: $0) }
        guard done.contains(true) else { return }
        try trial.expect(try await trial.events().map(\.kind), [.created, fate.event], "the list")
        let start = ChangeToken.start(of: RemoteTrial.zone, incarnation)
        try trial.expect(try await trial.page(after: start), .gone(fate), "a fetch")
      },
      Check("What is appended while a log is discarded is in it and goes, or is refused (\(fate))", doors: 5)
      { trial in
        let incarnation = try await trial.create()
        let done = try await trial.inParallel(5) { door in
          if door == 4 { return try await trial.discard(incarnation, fate, door: door) }
          var maker = trial.maker(incarnation, replica: UInt64(door) + 1)
          for _ in 0..<8 {
            switch try await trial.outcome(try maker.next(), door: door) {
            case .appended, .alreadyThere, .gone(fate): break
            case let other: throw trial.failure("an append gave \(other)")
            }
          }
          return false
        }
        guard done[4] else { return }
        let start = ChangeToken.start(of: RemoteTrial.zone, incarnation)
        try trial.expect(try await trial.page(after: start), .gone(fate), "a fetch")
      },
      Check("A \(fate) log that is opened again gets its entries back at their offsets", doors: 2) { trial in
        var maker = trial.maker(try await trial.create())
        for _ in 0..<3 { _ = try await trial.append(try maker.next()) }
        let incarnation = maker.incarnation
        let all = try await trial.entries(of: incarnation, door: 0)
        guard try await trial.discard(incarnation, fate), try await trial.reopen(incarnation, door: 1) else {
          return
        }
        try trial.expect(try await trial.entries(of: incarnation, door: 0), [], "the entries")
        guard try await trial.putBack(all, of: incarnation) else { return }
        let place = try await trial.append(try maker.next(), door: 1)
        try trial.expect(place.offset, 5, "the offset after the end that was passed")
        for door in 0..<2 {
          let log = try await trial.entries(of: incarnation, door: door)
          try trial.expect(log.map(\.offset), [1, 2, 3, 4, 5], "the offsets")
          try trial.expect(log.prefix(3).map(\.bytes), all.map(\.bytes), "the entries")
          let isEmpty = log.map { FrameKind(of: $0.bytes.span.bytes) == .tombstone }
          try trial.expect(isEmpty, [false, false, false, true, false], "which entries are empty")
        }
        try trial.expect(try await trial.events().map(\.kind), [.created, fate.event, .reopened], "the list")
      },
      Check("A \(fate) log that is restored in part continues there, also the second time", doors: 2) {
        trial in
        var maker = trial.maker(try await trial.create())
        for _ in 0..<3 { _ = try await trial.append(try maker.next()) }
        let incarnation = maker.incarnation
        let all = try await trial.entries(of: incarnation, door: 0)
        for count in [1, 0] {
          guard try await trial.discard(incarnation, fate), try await trial.reopen(incarnation, door: 1),
            try await trial.putBack(Array(all.prefix(count)), of: incarnation)
          else { return }
          var other = trial.maker(incarnation, replica: UInt64(9 + count))
          let place = try await trial.append(try other.next(), door: 0)
          try trial.expect(place.offset, UInt64(count) + 1, "the next offset")
          for door in 0..<2 {
            let log = try await trial.entries(of: incarnation, door: door)
            try trial.expect(log.map(\.offset), Array(1...place.offset), "the offsets")
          }
        }
        // It ends where it is now, not where it was once.
        try await trial.delete(incarnation, door: 1)
        let read = try await trial.readAll(incarnation)
        try trial.expect(read.segments.count, 1, "the segments")
        try trial.expect(read.fate, .deleted, "the end")
      },
      Check("A deleted zone is not \(fate), and a \(fate) one not deleted") { trial in
        let deleted = try await trial.create()
        try await trial.delete(deleted)
        do {
          guard try await trial.discard(deleted, fate) else { return }
          throw trial.failure("a deleted zone was \(fate)")
        } catch let error as RemoteError where error.code == .zoneUnknown {}
        let closed = try await trial.create(RemoteTrial.zone, 2)
        guard try await trial.discard(closed, fate) else { return }
        try await trial.expect(.zoneUnknown, "a deletion") { try await trial.delete(closed) }
        let other: ZoneFate = fate == .reset ? .purged : .reset
        try await trial.expect(.zoneUnknown, "the other way") { _ = try await trial.discard(closed, other) }
        let kinds = try await trial.events().map(\.kind)
        try trial.expect(kinds, [.created, .deleted, .created, fate.event], "the list")
      },
    ]
  }
}

extension RemoteTrial {
  /// Purges or resets a log.
  ///
  /// - Returns: false if the remote cannot do that at all.
  fileprivate func discard(
    _ incarnation: IncarnationID, _ fate: ZoneFate, door: Int = 0
  ) async throws -> Bool {
    do {
      let remote = doors[door]
      try await retrying {
        fate == .reset
          ? try await remote.resetZone(Self.zone, incarnation)
          : try await remote.purgeZone(Self.zone, incarnation)
      }
      return true
    } catch let error as RemoteError where error.code == .unsupported {
      return false
    }
  }

  /// Puts entries back from the first on.
  ///
  /// - Returns: false if the remote cannot do that at all.
  fileprivate func putBack(_ entries: [StoredSegment], of incarnation: IncarnationID) async throws -> Bool {
    var token = ChangeToken.start(of: Self.zone, incarnation)
    for entry in entries {
      let before = token
      guard try await retrying({ try await doors[0].putBack(entry, after: before) }) else { return false }
      token = ChangeToken(
        zone: Self.zone, incarnation: incarnation, offset: entry.offset,
        hash: try header(entry).contentHash, chain: entry.chain)
    }
    return true
  }
}
