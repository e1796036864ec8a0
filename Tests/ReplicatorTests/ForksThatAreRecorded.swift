import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Two stores wrote under one identity: what became of both branches is known afterwards")
struct ForksThatAreRecorded {
  private let overlooked: @Sendable (inout StoreConfiguration) -> Void = { $0.noticesCopies = false }

  /// A device, its copy, which nobody notices, and a third one. The first two have written, and nothing of that was sent.
  private func world(_ remote: any RemoteLog, _ parent: String) async throws -> [Device] {
    let original = try Device(in: parent, "original", seed: 1, configure: overlooked)
    try await original.set("title", of: "first", to: "made")
    try await original.sync(remote)
    try copy(original, to: "\(parent)/copy.store")
    let devices = [
      original, try Device(in: parent, "copy", seed: 1, configure: overlooked),
      try Device(in: parent, "other", seed: 3),
    ]
    try await devices[2].sync(remote)
    for (index, device) in devices.prefix(2).enumerated() {
      for number in 0..<2 as Range<Int64> {
        try await device.set("title", of: Name("by \(index)"), to: .int(number))
      }
    }
    return devices
  }

  private func copy(_ device: Device, to path: String) throws {
    device.store.close()
    try FileManager.default.copyItem(atPath: device.directory, toPath: path)
    try device.reopen()
  }

  private func forks(_ device: Device) throws -> [LaneFork] {
    try device.store.read { try $0.forks(in: zone) }
  }

  /// What a device says of the fork of ``world(_:_:)``: where the first branch is, and the epoch of the other.
  private func expect(
    _ device: Device, _ replica: ReplicaID, epoch: UInt32?, isOwn: Bool,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let found = try forks(device)
    #expect(found.count == 1, "\(found)", sourceLocation: location)
    let fork = try #require(found.first, sourceLocation: location)
    #expect(fork.lane == StoreIdentity(replica: replica, epoch: 0), sourceLocation: location)
    #expect(fork.firstSequence == 2 && fork.place?.offset == 2, "\(fork)", sourceLocation: location)
    let continuation = epoch.map { StoreIdentity(replica: replica, epoch: $0) }
    #expect(fork.continuation == continuation, sourceLocation: location)
    #expect(fork.noticedMilliseconds == (isOwn ? 1_000_000 : nil), sourceLocation: location)
  }

  @Test(
    "The store that issues its branch again records it; the others know it from what the new lane continues")
  func recorded() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try await world(remote, scratch.path)
    let replica = devices[0].store.identity.replica
    #expect(try await devices[0].sync(remote).forks == 0)
    let report = try await devices[1].sync(remote)
    #expect(report.isInSync && report.forks == 1, "\(report)")
    // It is reported once.
    #expect(try await devices[1].sync(remote).forks == 0)
    try await settle(devices, remote)
    for (index, device) in devices.enumerated() {
      try expect(device, replica, epoch: 1, isOwn: index == 1)
      #expect(try device.store.information().zones[0].forks == forks(device))
      #expect(try device.store.read { try $0.forks(in: zone, limit: 0) }.isEmpty)
    }
    // Each transaction of the branch says which one it was.
    func former(_ epoch: UInt32, _ sequence: UInt64) throws -> TransactionID? {
      let id = TransactionID(replica: replica, epoch: epoch, sequence: sequence)
      return try devices[1].store.read { try $0.formerTransaction(of: id, in: zone) }
    }
    for sequence in 1...2 as ClosedRange<UInt64> {
      #expect(try former(1, sequence) == TransactionID(replica: replica, epoch: 0, sequence: sequence + 1))
    }
    #expect(try former(1, 0) == nil && former(1, 3) == nil && former(0, 2) == nil && former(2, 1) == nil)
    try await devices[1].set("title", of: "later", to: 1)
    #expect(try former(1, 3) == nil)
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices { device.store.close() }
  }

  @Test("The record survives a rebuild, an export, a copy of the store and its backup")
  func survives() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try await world(remote, scratch.path)
    let replica = devices[0].store.identity.replica
    for device in devices.prefix(2) { try await device.sync(remote) }
    let device = devices[1]
    _ = try await device.store.rebuild()
    try device.reopen()
    try expect(device, replica, epoch: 1, isOwn: true)
    #expect(try device.store.verify().isSound)
    let imported = try Device(in: scratch.path, "imported", seed: 7)
    try await imported.importLog(of: device)
    try expect(imported, replica, epoch: 1, isOwn: true)
    try device.store.backup(to: "\(scratch.path)/backup.store")
    try copy(device, to: "\(scratch.path)/second.store")
    for name in ["second", "backup"] {
      let copied = try Device(in: scratch.path, name, seed: 1)
      #expect(copied.store.identity.replica != replica)
      try expect(copied, replica, epoch: 1, isOwn: true)
      #expect(try copied.store.verify().isSound)
      copied.store.close()
    }
    for device in devices + [imported] { device.store.close() }
  }

  @Test(
    "A store that was forked before its branch was issued again knows it from the segment that is rejected")
  func rejected() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place.remote, scratch.path)
    let replica = devices[0].store.identity.replica
    try await devices[0].sync(place.remote)
    let token = try #require(try devices[0].store.read { try $0.changeToken(of: zone) })
    let entry = ObjectName.entry(of: token.incarnation, token.offset)
    let bytes = try await place.get(entry)
    try await place.replace(entry, with: [UInt8](repeating: 0, count: 300))
    // It sends behind what it cannot read.
    #expect(try await devices[1].sync(place.remote).sent == 2)
    try await place.replace(entry, with: bytes)
    #expect(try await devices[2].sync(place.remote).rejectedSegments == 1)
    try expect(devices[2], replica, epoch: nil, isOwn: false)
    #expect(try await devices[1].sync(place.remote).forks == 1)
    try await settle(devices, place.remote)
    try expect(devices[1], replica, epoch: 1, isOwn: true)
    try expect(devices[2], replica, epoch: 1, isOwn: false)
    try await expectAgreement(devices, place.remote)
    for device in devices { device.store.close() }
  }

  @Test("The store whose branch is issued again has another identity by then")
  func former() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try await world(remote, scratch.path)
    try await devices[0].sync(remote)
    try copy(devices[1], to: "\(scratch.path)/heir.store")
    devices[1].store.close()
    let heir = try Device(in: scratch.path, "heir", seed: 1)
    let report = try await heir.sync(remote)
    #expect(report.isInSync && report.forks == 1, "\(report)")
    let fork = try #require(try forks(heir).first)
    #expect(fork.lane.replica == devices[0].store.identity.replica && fork.firstSequence == 2)
    #expect(fork.continuation?.replica == heir.store.identity.replica && fork.place?.offset == 2)
    try await settle([devices[0], heir, devices[2]], remote)
    try await expectAgreement([devices[0], heir, devices[2]], remote)
    for device in [devices[0], heir, devices[2]] { device.store.close() }
  }

  @Test("A branch that is contested under its new epoch too is recorded twice, and both records stay")
  func twice() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try await world(remote, scratch.path)
    let replica = devices[0].store.identity.replica
    try copy(devices[1], to: "\(scratch.path)/second.store")
    let second = try Device(in: scratch.path, "second", seed: 1, configure: overlooked)
    try await second.set("title", of: "by 2", to: 1)
    // Both copies issue theirs again under epoch 1: the second one's first two transactions are the copy's.
    try await devices[0].sync(remote)
    for device in [devices[1], second] { _ = try await device.sync(remote, .fetch) }
    try await devices[1].set("title", of: "by 1", to: "late")
    for device in [devices[1], second] { #expect(try await device.sync(remote).isInSync) }
    let epochs = try forks(second).map { ($0.lane.epoch, $0.firstSequence, $0.continuation?.epoch) }
    #expect(epochs.map(\.0) == [0, 1] && epochs.map(\.1) == [2, 3], "\(epochs)")
    #expect(epochs.map(\.2) == [1, 2])
    // Its third transaction was issued again twice.
    func former(_ epoch: UInt32, _ sequence: UInt64) throws -> TransactionID? {
      let id = TransactionID(replica: replica, epoch: epoch, sequence: sequence)
      return try second.store.read { try $0.formerTransaction(of: id, in: zone) }
    }
    #expect(try former(2, 1) == TransactionID(replica: replica, epoch: 1, sequence: 3))
    #expect(try former(1, 2) == TransactionID(replica: replica, epoch: 0, sequence: 3))
    // That is the copy's now.
    #expect(try former(1, 3) == nil)
    let all = devices + [second]
    try await settle(all, remote)
    try await expectAgreement(all, remote)
    for device in all { device.store.close() }
  }

  @Test("A lane that the log has closed is issued again without a fork")
  func closed() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try Device(in: scratch.path, "device", seed: 1)
    try await device.set("title", of: "first", to: 1)
    try await device.sync(remote)
    let token = try #require(try device.store.read { try $0.changeToken(of: zone) })
    // Somebody leaves a hole in its name.
    var maker = SegmentMaker(zone, token.incarnation, replica: device.store.identity.replica)
    for _ in 1...8 { _ = try maker.next() }
    _ = try await remote.append(try maker.next(), after: token.offset)
    try await device.set("title", of: "second", to: 1)
    let report = try await device.sync(remote)
    #expect(report.isInSync && report.forks == 0 && report.rejectedSegments == 1, "\(report)")
    #expect(try forks(device).isEmpty)
    let replica = device.store.identity.replica
    let id = TransactionID(replica: replica, epoch: 1, sequence: 1)
    #expect(
      try device.store.read { try $0.formerTransaction(of: id, in: zone) }
        == TransactionID(replica: replica, epoch: 0, sequence: 2))
    device.store.close()
  }
}
