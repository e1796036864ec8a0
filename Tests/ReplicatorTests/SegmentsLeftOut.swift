import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Segments that every reader leaves out")
struct SegmentsLeftOut {
  @Test(
    "A repaired log in whose hole a new device wrote is sound: the audit leaves out what readers do",
    arguments: RemotePlace.Kind.allCases)
  func writtenInto(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try (1...4).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for number in 0..<4 {
      try await devices[number % 2].set("title", of: Name("\(number)"), to: .int(Int64(number)))
      try await settle(Array(devices.prefix(2)), place.remote)
    }
    let incarnation = try #require(try devices[0].store.syncState().zones.first?.token).incarnation
    // The newcomer's copy of the folder has only the first entry; the last one comes after it has written.
    let last = try await place.get(.entry(of: incarnation, 4))
    for offset in 2...4 as ClosedRange<UInt64> {
      try await place.replace(.entry(of: incarnation, offset), with: nil)
    }
    try await devices[2].set("title", of: "newcomer", to: 1)
    #expect(try await devices[2].sync(place.remote).sent == 1)
    #expect(try await place.get(.entry(of: incarnation, 2)) != nil)
    try await place.replace(.entry(of: incarnation, 4), with: last)
    func audit() async throws -> RemoteAudit {
      try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    }
    #expect(try await audit().logs[0].unreadable == [3])
    let remote = try #require(place.remote as? any LogOfObjects)
    var repair = RemoteRepair(remote, from: devices[0].store)
    try await repair.repairLogs(try await audit())
    #expect(repair.steps.map(\.outcome) == [.replaced, .putBack])
    for device in devices.prefix(2) { try await device.store.beginRereading(zone, from: 2) }
    try await settle(devices, place.remote)
    for device in devices { #expect(try device.digests() == devices[3].digests() && device.pending() == 0) }
    #expect(try devices[3].recordNames().count == 5)
    let mended = try await audit()
    #expect(mended.problems.isEmpty, "\(mended.problems)")
    let rejected = try devices[3].store.read { try $0.rejectedSegments(in: zone) }
    #expect(rejected.map(\.offset) == [3, 4])
    #expect(
      mended.logs[0].consequences.map(\.place)
        == rejected.map { "\(ObjectName.entry(of: incarnation, $0.offset))" })
    for device in devices { device.store.close() }
  }

  @Test(
    "A segment that was cut again with more transactions breaks no rule; another branch of its lane does",
    arguments: [false, true])
  func cutAgain(isFork: Bool) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let device = try Device(in: scratch.path, "d", seed: 1)
    try await device.set("title", of: "made", to: 1)
    try await settle([device], place.remote)
    let incarnation = try #require(try device.store.syncState().zones.first?.token).incarnation
    let replica = ReplicaID(rawValue: 70)
    var (first, both) = (
      SegmentMaker(zone, incarnation, replica: replica), SegmentMaker(zone, incarnation, replica: replica)
    )
    let fork = try first.fork(99)
    for segment in [try first.next(), try both.next(transactions: 2)] + (isFork ? [fork] : []) {
      let entries = try await place.copy().keys.filter { $0.incarnation == incarnation && $0.offset != nil }
      let last = UInt64(entries.count)
      let name = ObjectName.entry(of: incarnation, last + 1)
      let bytes = SegmentEnvelope.encode(
        offset: last + 1, receivedMilliseconds: nil, chain: nil, segment: segment.bytes.span.bytes)
      try await place.replace(name, with: bytes)
    }
    try await settle([device], place.remote)
    let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
    let audit = try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    #expect(audit.problems.isEmpty, "\(audit.problems)")
    #expect(rejected.map(\.offset) == (isFork ? [4] : []))
    #expect(
      audit.logs[0].consequences.map(\.place)
        == rejected.map { "\(ObjectName.entry(of: incarnation, $0.offset))" })
    device.store.close()
  }
}
