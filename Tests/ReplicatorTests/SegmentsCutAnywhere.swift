import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("A segment of which only the start arrives, in a round")
struct SegmentsCutAnywhere {
  let other = ZoneID(name: "other")

  /// Two devices, of which the second has not fetched the last segment of either zone.
  private func world(_ place: RemotePlace, _ parent: String) async throws -> [Device] {
    let devices = try (1...2).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    for zone in [zone, other] { try await devices[0].set("title", of: "first", to: "made", in: zone) }
    try await settle(devices, place.remote)
    for zone in [zone, other] { try await devices[0].set("title", of: "next", to: 1, in: zone) }
    try await devices[0].sync(place.remote)
    return devices
  }

  /// Syncs the second device while its next segment is cut, and checks that it takes nothing of it.
  ///
  /// - Parameter remote: the device's view of the remote with this many bytes left.
  private func cut(
    _ devices: [Device], _ place: RemotePlace, bytes: Int,
    _ remote: (Int) async throws -> any RemoteLog
  ) async throws {
    let device = devices[1]
    let before = try device.digests()
    let token = try #require(try device.store.syncState().zones.first?.token)
    for count in stride(from: 0, to: bytes, by: WideTests.choose(1, otherwise: 7)) {
      let report = try await device.sync(try await remote(count))
      guard case .parked(token.offset + 1, let failure) = report.zones.first?.status else {
        Issue.record("\(count) of \(bytes) bytes: \(report)")
        return
      }
      #expect(failure.scope == .zone && report.zones[1].status == .inSync, "\(count) of \(bytes) bytes")
      let (found, digests) = (try device.store.syncState().zones.first?.token, try device.digests())
      #expect(found == token && digests["notes"] == before["notes"], "\(count) of \(bytes) bytes")
    }
    let report = try await device.sync(try await remote(bytes))
    #expect(report.isInSync && report.zones.first?.receivedSegments == 1)
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    for device in devices { device.store.close() }
  }

  @Test(
    "its object is cut at every byte: the zone waits before it, then takes it whole",
    arguments: RemotePlace.Kind.allCases)
  func object(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let token = try #require(try devices[1].store.syncState().zones.first?.token)
    let name = ObjectName.entry(of: token.incarnation, token.offset + 1)
    let right = try #require(try await place.get(name))
    try await cut(devices, place, bytes: right.count) { count in
      try await place.replace(name, with: Array(right[..<count]))
      return place.remote
    }
  }

  @Test("its transfer is cut at every byte: the zone waits before it, then takes it whole")
  func answer() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let token = try #require(try devices[1].store.syncState().zones.first?.token)
    let answer = try await place.remote.segments(after: token, bytesMax: 1 << 20)
    guard case .segments(let segments, _) = answer, segments.count == 1 else {
      Issue.record("\(answer)")
      return
    }
    try await cut(devices, place, bytes: segments[0].bytes.count) { count in
      CuttingRemote(remote: place.remote, zone: zone, bytes: count)
    }
  }
}

/// A remote that returns only the first bytes of one zone's segments.
private struct CuttingRemote: ForwardingRemote {
  let remote: any RemoteLog
  let zone: ZoneID
  let bytes: Int

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    let outcome = try await remote.segments(after: token, bytesMax: bytesMax)
    guard token.zone == zone, case .segments(var page, let hasMore) = outcome else { return outcome }
    for index in page.indices { page[index].bytes = Array(page[index].bytes.prefix(bytes)) }
    return .segments(page, hasMore: hasMore)
  }
}
