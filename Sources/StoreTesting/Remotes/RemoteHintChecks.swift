internal import OperationFormat
internal import Replicator

/// What a remote says about the ends of logs. It may be late, and a remote that cannot tell keeps the contract
/// too. But what was announced is told.
enum RemoteHintChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] = [
    Check("An announced segment is in the heads, or the remote cannot tell") { trial in
      var maker = trial.maker(try await trial.create(door: 1))
      for number in 0..<3 as Range<UInt64> {
        let (token, list) = try await trial.readOn(maker.incarnation)
        _ = try await trial.heads(of: [token], list: list)
        _ = try await trial.append(try maker.next(), after: number, door: 1)
        try await trial.untilTold("segment \(number + 1)", [token], list) { !$0.ends(at: token) }
      }
    },
    Check("A new zone is in the heads once it was announced, or the remote cannot tell") { trial in
      let first = try await trial.create(ZoneID(name: "first"), 1, door: 1)
      let (token, list) = try await trial.readOn(first, zone: ZoneID(name: "first"))
      _ = try await trial.heads(of: [token], list: list)
      _ = try await trial.create(ZoneID(name: "second"), 2, door: 1)
      try await trial.untilTold("the new zone", [token], list) { !$0.isListUnchanged }
    },
    Check("A deleted zone is in the heads once that was announced, or the remote cannot tell") { trial in
      var maker = trial.maker(try await trial.create(door: 1))
      _ = try await trial.append(try maker.next(), door: 1)
      let (token, list) = try await trial.readOn(maker.incarnation)
      _ = try await trial.heads(of: [token], list: list)
      try await trial.delete(maker.incarnation, door: 1)
      try await trial.untilTold("the deletion", [token], list) { !$0.ends(at: token) && !$0.isListUnchanged }
    },
    Check("A log that nobody has is not told to be unchanged, nor is a log before a token") { trial in
      var maker = trial.maker(try await trial.create())
      _ = try await trial.append(try maker.next())
      let (token, list) = try await trial.readOn(maker.incarnation)
      var later = token
      later.offset += 7
      let unknown = ChangeToken(
        zone: RemoteTrial.zone, incarnation: trial.incarnation(9), offset: 5, hash: token.hash)
      let tokens = [later, unknown]
      try await trial.untilTold("what is not there", tokens, list) { heads in
        tokens.allSatisfy { !heads.ends(at: $0) }
      }
    },
    Check("Heads are asked for none, and for as many as a call may name") { trial in
      let incarnation = try await trial.create()
      let (token, list) = try await trial.readOn(incarnation)
      for count in [0, 1, SyncPolicy.headsMax] {
        let tokens = (0..<count).map { number in
          number == 0
            ? token
            : ChangeToken(
              zone: RemoteTrial.zone, incarnation: trial.incarnation(UInt64(number) + 9), offset: 1,
              hash: token.hash)
        }
        let heads = try await trial.heads(of: tokens, list: list)
        try trial.expect(heads?.zones.count ?? 0 <= count, "more heads than logs were asked for")
      }
    },
  ]
}

extension RemoteHeads {
  /// Whether it says that a log ends at a token.
  fileprivate func ends(at token: ChangeToken) -> Bool {
    zones.contains { $0.incarnation == token.incarnation && $0.offset == token.offset && !$0.isClosed }
  }
}

extension RemoteTrial {
  fileprivate func heads(of tokens: [ChangeToken], list: DatabaseToken) async throws -> RemoteHeads? {
    try await retrying { try await doors[0].heads(of: tokens, list: list) }
  }

  /// Reads a log and the list of zones to their ends through the first door.
  fileprivate func readOn(
    _ incarnation: IncarnationID, zone: ZoneID = RemoteTrial.zone
  ) async throws -> (ChangeToken, DatabaseToken) {
    var list: DatabaseToken?
    while true {
      let last = list
      let page = try await retrying { try await doors[0].zoneEvents(after: last) }
      list = page.token
      if !page.hasMore { break }
    }
    var token = ChangeToken.start(of: zone, incarnation)
    if let last = try await readAll(incarnation, zone: zone).segments.last {
      token.offset = last.offset
      token.hash = try header(last).contentHash
    }
    guard let list else { throw failure("the list of zones has no token") }
    return (token, list)
  }

  /// Announces at the second door, and asks at the first until the answer is as it should be.
  fileprivate func untilTold(
    _ subject: String, _ tokens: [ChangeToken], _ list: DatabaseToken, _ isTold: (RemoteHeads) -> Bool
  ) async throws {
    for _ in 0..<max(1, triesMax) {
      await doors[doors.count - 1].announce()
      guard let heads = try await heads(of: tokens, list: list), !isTold(heads) else { return }
    }
    throw failure("\(subject) was announced, and the heads do not tell it")
  }
}
