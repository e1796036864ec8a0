internal import OperationFormat
internal import Replicator

/// One run of a check: the remote's doors, and calls that are repeated where that is allowed.
struct RemoteTrial: Sendable {
  let check: String
  let doors: [any RemoteLog]
  let seed: UInt64
  let triesMax: Int
  let damage: RemoteLogConformance.Damaging

  static let zone = ZoneID(name: "notes")

  /// Whether a call is made once, so that its answer is that of the first time.
  var isStrict: Bool { triesMax == 1 }

  func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw failure(message()) }
  }

  func expect<T: Equatable>(_ found: T, _ expected: T, _ subject: String) throws {
    try expect(found == expected, "\(subject): expected \(expected), found \(found)")
  }

  func failure(_ message: String) -> RemoteLogConformance.Failure {
    RemoteLogConformance.Failure(check: check, message: message, seed: seed)
  }

  /// An incarnation that no other number of this run gives.
  func incarnation(_ number: UInt64) -> IncarnationID {
    var random = SeededRandom(seed: seed).stream(number)
    return IncarnationID(rawValue: UInt128(random.next()) << 64 | UInt128(number))
  }

  /// A replica's segments, none made yet.
  func maker(
    _ incarnation: IncarnationID, replica: UInt64 = 1, zone: ZoneID = RemoteTrial.zone
  ) -> SegmentMaker {
    SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: UInt128(replica)), seed: seed)
  }

  // MARK: Calls

  /// Runs a body several times at once.
  ///
  /// - Returns: the results in the order of the indices.
  func inParallel<Result: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (_ index: Int) async throws -> Result
  ) async throws -> [Result] {
    let tasks = (0..<count).map { index in Task { try await body(index) } }
    var results: [Result] = []
    for task in tasks { results.append(try await task.value) }
    return results
  }

  /// Makes a call again while it ends with what may pass.
  func retrying<Answer: Sendable>(_ call: () async throws -> Answer) async throws -> Answer {
    for _ in 1..<max(1, triesMax) {
      do {
        return try await call()
      } catch let error as RemoteError {
        guard [.unreachable, .later, .overQuota].contains(error.code) else { throw error }
        await Task.yield()
      }
    }
    return try await call()
  }

  /// Expects an error of a code.
  func expect<Answer: Sendable>(
    _ code: RemoteError.Code, _ subject: String, _ call: () async throws -> Answer
  ) async throws {
    do {
      let answer = try await retrying(call)
      throw failure("\(subject): expected the error \(code), found \(answer)")
    } catch let error as RemoteError {
      try expect(error.code, code, subject)
      try expect(
        !error.message.isEmpty && !error.hint.isEmpty, "\(subject): an error says what and what to do")
    }
  }

  func create(
    _ zone: ZoneID = RemoteTrial.zone, _ number: UInt64 = 1, door: Int = 0
  ) async throws -> IncarnationID {
    let proposed = incarnation(number)
    return try await retrying { try await doors[door].createZone(zone, proposing: proposed) }
  }

  func delete(_ incarnation: IncarnationID, zone: ZoneID = RemoteTrial.zone, door: Int = 0) async throws {
    try await retrying { try await doors[door].deleteZone(zone, incarnation) }
  }

  func outcome(
    _ segment: PackedSegment, after offset: UInt64 = 0, in zone: ZoneID? = nil, door: Int = 0
  ) async throws -> AppendOutcome {
    try await retrying { try await doors[door].append(segment, after: offset, in: zone) }
  }

  /// Appends a segment that nothing forbids.
  func append(
    _ segment: PackedSegment, after offset: UInt64 = 0, in zone: ZoneID? = nil, door: Int = 0
  ) async throws -> SegmentPlace {
    switch try await outcome(segment, after: offset, in: zone, door: door) {
    case .appended(let place): return place
    case .alreadyThere(let place) where !isStrict: return place
    case let other: throw failure("an append gave \(other)")
    }
  }

  /// Reads a page whose entries are whole.
  func page(after token: ChangeToken, bytesMax: Int = 1 << 20, door: Int = 0) async throws -> FetchOutcome {
    var tries = 0
    while true {
      let outcome = try await retrying { try await doors[door].segments(after: token, bytesMax: bytesMax) }
      guard case .segments(let page, _) = outcome else { return outcome }
      do {
        for entry in page { try Self.checkIsWhole(entry) }
        return outcome
      } catch {
        tries += 1
        if tries >= triesMax { throw failure("a segment was not whole: \(error)") }
      }
    }
  }

  private static func checkIsWhole(_ entry: StoredSegment) throws {
    let bytes = entry.bytes.span.bytes
    if FrameKind(of: bytes) == .tombstone {
      _ = try LogTombstone.read(bytes)
    } else {
      _ = try SegmentPacker.unpack(entry.bytes)
    }
  }

  /// Reads a log to its end, and checks that its offsets are dense.
  func readAll(
    _ incarnation: IncarnationID, zone: ZoneID = RemoteTrial.zone, bytesMax: Int = 1 << 20, door: Int = 0
  ) async throws -> (segments: [StoredSegment], fate: ZoneFate?) {
    var token = ChangeToken.start(of: zone, incarnation)
    var all: [StoredSegment] = []
    while true {
      switch try await page(after: token, bytesMax: bytesMax, door: door) {
      case .gone(let fate): return (all, fate)
      case .segments(let page, let hasMore):
        for segment in page {
          try expect(segment.offset, token.offset + 1, "the offset after \(token.offset)")
          token.offset = segment.offset
          token.chain = segment.chain
          token.hash = try header(segment).contentHash
        }
        all += page
        if page.isEmpty {
          try expect(!hasMore, "an empty page says that there is more")
          return (all, nil)
        }
      }
    }
  }

  func header(_ segment: StoredSegment) throws -> SegmentHeader {
    try SegmentFrame.readHeader(segment.bytes.span.bytes)
  }

  /// Reads the list of zones to its end.
  func events(door: Int = 0) async throws -> [ZoneEvent] {
    var token: DatabaseToken?
    var events: [ZoneEvent] = []
    while true {
      let last = token
      let page = try await retrying { try await doors[door].zoneEvents(after: last) }
      events += page.events
      token = page.token
      if !page.hasMore { return events }
    }
  }
}
