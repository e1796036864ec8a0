internal import OperationFormat
internal import Replicator

/// Entries of a log that are damaged or missing, or that were given up.
enum RemoteDamageChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] =
    RemoteLogConformance.EntryDamage.allCases.flatMap { damage in
      [
        Check("A log with an entry that is \(damage) is read up to it, and says so") { trial in
          try await readsUpTo(damage, trial)
        },
        Check("An append goes behind an entry that is \(damage), and never into its place") { trial in
          try await appendsBehind(damage, trial)
        },
        Check("A fetch after a token fails if the token's entry is \(damage) since") { trial in
          try await tellsToken(of: damage, trial)
        },
      ]
    } + [
      Check(
        "What a log has lost at its end is put back, if the remote can; never over another, or after another log"
      ) {
        try await putsBack($0)
      }
    ]

  private static func putsBack(_ trial: RemoteTrial) async throws {
    let (incarnation, segments, _) = try await makeLog(of: 3, trial)
    let page = try await trial.page(after: Self.token(segments, 1, incarnation), door: 0)
    guard case .segments(let found, _) = page, let before = found.first else {
      throw trial.failure("the log: \(page)")
    }
    let rest = try await trial.page(after: Self.token(segments, 2, incarnation), door: 0)
    guard case .segments(let found, _) = rest, let entry = found.first, found.count == 1 else {
      throw trial.failure("the log: \(rest)")
    }
    try await trial.damage(.missing, incarnation, 3)
    var token = Self.token(segments, 2, incarnation)
    token.chain = before.chain
    var other = token
    other.hash = segments[0].header.contentHash
    let wrong = other
    let isPut = try? await trial.retrying { try await trial.doors[0].putBack(entry, after: wrong) }
    try trial.expect(isPut ?? false, false, "putting it back after another log")
    let right = token
    guard try await trial.retrying({ try await trial.doors[0].putBack(entry, after: right) }) else { return }
    for door in 0..<2 {
      let again = try await trial.page(after: token, door: door)
      guard case .segments(let found, hasMore: false) = again, found == [entry] else {
        throw trial.failure("what was put back: \(again)")
      }
      let isThere = try await trial.retrying { try await trial.doors[door].putBack(entry, after: right) }
      try trial.expect(isThere, true, "putting it back again")
    }
    var taken = entry
    var maker = trial.maker(incarnation, replica: 9)
    taken.bytes = try maker.next().bytes
    let foreign = taken
    let isReplaced = try await trial.retrying { try await trial.doors[1].putBack(foreign, after: right) }
    try trial.expect(isReplaced, false, "putting another into its place")
    guard case .segments([entry], hasMore: false) = try await trial.page(after: token, door: 0) else {
      throw trial.failure("what was put back is another now")
    }
  }

  private static func readsUpTo(_ damage: RemoteLogConformance.EntryDamage, _ trial: RemoteTrial) async throws
  {
    let (incarnation, segments, _) = try await makeLog(of: 5, trial)
    try await trial.damage(damage, incarnation, 3)
    for door in 0..<2 {
      // Twice: every fetch must say it.
      for _ in 0..<2 {
        let start = ChangeToken.start(of: RemoteTrial.zone, incarnation)
        if damage.isGivenUp {
          try await readsTombstone(from: start, segments, trial, door)
          continue
        }
        var (token, read) = (start, [[UInt8]]())
        while read.count < 2 {
          let page = try await trial.page(after: token, door: door)
          guard case .segments(let found, hasMore: true) = page, !found.isEmpty, found.count + read.count <= 2
          else { throw trial.failure("the page before it: \(page)") }
          read += found.map(\.bytes)
          token = Self.token(segments, UInt64(read.count), incarnation)
        }
        try trial.expect(read, segments[..<2].map(\.bytes), "what comes before it")
        try await trial.expect(damage.code, "a fetch of it") {
          try await trial.doors[door].segments(after: Self.token(segments, 2, incarnation), bytesMax: 1 << 20)
        }
      }
      // The entries behind it are read with a token behind it.
      let rest = try await trial.page(after: Self.token(segments, 4, incarnation), door: door)
      guard case .segments(let found, hasMore: false) = rest, found.map(\.bytes) == [segments[4].bytes] else {
        throw trial.failure("the entries behind it: \(rest)")
      }
    }
  }

  /// A tombstone is an entry, and its hash is the token's.
  private static func readsTombstone(
    from start: ChangeToken, _ segments: [PackedSegment], _ trial: RemoteTrial, _ door: Int
  ) async throws {
    var (token, bytes) = (start, [[UInt8]]())
    while true {
      let last = token
      let outcome = try await trial.retrying {
        try await trial.doors[door].segments(after: last, bytesMax: 1)
      }
      guard case .segments(let page, _) = outcome else { throw trial.failure("the zone is gone") }
      // Behind a bad network a page ends early, and a segment's bytes too.
      for stored in page {
        try trial.expect(stored.offset, token.offset + 1, "the offset after \(token.offset)")
        let isTombstone = stored.offset == 3
        if isTombstone {
          guard (try? LogTombstone.read(stored.bytes.span.bytes))?.offset == 3 else { break }
        } else if (try? SegmentPacker.unpack(stored.bytes)) == nil {
          break
        }
        token.offset = stored.offset
        token.chain = stored.chain
        token.hash =
          isTombstone ? ContentHash(of: stored.bytes.span.bytes) : try trial.header(stored).contentHash
        bytes.append(stored.bytes)
      }
      if page.isEmpty { break }
    }
    try trial.expect(bytes.count, 5, "the entries")
    bytes.remove(at: 2)
    try trial.expect(bytes == [0, 1, 3, 4].map { segments[$0].bytes }, "others changed beside the tombstone")
  }

  private static func appendsBehind(_ damage: RemoteLogConformance.EntryDamage, _ trial: RemoteTrial)
    async throws
  {
    var (incarnation, segments, maker) = try await makeLog(of: 4, trial)
    try await trial.damage(damage, incarnation, 2)
    // One knows the log up to before it, the other knows nothing of it.
    var last: UInt64 = 4
    for (replica, offset) in [(2, 1), (3, 0)] as [(UInt64, UInt64)] {
      let segment = try trial.maker(incarnation, replica: replica).fork(replica)
      last += 1
      try trial.expect(try await trial.append(segment, after: offset).offset, last, "the offset of an append")
      let again = try await trial.outcome(segment, after: offset, door: 1)
      guard case .alreadyThere(let place) = again, place.offset == last else {
        throw trial.failure("a second append of the segment at offset \(last) gave \(again)")
      }
    }
    try trial.expect(
      try await trial.append(try maker.next(), after: 4, door: 1).offset, last + 1, "its writer's next one")
    // The entry may have been this segment: then the log has it twice.
    let twice = try await trial.append(segments[1], after: 1)
    try trial.expect(twice.offset, last + 2, "the offset of the damaged segment itself")
  }

  private static func tellsToken(of damage: RemoteLogConformance.EntryDamage, _ trial: RemoteTrial)
    async throws
  {
    let (incarnation, segments, _) = try await makeLog(of: 3, trial)
    try await trial.damage(damage, incarnation, 2)
    for door in 0..<2 {
      let token = Self.token(segments, 2, incarnation)
      // Where its header can be read, that says that it is the token's.
      if damage == .flipped {
        let page = try await trial.page(after: token, door: door)
        guard case .segments(let found, hasMore: false) = page, found.map(\.bytes) == [segments[2].bytes]
        else { throw trial.failure("a token of it gave \(page)") }
        continue
      }
      try await trial.expect(damage.code, "a token of it") {
        try await trial.doors[door].segments(after: token, bytesMax: 1 << 20)
      }
    }
  }

  private static func makeLog(
    of count: Int, _ trial: RemoteTrial
  ) async throws -> (IncarnationID, [PackedSegment], SegmentMaker) {
    let incarnation = try await trial.create()
    var maker = trial.maker(incarnation)
    var segments: [PackedSegment] = []
    for offset in 0..<UInt64(count) {
      segments.append(try maker.next(valueBytes: 400))
      let place = try await trial.append(segments[segments.count - 1], after: offset)
      try trial.expect(place.offset, offset + 1, "the offset")
    }
    return (incarnation, segments, maker)
  }

  private static func token(
    _ segments: [PackedSegment], _ offset: UInt64, _ incarnation: IncarnationID
  ) -> ChangeToken {
    ChangeToken(
      zone: RemoteTrial.zone, incarnation: incarnation, offset: offset,
      hash: segments[Int(offset) - 1].header.contentHash)
  }
}

extension RemoteLogConformance.EntryDamage {
  /// What a fetch that meets it ends with.
  fileprivate var code: RemoteError.Code {
    switch self {
    case .missing: .missingSegment
    case .zeros, .flipped: .damagedSegment
    case .givenUp, .flippedAndGivenUp: .quarantined
    }
  }

  fileprivate var isGivenUp: Bool { self == .givenUp || self == .flippedAndGivenUp }
}
