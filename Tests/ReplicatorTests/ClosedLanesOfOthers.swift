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

@Suite("Imported transactions that must be sent, and whose lane the log has closed")
struct ClosedLanesOfOthers {
  private let shared = RecordID(zone: zone, name: "shared")

  private func write(_ device: Device, _ text: String) async throws {
    try await device.store.write { try $0.append(text, to: shared) }
  }

  /// A device with two transactions that it has not sent, and one that has imported its log and continued.
  /// The remote has a segment in the first one's name that everybody rejects.
  private func world(_ remote: any RemoteLog, _ parent: String, hasShipped: Bool) async throws -> [Device] {
    let old = try Device(in: parent, "old", seed: 1)
    let other = try Device(in: parent, "other", seed: 5)
    try await write(hasShipped ? old : other, "a")
    try await (hasShipped ? old : other).sync(remote)
    try await old.sync(remote)
    for text in ["bc", "de"] { try await write(old, text) }
    let new = try Device(in: parent, "new", seed: 2)
    try await new.importLog(of: old)
    let state = try old.store.syncState()
    let token = try #require(state.zones.first?.token)
    var maker = SegmentMaker(zone, token.incarnation, replica: state.identity.replica)
    for _ in 1...8 { _ = try maker.next() }
    _ = try await remote.append(try maker.next(), after: token.offset)
    try await write(new, "fg")
    let report = try await new.sync(remote)
    guard case .failed(let failure)? = report.zones.first?.status else {
      Issue.record("\(report)")
      return [old, new]
    }
    #expect(failure.code == "laneClosed" && failure.hint.contains("--take-over \(zone)`"), "\(failure)")
    #expect(try new.pending() == 3)
    return [old, new]
  }

  private func text(_ device: Device) throws -> String? {
    try device.store.read { try $0.text(of: "body", in: shared) }
  }

  @Test(
    "The store that wrote them is gone: this one takes them over with the same meaning",
    arguments: [true, false])
  func takenOver(hasShipped: Bool) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let world = try await world(remote, scratch.path, hasShipped: hasShipped)
    let device = world[1]
    let before = try text(device)
    let count = try await device.store.settleClosedLanes(of: zone, .takeOver)
    #expect(count == 2)
    try await device.store.finishRenewal()
    #expect(try text(device) == before && before == "abcdefg")
    #expect(try device.pending() == 3)
    let new = try Device(in: scratch.path, "fresh", seed: 9)
    try await settle([device, new], remote)
    #expect(try text(new) == before && device.digests() == new.digests())
    #expect(try device.pending() == 0)
    for device in [device, new] { #expect(try device.store.verify().isSound) }
    let again = try await device.store.settleClosedLanes(of: zone, .takeOver)
    #expect(again == 0)
    for device in world + [new] { device.store.close() }
  }

  @Test("The store that wrote them sends them again: this one lets them go", arguments: [true, false])
  func letGo(hasShipped: Bool) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let world = try await world(remote, scratch.path, hasShipped: hasShipped)
    let count = try await world[1].store.settleClosedLanes(of: zone, .letGo)
    #expect(count == 2)
    try await world[1].store.finishRenewal()
    let new = try Device(in: scratch.path, "fresh", seed: 9)
    try await settle(world + [new], remote)
    for device in world + [new] {
      #expect(try device.digests() == new.digests() && device.pending() == 0)
      #expect(try device.recordNames().count == 5)
      let sum = try device.store.read { try $0.counter("count", of: shared)?.value }
      #expect(sum == .int(4))
      #expect(try device.store.verify().isSound)
      device.store.close()
    }
  }

  /// A device restored from its backup after another one had imported its log; it continued differently
  /// since.
  private func contestedWorld(_ remote: any RemoteLog, _ parent: String) async throws -> [Device] {
    let old = try Device(in: parent, "old", seed: 1)
    for text in ["a", "b"] { try await write(old, text) }
    try await old.sync(remote)
    old.store.close()
    try FileManager.default.copyItem(atPath: old.directory, toPath: "\(parent)/backup.store")
    try old.reopen()
    for text in ["c", "de"] { try await write(old, text) }
    let new = try Device(in: parent, "new", seed: 2)
    try await new.importLog(of: old)
    old.store.close()
    let restored = try Device(in: parent, "backup", seed: 3, configure: { $0.noticesCopies = false })
    try await write(restored, "x")
    try await restored.sync(remote)
    try await write(new, "fg")
    return [restored, new]
  }

  @Test(
    "The log has another branch of them: the user decides", arguments: [ClosedLaneAnswer.takeOver, .letGo],
    [true, false])
  func contested(answer: ClosedLaneAnswer, isReopened: Bool) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let world = try await contestedWorld(remote, scratch.path)
    let device = world[1]
    for round in 1...3 {
      let before = try device.store.lastCommitID
      let report = try await device.sync(remote)
      // A commit would cause the next round immediately, and so on.
      let after = try device.store.lastCommitID
      #expect(round == 1 || after == before)
      guard case .parked(let offset, let failure)? = report.zones.first?.status else {
        Issue.record("\(report)")
        return
      }
      #expect(offset == 2 && failure.code == "laneClosed" && failure.hint.contains("--take-over \(zone)`"))
      // Nothing is sent either, and the report has the reason.
      #expect(report.zones.first?.shippingFailure?.code == "laneClosed")
      #expect(report.sent == 0)
    }
    if isReopened { try device.reopen() }
    let count = try await device.store.settleClosedLanes(of: zone, answer)
    #expect(count == 2)
    let again = try await device.store.settleClosedLanes(of: zone, answer)
    #expect(again == 0)
    let new = try Device(in: scratch.path, "fresh", seed: 9)
    try await settle(world + [new], remote)
    for device in world + [new] {
      #expect(try device.digests() == new.digests() && device.pending() == 0)
      #expect(try device.recordNames().count == (answer == .takeOver ? 7 : 5))
      let sum = try device.store.read { try $0.counter("count", of: shared)?.value }
      #expect(sum == .int(answer == .takeOver ? 6 : 4))
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)")
      device.store.close()
    }
  }

  @Test(
    "The log has another branch of them, and begins behind that now: nothing is dropped, and the user decides",
    arguments: [ClosedLaneAnswer.takeOver, .letGo], [true, false])
  func contestedAndTrimmed(answer: ClosedLaneAnswer, hasMetBranch: Bool) async throws {
    let scratch = TemporaryDirectory()
    let whole = MemoryRemote(identity: RemoteID(rawValue: 9))
    let world = try await contestedWorld(whole, scratch.path)
    let device = world[1]
    if hasMetBranch { try await device.sync(whole) }
    for text in ["y", "z"] {
      try await write(world[0], text)
      try await world[0].sync(whole)
    }
    try await world[0].trim(whole)
    let remote = whole.reopened()
    let before = try device.digests()
    for round in 1...3 {
      let commit = try device.store.lastCommitID
      let report = try await device.sync(remote)
      let after = try device.store.lastCommitID
      #expect(round == 1 || after == commit)
      guard case .parked(let offset, let failure)? = report.zones.first?.status else {
        Issue.record("\(report)")
        return
      }
      #expect(
        offset == 2 && failure.code == "laneClosed" && failure.hint.contains("--take-over \(zone)`"),
        "\(failure)")
      #expect(try device.pending() == 3 && device.digests() == before)
    }
    #expect(try await device.store.settleClosedLanes(of: zone, answer) == 2)
    #expect(try await device.sync(remote).zones.first?.beganAt == 4)
    let new = try Device(in: scratch.path, "fresh", seed: 9)
    try await settle(world + [new], remote)
    for device in world + [new] {
      #expect(try device.digests() == new.digests() && device.pending() == 0)
      #expect(try device.recordNames().count == (answer == .takeOver ? 9 : 7))
      let sum = try device.store.read { try $0.counter("count", of: shared)?.value }
      #expect(sum == .int(answer == .takeOver ? 8 : 6))
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)")
      device.store.close()
    }
  }
}
