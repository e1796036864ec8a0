import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Others use up a store's epochs, or its parents' transactions")
struct EpochsUsedUp {
  @Test("A segment under the last epoch, and one that closes the lane: the store takes the next one")
  func lastEpoch() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let other = ZoneID(name: "other")
    let device = try Device(in: scratch.path, "d", seed: 1)
    for zone in [zone, other] { try await device.set("title", of: "first", to: 1, in: zone) }
    try await settle([device], remote)
    let state = try device.store.syncState()
    let token = try #require(state.zones.first { $0.zone == zone }?.token)
    for epoch in [.max, 1] as [UInt32] {
      var maker = SegmentMaker(zone, token.incarnation, replica: state.identity.replica, epoch: epoch)
      _ = try await remote.append(try maker.next(), after: token.offset)
    }
    var maker = SegmentMaker(zone, token.incarnation, replica: state.identity.replica)
    for _ in 0..<8 { _ = try maker.next() }
    _ = try await remote.append(try maker.next(), after: token.offset)
    for zone in [zone, other] { try await device.set("title", of: "second", to: 1, in: zone) }
    let report = try await device.sync(remote)
    #expect(report.isInSync && report.sent == 2, "\(report)")
    let pending = try device.pending()
    #expect(pending == 0)
    let fresh = try Device(in: scratch.path, "fresh", seed: 2)
    try await settle([device, fresh], remote)
    #expect(try fresh.digests() == device.digests())
    let epochs = try fresh.store.information().zones.first { $0.id == zone }?.replicas.map(\.epoch).sorted()
    #expect(epochs == [0, 1, 2, .max])
  }

  @Test(
    "An error of the store in a zone's part belongs to that zone, unless it is known to be of the whole store"
  )
  func scopes() {
    func scope(_ code: StoreError.Code) -> SyncFailure.Scope {
      SyncFailure(StoreError(code, "planned", hint: "none")).scope
    }
    for code in [.transactionTooLarge, .laneClosed, .valueInvalid, .nameInvalid, .fork] as [StoreError.Code] {
      #expect(scope(code) == .zone, "\(code)")
    }
    for code in [.full, .closed, .system, .readOnly, .commitFailed, .remoteChanged] as [StoreError.Code] {
      #expect(scope(code) == .round, "\(code)")
    }
  }

  /// The importing store's lane continues transactions of an entry that nobody has any more.
  @Test("A parent that a rereading removed: the importing store continues what is left, and all agree")
  func parentGivenUp() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let remote = place.remote
    let first = try Device(in: scratch.path, "a", seed: 1)
    for number in 1...3 {
      try await first.set("title", of: Name("a\(number)"), to: 1)
      try await first.sync(remote)
    }
    let second = try Device(in: scratch.path, "b", seed: 2)
    try await second.importLog(of: first)
    try await second.set("title", of: "b1", to: 1)
    try await second.sync(remote)
    try await first.set("title", of: "a4", to: 1)
    try await settle([first, second], remote)
    let incarnation = try #require(try first.store.syncState().zones.first?.token).incarnation
    try await place.replace(.entry(of: incarnation, 3), with: [1, 2, 3])
    let objects = remote as! any LogOfObjects
    _ = try await objects.log.amendments.quarantine(
      EntryPlace(log: EntryPlace.Log(zone, incarnation), offset: 3), last: 100, note: "lost",
      milliseconds: 1_700_000_000_000)
    try await second.store.beginRereading(zone, from: 3)
    try await second.sync(remote)
    try await second.set("title", of: "b2", to: 1)
    try await second.sync(remote)
    #expect(try second.pending() == 0)
    let fresh = try Device(in: scratch.path, "fresh", seed: 3)
    try await settle([second, fresh], remote)
    for name in ["notes:b1", "notes:b2"] { #expect(try fresh.recordNames().contains(name)) }
    #expect(try fresh.digests() == second.digests())
    // Its writer issues again what the log lost.
    try await first.store.beginRereading(zone, from: 3)
    try await settle([first, second, fresh], remote)
    #expect(try fresh.recordNames().count == 6)
    for device in [first, second, fresh] {
      #expect(try device.digests() == fresh.digests())
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      #expect(rejected.map(\.offset) == [4, 5])
      #expect(try device.store.verify().isSound)
      device.store.close()
    }
  }
}
