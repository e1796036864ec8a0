import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

@Suite("Writes that a remote refuses")
struct WritesThatAreRefused {
  let scratch = TemporaryDirectory()
  let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private func devices() async throws -> [Device] {
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, remote)
    for (index, device) in devices.enumerated() { try await device.set("title", of: Name("\(index)"), to: 1) }
    try await devices[1].sync(remote)
    return devices
  }

  private func refusing(_ rate: WritableKeyPath<FaultyRemote.Rates, Int>) -> FaultyRemote {
    var rates = FaultyRemote.Rates()
    rates[keyPath: rate] = 100
    return FaultyRemote(remote, seed: 1, rates: rates)
  }

  @Test(
    "What is pending is kept and shown, what others wrote arrives, and all is sent once it may be",
    arguments: [
      ("readOnly", \FaultyRemote.Rates.readOnly), ("segmentRefused", \.segmentRefused),
      ("keyOutdated", \.keyOutdated), ("overQuota", \.overQuota),
    ] as [(String, any WritableKeyPath<FaultyRemote.Rates, Int> & Sendable)])
  func kept(code: String, rate: any WritableKeyPath<FaultyRemote.Rates, Int> & Sendable) async throws {
    let devices = try await devices()
    for _ in 0..<2 {
      let report = try await devices[0].sync(refusing(rate))
      guard case .failed(let failure) = report.zones[0].status else {
        Issue.record("the zone is \(report.zones[0].status)")
        return
      }
      #expect(failure.code == code && failure.scope == .zone && !report.isInSync)
      #expect(try devices[0].pending() == 1 && devices[0].recordNames().contains("notes:1"))
    }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices { device.store.close() }
  }

  @Test("A remote that does not know the user ends the round, and nothing is lost")
  func unauthenticated() async throws {
    let devices = try await devices()
    await #expect { try await devices[0].sync(refusing(\.unauthenticated)) } throws: {
      ($0 as? SyncFailure)?.code == "unauthenticated" && ($0 as? SyncFailure)?.scope == .round
    }
    #expect(try devices[0].pending() == 1)
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices { device.store.close() }
  }

  @Test("The new address of a remote that has moved reaches the app")
  func moved() {
    let error = RemoteError(.moved, "it is elsewhere", hint: "go there", newAddress: "https://b.example")
    let failure = SyncFailure(error)
    #expect(failure.scope == .round && failure.newAddress == "https://b.example")
    #expect(failure.ofRound.newAddress == failure.newAddress)
  }
}
