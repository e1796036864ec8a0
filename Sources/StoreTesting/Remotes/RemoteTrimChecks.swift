internal import OperationFormat
internal import Replicator

/// Logs that begin later than with their first entry. A remote that keeps no snapshots, or trims no logs, passes them all.
enum RemoteTrimChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] = [
    Check("A trimmed log begins with its snapshot: who is behind learns it, and others read and append on") {
      trial in
      var maker = trial.maker(try await trial.create())
      guard try await trial.snapshots(maker.incarnation) != nil else { return }
      let tokens = try await trial.fill(&maker, count: 6)
      let made = TrialSnapshot(of: maker.incarnation, at: 4, by: 1, tokens[4])
      guard let first = try await trial.trim(to: made) else { return }
      try trial.expect(first, 4, "where the log begins")
      for door in 0..<2 {
        for token in tokens[..<3] {
          try await trial.expect(.expired, "the page after offset \(token.offset)") {
            try await trial.doors[door].segments(after: token, bytesMax: 1 << 20)
          }
        }
        for token in tokens[4...] {
          try await trial.expect(offsetsAfter: token, upTo: 6, door: door)
        }
        let found = try await trial.snapshots(maker.incarnation, door: door) ?? []
        try trial.expect(found.contains(made.name), "the snapshot with which the log begins is not named")
        try await trial.expectWhole(made, door: door)
      }
      let segment = try maker.next()
      guard case .appended(let place) = try await trial.outcome(segment, at: tokens[6], door: 1) else {
        throw trial.failure("a trimmed log takes no segment")
      }
      try trial.expect(place.offset, 7, "the next offset")
      try await trial.expect(offsetsAfter: tokens[6], upTo: 7, door: 0)
    },
    Check("Of several trims the greatest offset counts, and the snapshots before it go") { trial in
      var maker = trial.maker(try await trial.create())
      guard try await trial.snapshots(maker.incarnation) != nil else { return }
      let tokens = try await trial.fill(&maker, count: 6)
      for (offset, expected) in [(3, 3), (5, 5), (2, 5)] as [(Int, UInt64)] {
        let made = TrialSnapshot(of: maker.incarnation, at: UInt64(offset), by: 1, tokens[offset])
        guard let first = try await trial.trim(to: made, door: offset % 2) else { return }
        try trial.expect(first, expected, "where the log begins after a trim to \(offset)")
        let found = try await trial.snapshots(maker.incarnation, door: 1) ?? []
        try trial.expect(found.map(\.offset), [expected], "the snapshots")
      }
      try await trial.expect(offsetsAfter: tokens[5], upTo: 6, door: 0)
    },
    Check("A log without an entry begins after a snapshot, and one that has an entry does not") { trial in
      let incarnation = try await trial.create()
      guard try await trial.snapshots(incarnation) != nil else { return }
      var token = ChangeToken.start(of: RemoteTrial.zone, incarnation)
      var other = trial.maker(incarnation, replica: 2)
      let segment = try other.next()
      (token.offset, token.hash) = (9, segment.header.contentHash)
      token.chain = LogChain(hash: segment.header.contentHash)
      let made = TrialSnapshot(of: incarnation, at: 9, by: 1, token)
      guard try await trial.begin(with: made) else { return }
      let again = try await trial.retrying { try await trial.doors[1].beginLog(with: made.name) }
      try trial.expect(again, "the log does not begin with the snapshot a second time")
      try await trial.expect(.expired, "the page after the start") {
        try await trial.doors[1].segments(
          after: .start(of: RemoteTrial.zone, incarnation), bytesMax: 1 << 20)
      }
      try await trial.expect(offsetsAfter: token, upTo: 9, door: 1)
      guard case .appended(let place) = try await trial.outcome(segment, at: token, door: 1) else {
        throw trial.failure("a log that begins after a snapshot takes no segment")
      }
      try trial.expect(place.offset, 10, "the next offset")
      let later = TrialSnapshot(of: incarnation, at: 20, by: 1)
      let isBegun = try await trial.begin(with: later)
      try trial.expect(!isBegun, "a log that has an entry begins after a snapshot")
    },
  ]
}

extension RemoteTrial {
  /// Appends segments.
  ///
  /// - Returns: the place before each, and that behind the last.
  fileprivate func fill(_ maker: inout SegmentMaker, count: Int) async throws -> [ChangeToken] {
    var tokens = [ChangeToken.start(of: Self.zone, maker.incarnation)]
    for _ in 0..<count {
      let segment = try maker.next()
      let place = try await append(segment, after: tokens[tokens.count - 1].offset)
      var token = tokens[tokens.count - 1]
      (token.offset, token.hash, token.chain) = (place.offset, segment.header.contentHash, place.chain)
      tokens.append(token)
    }
    return tokens
  }

  fileprivate func outcome(
    _ segment: PackedSegment, at token: ChangeToken, door: Int
  ) async throws -> AppendOutcome {
    let outcome = try await retrying { try await doors[door].append(segment, after: token) }
    // A try whose answer was lost has put it there.
    if !isStrict, case .alreadyThere(let place) = outcome { return .appended(place) }
    return outcome
  }

  fileprivate func trim(to made: TrialSnapshot, door: Int = 0) async throws -> UInt64? {
    for index in made.parts.indices { try await put(index, of: made, door: door) }
    return try await retrying { try await doors[door].trim(to: made.name, made.manifest) }
  }

  fileprivate func begin(with made: TrialSnapshot) async throws -> Bool {
    for index in made.parts.indices { try await put(index, of: made) }
    try await finish(made)
    return try await retrying { try await doors[0].beginLog(with: made.name) }
  }

  fileprivate func expect(offsetsAfter token: ChangeToken, upTo last: UInt64, door: Int) async throws {
    let found = try await entries(after: token, door: door)
    let expected = token.offset < last ? Array(token.offset + 1...last) : []
    try expect(found.map(\.offset), expected, "the offsets after \(token.offset)")
  }
}
