import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("A replicator that runs for a long time with a wrong remote")
struct WrongRemotesForLong {
  /// What is there instead, all of it writable.
  enum Place: CaseIterable {
    case empty, withoutMarker, foreign, foreignWithData, older

    var code: RemoteError.Code {
      switch self {
      case .empty, .withoutMarker: .notARemote
      case .foreign, .foreignWithData: .identityMismatch
      case .older: .wentBack
      }
    }
  }

  /// The objects there, made from those of the right place.
  private func objects(
    _ wrong: Place, _ kind: RemotePlace.Kind, _ older: [ObjectName: [UInt8]], _ right: [ObjectName: [UInt8]],
    _ parent: String
  ) async throws -> [ObjectName: [UInt8]] {
    switch wrong {
    case .empty: return [:]
    case .withoutMarker: return right.filter { $0.key != .marker }
    case .older: return older
    case .foreign, .foreignWithData:
      let foreign = try await RemotePlace(kind, in: parent, identity: RemoteID(rawValue: 10))
      if wrong == .foreignWithData {
        let stranger = try Device(in: parent, "stranger", seed: 7)
        try await stranger.set("title", of: "theirs", to: 1)
        try await stranger.sync(foreign.remote)
        stranger.store.close()
      }
      return try await foreign.copy()
    }
  }

  @Test(
    "a hundred rounds with writes: nothing is written there or read from it, and nothing here is lost",
    .timeLimit(.minutes(20)), arguments: RemotePlace.Kind.allCases, Place.allCases)
  func hundredRounds(kind: RemotePlace.Kind, wrong: Place) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, place.remote)
    let older = try await place.copy()
    try await devices[1].set("title", of: "later", to: 1, in: ZoneID(name: "other"))
    // A remote that was open before keeps its knowledge of the right one; another opens the wrong one.
    let open = place.remote
    try await settle(devices, open)
    let right = try await place.copy()
    try await place.restore(try await objects(wrong, kind, older, right, scratch.path))
    let before = try await place.copy()
    let state = try devices[0].store.syncState()
    for (turn, remote) in [open, place.remote].enumerated() {
      let running = Running(devices[0], remote, .flying())
      var rounds = 0
      try await running.report { report in
        #expect(report.failure?.code == wrong.code.rawValue, "\(report)")
        if rounds.isMultiple(of: 10) {
          try await devices[0].set("title", of: Name("\(turn) \(rounds)"), to: 1)
        }
        rounds += 1
        return rounds == 50
      }
      #expect(rounds == 50)
      await running.end()
    }
    let after = try await place.copy()
    #expect(after == before)
    let now = try devices[0].store.syncState()
    #expect(now.databaseToken == state.databaseToken && now.zones.map(\.token) == state.zones.map(\.token))
    let (pending, names) = (try devices[0].pending(), try devices[0].recordNames())
    #expect(pending == 10 && names.count == 12)
    try await place.restore(right)
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    let shipped = try devices[1].recordNames()
    #expect(shipped == names)
    for device in devices { device.store.close() }
  }
}
