internal import OperationFormat
internal import Replicator

/// Deleted zones whose logs are opened again. A remote that cannot do that says so, and has nothing to keep.
enum RemoteReopeningChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] = [
    Check("A log that was closed continues after its end, also the second time", doors: 2) { trial in
      var maker = trial.maker(try await trial.create())
      for _ in 0..<2 { _ = try await trial.append(try maker.next()) }
      for time in UInt64(1)...2 {
        try await trial.delete(maker.incarnation)
        guard try await trial.reopen(maker.incarnation, door: 1) else { return }
        let place = try await trial.append(try maker.next(), door: Int(time) - 1)
        try trial.expect(place.offset, 2 + 2 * time, "the offset after the end that was passed")
        for door in 0..<2 {
          let log = try await trial.entries(of: maker.incarnation, door: door)
          try trial.expect(log.map(\.offset), Array(1...place.offset), "the offsets")
          try trial.expect(
            log.map { FrameKind(of: $0.bytes.span.bytes) == .tombstone },
            (1...place.offset).map { $0 > 2 && $0 % 2 == 1 }, "which entries are empty")
        }
      }
      let kinds = try await trial.events().map(\.kind)
      try trial.expect(kinds, [.created, .deleted, .reopened, .deleted, .reopened], "the list")
    },
    Check("Of eight that open a log again at once, all succeed, and the list tells it once", doors: 8) {
      trial in
      var maker = trial.maker(try await trial.create())
      _ = try await trial.append(try maker.next())
      let incarnation = maker.incarnation
      try await trial.delete(incarnation)
      let done = try await trial.inParallel(8) { try await trial.reopen(incarnation, door: $0) }
      guard done.contains(true) else { return }
      try trial.expect(try await trial.events().map(\.kind), [.created, .deleted, .reopened], "the list")
      try trial.expect(try await trial.append(try maker.next()).offset, 3, "the next offset")
      // To open what is open changes nothing.
      _ = try await trial.reopen(incarnation)
      try trial.expect(try await trial.events().count, 3, "the events")
    },
    Check("A log is not opened where another zone of its name was made since") { trial in
      let old = try await trial.create()
      try await trial.delete(old)
      let new = try await trial.create(RemoteTrial.zone, 2)
      do {
        guard try await trial.reopen(old) else { return }
        throw trial.failure("both logs are open")
      } catch let error as RemoteError where error.code == .nameTaken {
        try trial.expect(try await trial.create(RemoteTrial.zone, 3), new, "the zone's log")
        try trial.expect(try await trial.events().map(\.kind), [.created, .deleted, .created], "the list")
      }
    },
    Check("A log that the remote does not have is not opened") { trial in
      do {
        guard try await trial.reopen(trial.incarnation(7)) else { return }
        throw trial.failure("a log was opened that is not there")
      } catch let error as RemoteError where error.code == .zoneUnknown {}
    },
  ]
}

extension RemoteTrial {
  /// Opens a log again.
  ///
  /// - Returns: false if the remote cannot do that at all.
  func reopen(_ incarnation: IncarnationID, door: Int = 0) async throws -> Bool {
    do {
      try await retrying { try await doors[door].reopenZone(Self.zone, incarnation) }
      return true
    } catch let error as RemoteError where error.code == .unsupported {
      return false
    }
  }

  /// All entries of a log, empty ones too.
  func entries(of incarnation: IncarnationID, door: Int) async throws -> [StoredSegment] {
    try await entries(after: .start(of: Self.zone, incarnation), door: door)
  }

  /// The entries behind a place in a log, empty ones too.
  func entries(after start: ChangeToken, door: Int) async throws -> [StoredSegment] {
    var token = start
    var all: [StoredSegment] = []
    while true {
      let page = try await page(after: token, door: door)
      guard case .segments(let found, _) = page else { throw failure("the log is closed: \(page)") }
      guard let end = found.last else { return all }
      all += found
      let bytes = end.bytes.span.bytes
      let hash =
        FrameKind(of: bytes) == .tombstone ? ContentHash(of: bytes) : try header(end).contentHash
      token = ChangeToken(
        zone: Self.zone, incarnation: token.incarnation, offset: end.offset, hash: hash, chain: end.chain)
    }
  }
}
