import EventStore
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

@Suite("A remote that was restored from an old copy, and whose log is read again")
struct RemotesThatWentBack {
  /// Two devices that write in turn and a third one that only reads. All have read 13 segments, and the
  /// remote went back to its state after 7.
  private func world(_ place: RemotePlace, _ parent: String) async throws -> [Device] {
    let devices = try (1...3).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
    var copy: [ObjectName: [UInt8]] = [:]
    for number in 1...13 {
      try await devices[number % 2].write(number)
      try await devices[number % 2].sync(place.remote)
      if number == 7 { copy = try await place.copy() }
    }
    try await settle(devices, place.remote)
    try await place.restore(copy)
    return devices
  }

  private func expectSameAsNew(_ devices: [Device], _ place: RemotePlace, _ parent: String) async throws {
    let new = try Device(in: parent, "last", seed: 99)
    try await settle(devices + [new], place.remote)
    for device in devices + [new] {
      #expect(try device.pending() == 0)
      #expect(try device.digests() == new.digests())
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)")
      #expect(try !device.store.isRereading(zone))
    }
    new.store.close()
  }

  private func count(_ device: Device) throws -> Value? {
    try device.store.read { try $0.counter("count", of: sharedNote)?.value }
  }

  @Test(
    "Nobody has sent anything since: all of it is sent again", arguments: RemotePlace.Kind.allCases,
    [1, 5, 8])
  func shorter(kind: RemotePlace.Kind, offset: UInt64) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    try await devices[0].write(20)
    for device in devices { try await device.store.beginRereading(zone, from: offset) }
    // Writes before the log was read to its end are sent too.
    try await devices[0].write(21)
    try await settle(devices, place.remote)
    // A store that had nothing of its own there can write again.
    try await devices[2].write(22)
    try await settle(devices, place.remote)
    #expect(try count(devices[2]) == .int(16))
    #expect(try devices[2].recordNames().count == 17)
    try await expectSameAsNew(devices, place, scratch.path)
    for device in devices { device.store.close() }
  }

  @Test(
    "Without that, who has read it puts it back as it was, also what others wrote",
    arguments: RemotePlace.Kind.allCases,
    0..<3)
  func putBack(kind: RemotePlace.Kind, first: Int) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let before = try devices[0].digests()
    let report = try await devices[first].sync(place.remote)
    #expect(report.isInSync && report.zones[0].putBack == 6, "\(report)")
    let new = try Device(in: scratch.path, "new", seed: 8)
    try await new.sync(place.remote)
    #expect(try new.digests() == before)
    try await devices[0].write(20)
    try await settle(devices, place.remote)
    #expect(try count(devices[2]) == .int(14))
    try await expectSameAsNew(devices + [new], place, scratch.path)
    for device in devices + [new] { device.store.close() }
  }

  @Test("Putting back continues where it was cut short, and stops where another entry is", arguments: 1...6)
  func cutShort(after count: Int) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let failing = FailingToPutBack(remote: place.remote, after: count)
    let report = try? await devices[0].sync(failing)
    #expect(report == nil || count == 6)
    let rest = try await devices[1].sync(place.remote)
    #expect(rest.isInSync && rest.zones[0].putBack == 6 - count)
    try await expectSameAsNew(devices, place, scratch.path)
    for device in devices { device.store.close() }
  }

  @Test(
    "Another store has sent since: its writes are concurrent with those that had not seen them",
    arguments: [true, false])
  func other(folds: Bool) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place, scratch.path)
    let other = try Device(in: scratch.path, "other", seed: 7)
    try await other.sync(place.remote)
    for number in 30..<38 {
      try await other.set("milk", of: "shared", to: .string("from other \(number)"))
      try await other.sync(place.remote)
    }
    // A store that only read the log writes with a base that is gone.
    try await devices[2].set("milk", of: "shared", to: "from here")
    // The other two have nothing to send: until they read the log again, all others lose what the two had
    // sent.
    for device in devices { try await device.store.beginRereading(zone, from: 1) }
    if folds { try await devices[2].sync(place.remote) }
    try await settle(devices + [other], place.remote)
    let all = devices + [other]
    for device in all {
      let conflicts = try device.store.read { try $0.conflicts(in: zone) }
      #expect(conflicts.contains { $0.record == sharedNote && $0.field == "milk" })
      #expect(try count(device) == .int(13))
    }
    try await expectSameAsNew(all, place, scratch.path)
    for device in all { device.store.close() }
  }

  /// What happens to a remote that went back to before a zone was created, which was deleted here meanwhile.
  enum AfterDeletion: CaseIterable {
    /// A zone with its name is created there.
    case madeAgain
    /// It is replaced by the newest copy.
    case putRight
    /// First one, then the other.
    case madeAgainAndPutRight
  }

  @Test(
    "A zone was deleted here, and the remote lacks it: the deletion is complete, and sent after a repair",
    arguments: RemotePlace.Kind.allCases, AfterDeletion.allCases)
  func deleted(kind: RemotePlace.Kind, after: AfterDeletion) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    let deleted = ZoneID(name: "other")
    try await devices[0].set("title", of: "first", to: 1)
    try await settle(devices, place.remote)
    let old = try await place.copy()
    try await devices[0].set("title", of: "gone", to: 1, in: deleted)
    try await settle(devices, place.remote)
    let newest = try await place.copy()
    try await devices[0].store.write { try $0.deleteZone(deleted) }
    try await place.restore(old)
    await #expect(throws: SyncFailure.self) { try await devices[0].sync(place.remote) }
    try await devices[0].store.beginRereading(zone, from: 1)
    let report = try await devices[0].sync(place.remote)
    #expect(report.zones.map(\.status) == [.inSync, .removed])
    let idle = try await devices[0].sync(place.remote)
    #expect(idle.zones.map(\.status) == [.inSync] && !idle.hasMoved)
    if after != .putRight {
      try await devices[0].set("title", of: "new", to: 1, in: deleted)
      let made = try await devices[0].sync(place.remote)
      #expect(made.isInSync && made.sent == 1, "\(made)")
    }
    var readers = devices
    switch after {
    case .madeAgain:
      // The other one had read what the remote lost.
      readers[1] = try Device(in: scratch.path, "d3", seed: 3)
      devices[1].store.close()
    case .putRight: try await place.restore(newest)
    case .madeAgainAndPutRight:
      try await place.restore(newest)
      for zone in [zone, deleted] { try await devices[0].store.beginRereading(zone, from: 1) }
    }
    try await settle(readers, place.remote)
    try await expectAgreement(readers, place.remote)
    let names: Set = after == .putRight ? ["first"] : ["first", "new"]
    for device in readers {
      let found = try device.store.read { tx in
        try tx.zones().flatMap { zone in try tx.records(in: zone).map { $0.id.name.rawValue } }
      }
      #expect(Set(found) == names)
      device.store.close()
    }
  }

  @Test(
    "A store that syncs no zone reads a list that went back from its start, and sends what is created here",
    arguments: RemotePlace.Kind.allCases)
  func listWithoutZones(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let device = try Device(in: scratch.path, "d1", seed: 1)
    var copy: [ObjectName: [UInt8]] = [:]
    for name in ["first", "second"] {
      try await device.set("title", of: "old", to: 1, in: ZoneID(name: Name(name)))
      try await device.sync(place.remote)
      if copy.isEmpty { copy = try await place.copy() }
      try await device.store.write { try $0.deleteZone(ZoneID(name: Name(name))) }
      try await device.sync(place.remote)
    }
    try await place.restore(copy)
    try await device.set("title", of: "new", to: 1)
    let report = try await device.sync(place.remote)
    #expect(report.isInSync && report.sent == 1, "\(report)")
    // A zone that was deleted here does not return.
    #expect(try device.store.read { try $0.zones() } == [zone])
    let other = try Device(in: scratch.path, "d2", seed: 2)
    try await other.sync(place.remote)
    #expect(try other.store.read { try $0.zones() } == [ZoneID(name: "first"), zone])
    for device in [device, other] { device.store.close() }
  }

  @Test("The zone was created since: the first store that reads its log again creates it again, the same")
  func beforeTheZone() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let copy = try await place.copy()
    let devices = try (1...3).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for number in 1...6 {
      try await devices[number % 2].write(number)
      try await devices[number % 2].sync(place.remote)
    }
    try await settle(devices, place.remote)
    let token = try devices[2].store.read { try $0.changeToken(of: zone) }
    try await place.restore(copy)
    try await devices[0].write(7)
    for device in devices {
      let report = try? await device.sync(place.remote)
      #expect(report?.isInSync != true)
    }
    for device in devices { try await device.store.beginRereading(zone, from: 1) }
    try await settle(devices, place.remote)
    #expect(try devices[2].store.read { try $0.changeToken(of: zone) }?.incarnation == token?.incarnation)
    #expect(try count(devices[2]) == .int(7))
    try await expectSameAsNew(devices, place, scratch.path)
    for device in devices { device.store.close() }
  }

  @Test("A given-up entry in an otherwise unchanged log changes no base")
  func sameLog() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for number in 1...6 {
      try await devices[number % 2].write(number)
      try await devices[number % 2].sync(place.remote)
    }
    try await settle(devices, place.remote)
    try await devices[0].write(7)
    try await devices[0].store.beginRereading(zone, from: 3)
    try await settle(devices, place.remote)
    let lanes = try devices[0].store.read { tx in
      var epochs: Set<UInt32> = []
      try tx.history { transaction in
        epochs.insert(transaction.transaction.epoch)
        return true
      }
      return epochs
    }
    #expect(lanes == [0])
    #expect(try devices[1].store.read { try $0.conflicts(in: zone) }.isEmpty)
    try await expectSameAsNew(devices, place, scratch.path)
    for device in devices { device.store.close() }
  }
}

/// Is not reachable any more after so many entries were put back.
private final class FailingToPutBack: ForwardingRemote {
  let remote: any RemoteLog
  private let left: Atomic<Int>

  init(remote: any RemoteLog, after count: Int) {
    self.remote = remote
    left = Atomic(count)
  }

  func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    guard left.wrappingSubtract(1, ordering: .relaxed).oldValue > 0 else {
      throw RemoteError(.unreachable, "there is no network", hint: "try again")
    }
    return try await remote.putBack(entry, after: token)
  }
}
