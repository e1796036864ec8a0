import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("A remote of a former version is upgraded")
struct RemotesUpgraded {
  let scratch = TemporaryDirectory()

  /// Two devices that have each sent three segments of one zone, as a former version stores them.
  private func world(_ kind: RemotePlace.Kind) async throws -> (RemotePlace, [Device], ChangeToken) {
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for number in 0..<6 {
      try await devices[number % 2].set("title", of: Name("\(number)"), to: .int(Int64(number)))
      try await settle(devices, place.remote)
    }
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    try #require(token.offset == 6)
    for offset in 1...6 as ClosedRange<UInt64> {
      let (name, stored) = try await entry(offset, of: token, place)
      try await place.replace(
        name,
        with: SegmentEnvelope.encode(
          offset: offset, receivedMilliseconds: stored.receivedMilliseconds, chain: nil,
          segment: stored.bytes.span.bytes))
    }
    return (place, devices, token)
  }

  private func entry(
    _ offset: UInt64, of token: ChangeToken, _ place: RemotePlace
  ) async throws -> (ObjectName, StoredSegment) {
    let name = ObjectName.entry(of: token.incarnation, offset)
    let bytes = try #require(try await place.get(name))
    let slot = try LogObject.read(bytes, name, zone, token.incarnation, offset)
    guard case .segment(let stored) = slot else { throw RemoteError.missing(name) }
    return (name, stored)
  }

  private func chains(_ token: ChangeToken, _ place: RemotePlace) async throws -> [LogChain?] {
    var chains: [LogChain?] = []
    for offset in 1...6 as ClosedRange<UInt64> {
      chains.append(try await entry(offset, of: token, place).1.chain)
    }
    return chains
  }

  @Test("It says what there is to do, does it, and can be stopped", arguments: RemotePlace.Kind.allCases)
  func upgraded(kind: RemotePlace.Kind) async throws {
    let (place, devices, token) = try await world(kind)
    let remote = try #require(place.remote as? any LogOfObjects)
    let told = try await RemoteUpgrade(remote, writes: false).run().logs
    #expect(told.map(\.entries) == [6] && told.map(\.former) == [6] && told[0].stop == nil)
    #expect(try await chains(token, place) == Array(repeating: nil, count: 6))

    struct Stopped: Error {}
    await #expect(throws: Stopped.self) {
      _ = try await RemoteUpgrade(remote, writes: true).run { if $0 == 2 { throw Stopped() } }
    }
    let half = try await chains(token, place)
    #expect(half.map { $0 != nil } == [true, true, false, false, false, false])
    // Devices sync meanwhile, and one comes that has read nothing.
    let newcomer = try Device(in: scratch.path, "d3", seed: 3)
    try await settle(devices + [newcomer], place.remote)
    let done = try await RemoteUpgrade(remote, writes: true).run().logs
    #expect(done.map(\.former) == [4])
    let known = try (1...6).map { try devices[0].store.place(at: $0, of: zone, token.incarnation)?.chain }
    #expect(try await chains(token, place) == known)
    #expect(try await RemoteUpgrade(remote, writes: true).run().logs.map(\.former) == [0])

    try await devices[1].set("title", of: "last", to: "written after it")
    try await settle(devices + [newcomer], place.remote)
    try await expectAgreement(devices + [newcomer], place.remote)
    for device in devices + [newcomer] { device.store.close() }
  }

  @Test("Stopped before any change of the remote, it continues, and everybody reads it meanwhile")
  func everyChange() async throws {
    let (place, devices, token) = try await world(.memory)
    var stops = 0
    while true {
      let objects = FailingObjects(place.objects, after: 1)
      do {
        _ = try await RemoteUpgrade(RemoteOfObjects(objects), writes: true).run()
        break
      } catch let error as RemoteError where error.code == .unreachable {
        stops += 1
      }
      let newcomer = try Device(in: scratch.path, "n\(stops)", seed: UInt64(stops + 10))
      try await settle(devices + [newcomer], place.remote)
      #expect(try newcomer.digests() == devices[0].digests())
      newcomer.store.close()
    }
    // A change at least for each entry, and the last run has the last one.
    #expect(stops >= 5, "\(stops)")
    let known = try (1...6).map { try devices[0].store.place(at: $0, of: zone, token.incarnation)?.chain }
    #expect(try await chains(token, place) == known)
    try await expectAgreement(devices, place.remote)
    for device in devices { device.store.close() }
  }

  @Test(
    "What follows an entry that nobody can read, or that was given up, stays as it is",
    arguments: RemotePlace.Kind.allCases, [false, true])
  func stopped(kind: RemotePlace.Kind, isGivenUp: Bool) async throws {
    let (place, devices, token) = try await world(kind)
    let remote = try #require(place.remote as? any LogOfObjects)
    try await place.damage(isGivenUp ? .givenUp : .zeros, token.incarnation, 4)
    let done = try await RemoteUpgrade(remote, writes: true).run().logs
    #expect(done.map(\.entries) == [3] && done.map(\.former) == [3] && done[0].stop?.offset == 4)
    for offset in [5, 6] as [UInt64] { #expect(try await entry(offset, of: token, place).1.chain == nil) }
    // A device that has read past it syncs.
    let report = try await devices[0].sync(place.remote)
    #expect(report.isInSync)
    for device in devices { device.store.close() }
  }
}
