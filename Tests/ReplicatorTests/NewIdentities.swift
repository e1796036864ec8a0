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

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A store that was copied, or put back from a backup, is another replica when it is opened")
struct NewIdentities {
  private let shared = RecordID(zone: zone, name: "shared")

  /// Puts the files of a store into another directory.
  private func copy(_ device: Device, to path: String) throws {
    device.store.close()
    try FileManager.default.copyItem(atPath: device.directory, toPath: path)
    try device.reopen()
  }

  /// Puts older bytes into the data file, as `cp` does: it stays the same file.
  private func putBack(_ bytes: Data, into device: Device) throws {
    device.store.close()
    try bytes.write(to: URL(fileURLWithPath: "\(device.directory)/data.mdb"))
    try device.reopen()
  }

  private func inode(of device: Device) throws -> UInt64 {
    var raw = stat()
    try #require(stat("\(device.directory)/data.mdb", &raw) == 0)
    return UInt64(raw.st_ino)
  }

  private func data(of device: Device) throws -> Data {
    device.store.close()
    defer { try? device.reopen() }
    return try Data(contentsOf: URL(fileURLWithPath: "\(device.directory)/data.mdb"))
  }

  /// Types, adds and counts: each call must count once.
  private func type(_ text: String, on device: Device) async throws {
    try await device.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      if try !tx.contains(shared) { try tx.create(shared, type: "note") }
      try tx.insertText(text, at: 0, in: "body", of: shared)
      try tx.insertElements([.string(text)], at: 0, in: "items", of: shared)
      try tx.add(1, to: "count", of: shared)
    }
    // Refers to units that the same lane made before and just now.
    try await device.store.write { tx in
      try tx.insertText("-", at: 1, in: "body", of: shared)
      try tx.removeText(2..<3, from: "body", of: shared)
      try tx.moveElement(from: 0, to: try tx.list("items", of: shared)!.count - 1, in: "items", of: shared)
    }
  }

  /// A device, and a copy of it that nobody notices: both have written under one identity, and the device has sent.
  private func twins(in parent: String, _ remote: any RemoteLog) async throws -> (Device, twin: Device) {
    let original = try Device(in: parent, "original", seed: 1)
    try await type("ab", on: original)
    try await original.sync(remote)
    try copy(original, to: "\(parent)/twin.store")
    let twin = try Device(in: parent, "twin", seed: 1, configure: { $0.noticesCopies = false })
    try await type("cd", on: original)
    try await type("ef", on: twin)
    try await original.sync(remote)
    return (original, twin)
  }

  /// Checks that the devices agree, and that each call of ``type(_:on:)`` counts once.
  private func expect(_ calls: Int, on devices: [Device], _ remote: any RemoteLog) async throws {
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices {
      let read = try device.store.read { tx in
        (try tx.counter("count", of: shared)?.value, try tx.list("items", of: shared)?.count)
      }
      #expect(read.0 == .int(Int64(calls)))
      #expect(read.1 == calls)
      let digests = try device.digests()
      _ = try await device.store.rebuild()
      #expect(try device.digests() == digests)
      device.store.close()
    }
  }

  @Test(
    "A copy takes another identity, and continues what both have", arguments: [true, false], [true, false])
  func copied(hasPending: Bool, onlyDataFile: Bool) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let original = try Device(in: scratch.path, "original", seed: 1)
    try await type("ab", on: original)
    try await original.sync(remote)
    if hasPending { try await type("cd", on: original) }
    try copy(original, to: "\(scratch.path)/copy.store")
    if onlyDataFile {
      for name in ["store.mark", "lock.mdb"] {
        try FileManager.default.removeItem(atPath: "\(scratch.path)/copy.store/\(name)")
      }
    }
    let copy = try Device(in: scratch.path, "copy", seed: 1)
    let (old, new) = (original.store.identity, copy.store.identity)
    #expect(old.replica != new.replica)
    #expect(try copy.store.information().formerReplicas == [old.replica])
    #expect(try original.store.information().formerReplicas == [])
    try copy.reopen()
    #expect(copy.store.identity == new)
    try await type("ef", on: original)
    try await type("gh", on: copy)
    let sent = try await copy.sync(remote)
    #expect(sent.isInSync && sent.sent == (hasPending ? 4 : 2), "\(sent)")
    let other = try Device(in: scratch.path, "other", seed: 3)
    try await expect(hasPending ? 4 : 3, on: [original, copy, other], remote)
    // Nobody had to write under another epoch.
    try original.reopen()
    #expect(try original.store.information().zones[0].replicas.allSatisfy { $0.epoch == 0 })
    original.store.close()
  }

  /// Both have the same identity from the first transaction on: the fork has nothing before it.
  @Test(
    "Two new stores that drew the same identity: one takes another epoch, and both branches are kept",
    arguments: 1...3, [true, false])
  func drawnTwice(writes: Int, inTurn: Bool) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let pair = try ["one", "two"].map { try Device(in: scratch.path, $0, seed: 1) }
    let replica = pair[0].store.identity.replica
    #expect(pair[1].store.identity == pair[0].store.identity)
    var calls = 0
    for round in 0..<writes {
      for (index, device) in pair.enumerated() {
        try await type("\(index)\(round)", on: device)
        calls += 1
        if inTurn { #expect(try await device.sync(remote).isInSync) }
      }
    }
    try await settle(pair, remote)
    let forks = try pair.flatMap { try $0.store.read { try $0.forks(in: zone) } }
    #expect(forks.count == 1, "\(forks)")
    let fork = try #require(forks.first)
    #expect(fork.lane == StoreIdentity(replica: replica, epoch: 0) && fork.firstSequence == 1)
    #expect(fork.place?.offset == 1 && fork.noticedMilliseconds != nil)
    #expect(fork.continuation == StoreIdentity(replica: replica, epoch: 1))
    #expect(try pair[0].store.information().zones[0].replicas.map(\.epoch) == [0, 1])
    try await expect(calls, on: pair + [try Device(in: scratch.path, "other", seed: 3)], remote)
  }

  @Test("The identities that the system draws are never the same twice")
  func drawnByTheSystem() {
    let drawn = (0..<100_000).map { _ in ReplicaID(rawValue: random128(SystemEnvironment.makeRandom)) }
    #expect(Set(drawn).count == drawn.count)
  }

  @Test("A store that was put back in its place takes another identity, and gets back what it had sent")
  func putBack() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try Device(in: scratch.path, "device", seed: 1)
    try await type("ab", on: device)
    let backup = try data(of: device)
    try await type("cd", on: device)
    try await device.sync(remote)
    device.store.close()
    // The mark notes how far it was.
    try device.reopen()
    let (old, inode) = (device.store.identity, try inode(of: device))
    try putBack(backup, into: device)
    #expect(try self.inode(of: device) == inode)
    #expect(device.store.identity.replica != old.replica)
    try await type("ef", on: device)
    try await expect(3, on: [device, try Device(in: scratch.path, "other", seed: 3)], remote)
  }

  @Test("Also a backup of the same session: the mark notes how far the store was when it was closed")
  func putBackOfSession() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try Device(in: scratch.path, "device", seed: 1)
    try await type("ab", on: device)
    try device.store.backup(to: "\(scratch.path)/backup.store")
    try await type("cd", on: device)
    try await device.sync(remote)
    let old = device.store.identity
    try putBack(
      try Data(contentsOf: URL(fileURLWithPath: "\(scratch.path)/backup.store/data.mdb")), into: device)
    #expect(device.store.identity.replica != old.replica)
    // Closed without a change, and opened again, it stays the same.
    let new = device.store.identity
    for _ in 0..<2 { try device.reopen() }
    #expect(device.store.identity == new)
    try await type("ef", on: device)
    try await expect(3, on: [device, try Device(in: scratch.path, "other", seed: 3)], remote)
  }

  @Test("What was sent under a former identity and the remote lost is sent again once the log is read again")
  func lostAtTheRemote() async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let original = try Device(in: scratch.path, "original", seed: 1)
    try await type("ab", on: original)
    try await original.sync(place.remote)
    try await type("cd", on: original)
    try await original.sync(place.remote)
    let token = try #require(try original.store.read { try $0.changeToken(of: zone) })
    try copy(original, to: "\(scratch.path)/copy.store")
    original.store.close()
    let copied = try Device(in: scratch.path, "copy", seed: 1)
    try await place.replace(ObjectName.entry(of: token.incarnation, token.offset), with: nil)
    _ = try await copied.store.beginRereading(zone, from: token.offset)
    try await expect(2, on: [copied, try Device(in: scratch.path, "other", seed: 3)], place.remote)
  }

  @Test("A former identity is no other device: not a peer, and nobody who has seen something")
  func peers() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let original = try Device(in: scratch.path, "original", seed: 1)
    try await original.set("title", of: "a", to: 1)
    try await original.sync(remote)
    try copy(original, to: "\(scratch.path)/copy.store")
    let copied = try Device(in: scratch.path, "copy", seed: 1)
    #expect(try copied.store.read { try $0.peers(of: zone) } == [])
    try await copied.set("title", of: "b", to: 1)
    try await settle([copied, original], remote)
    // The original still writes under the identity that the copy had.
    try await original.set("title", of: "c", to: 1)
    try await settle([copied, original], remote)
    #expect(try copied.store.read { try $0.peers(of: zone) }.map(\.id) == [original.store.identity.replica])
    #expect(try original.store.read { try $0.peers(of: zone) }.map(\.id) == [copied.store.identity.replica])
    for device in [original, copied] { device.store.close() }
  }

  @Test("A store that renewed its lane is copied, and continues it")
  func renewed() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let (original, twin) = try await twins(in: scratch.path, remote)
    try await twin.sync(remote)
    try await type("gh", on: twin)
    // Its lane has an epoch of its own, and something pending.
    try copy(twin, to: "\(scratch.path)/copy.store")
    let copied = try Device(in: scratch.path, "copy", seed: 1)
    try await type("ij", on: copied)
    try await type("kl", on: twin)
    try await expect(6, on: [copied, twin, original, try Device(in: scratch.path, "other", seed: 3)], remote)
  }

  @Test("A store that is renamed, reopened, or marked by a former version keeps its identity")
  func unchanged() async throws {
    let scratch = TemporaryDirectory()
    let device = try Device(in: scratch.path, "device", seed: 1)
    try await type("ab", on: device)
    let identity = device.store.identity
    try device.reopen()
    #expect(device.store.identity == identity)
    device.store.close()
    try FileManager.default.moveItem(atPath: device.directory, toPath: "\(scratch.path)/renamed.store")
    let renamed = try Device(in: scratch.path, "renamed", seed: 1)
    #expect(renamed.store.identity == identity)
    let mark = "\(renamed.directory)/store.mark"
    for text in [
      "", "A Tributary store was made here. Its data is in data.mdb.\n", "place 2 x\n", "place 1 - 1 x 9\n",
    ] {
      renamed.store.close()
      try text.write(toFile: mark, atomically: true, encoding: .utf8)
      try renamed.reopen()
      #expect(renamed.store.identity == identity)
      #expect(try String(contentsOfFile: mark, encoding: .utf8).contains("\nplace 1 "))
    }
    renamed.store.close()
  }

  @Test("On another machine a store is a copy; opening it only to read changes nothing")
  func otherMachine() async throws {
    let scratch = TemporaryDirectory()
    let machine = TestMachine()
    let device = try Device(in: scratch.path, "device", seed: 1, configure: { $0.machineID = { machine.id } })
    try await type("ab", on: device)
    let identity = device.store.identity
    try device.reopen()
    #expect(device.store.identity == identity)
    device.store.close()
    machine.id = "another"
    var configuration = StoreConfiguration()
    configuration.isReadOnly = true
    configuration.machineID = { machine.id }
    configuration.mapBytes = 64 << 20
    let read = try LocalStore(directory: device.directory, durability: .durable, configuration: configuration)
    #expect(read.identity == identity)
    read.close()
    try device.reopen()
    #expect(device.store.identity.replica != identity.replica)
    device.store.close()
  }

  @Test("A crash between the new identity and the mark: the next opening takes one more, and nothing is lost")
  func crashes() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let original = try Device(in: scratch.path, "original", seed: 1)
    try await type("ab", on: original)
    try copy(original, to: "\(scratch.path)/copy.store")
    let mark = "\(scratch.path)/copy.store/store.mark"
    let noted = try String(contentsOfFile: mark, encoding: .utf8)
    let copy = try Device(in: scratch.path, "copy", seed: 1)
    var formers = try copy.store.information().formerReplicas
    for number in 0..<3 {
      // An identity under which nothing was written need not be known.
      if number > 0 {
        formers.insert(copy.store.identity.replica, at: 0)
        try await type("c\(number)", on: copy)
      }
      copy.store.close()
      try noted.write(toFile: mark, atomically: true, encoding: .utf8)
      try copy.reopen()
      #expect(try copy.store.information().formerReplicas == formers)
    }
    try await expect(3, on: [original, copy], remote)
  }

  @Test("A store that is copied again and again continues beyond the bound of what a lane may continue")
  func chain() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    var device = try Device(in: scratch.path, "0", seed: 1)
    try await type("ab", on: device)
    let count = Limits.lineageMax + 6
    for number in 1...count {
      device.store.close()
      try FileManager.default.moveItem(atPath: device.directory, toPath: "\(scratch.path)/moved")
      try FileManager.default.copyItem(
        atPath: "\(scratch.path)/moved", toPath: "\(scratch.path)/\(number).store")
      try FileManager.default.removeItem(atPath: "\(scratch.path)/moved")
      device = try Device(in: scratch.path, "\(number)", seed: UInt64(number + 1))
      try await type("b\(number)", on: device)
      if number % 30 == 0 { #expect(try await device.sync(remote).isInSync) }
    }
    try await expect(count + 1, on: [device, try Device(in: scratch.path, "other", seed: 999)], remote)
  }

  @Test("Under a former identity another store wrote on: what the log does not take is issued again, once")
  func contested() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let (original, twin) = try await twins(in: scratch.path, remote)
    // The twin is gone, and its copy has another identity.
    try copy(twin, to: "\(scratch.path)/copy.store")
    twin.store.close()
    let copied = try Device(in: scratch.path, "copy", seed: 1)
    try await type("gh", on: copied)
    #expect(try copied.pending() == 4)
    try await expect(4, on: [original, copied, try Device(in: scratch.path, "other", seed: 3)], remote)
  }

  @Test("What was written before the copy can be taken back, what the other store wrote since cannot")
  func undo() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let original = try Device(in: scratch.path, "original", seed: 1)
    try await original.set("title", of: "a", to: 1)
    try await original.set("title", of: "a", to: 2)
    try copy(original, to: "\(scratch.path)/copy.store")
    let copied = try Device(in: scratch.path, "copy", seed: 1)
    try await original.set("title", of: "b", to: 3)
    try await settle([original, copied], remote)
    let manager = copied.store.undoManager()
    _ = try await manager.undo()
    #expect(try copied.store.read { try $0.record(RecordID(zone: zone, name: "a"))?["title"] } == 1)
    #expect(try copied.store.read { try $0.record(RecordID(zone: zone, name: "b"))?["title"] } == 3)
    try await settle([original, copied], remote)
    try await expectAgreement([original, copied], remote)
    for device in [original, copied] { device.store.close() }
  }
}

/// A machine whose identity a test changes.
private final class TestMachine: @unchecked Sendable {
  var id = "one"
}
