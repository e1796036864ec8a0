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

@Suite("Lanes that continue one that the log refuses")
struct LanesThatContinueOthers {
  private let shared = RecordID(zone: zone, name: "shared")

  /// Appends to a text and a list, and removes what another device appended.
  private func write(_ device: Device, _ text: String, removing removed: String = "") async throws {
    try await device.store.write { tx in
      for scalar in removed.unicodeScalars {
        let known = Array((try tx.text(of: "body", in: shared) ?? "").unicodeScalars)
        guard let at = known.firstIndex(of: scalar) else { continue }
        try tx.removeText(at..<(at + 1), from: "body", of: shared)
      }
      try tx.append(text, to: shared)
    }
  }

  private func text(_ device: Device) throws -> String {
    try device.store.read { try $0.text(of: "body", in: shared) } ?? ""
  }

  private enum Cause: CaseIterable { case branch, hole }

  /// A device with two transactions that it has not sent, and three more devices, each of which imported the
  /// log of the one before and continued. Then the remote refuses the first one's lane: the first device was
  /// restored from a backup and sent another branch, or there is a segment in its name that everybody
  /// rejects.
  ///
  /// - Returns: the restored device, and the three that imported.
  private func world(_ remote: any RemoteLog, _ parent: String, _ cause: Cause) async throws -> [Device] {
    let first = try Device(in: parent, "first", seed: 1)
    try await write(first, "ab")
    try await first.sync(remote)
    let state = try first.store.syncState()
    first.store.close()
    try FileManager.default.copyItem(atPath: first.directory, toPath: "\(parent)/backup.store")
    try first.reopen()
    try await write(first, "cd")
    try await write(first, "ef", removing: "c")
    var chain = [first]
    for (index, (text, removed)) in [("gh", "e"), ("ij", "dg"), ("kl", "fi")].enumerated() {
      let next = try Device(in: parent, "next \(index)", seed: UInt64(index) + 2)
      try await next.importLog(of: chain[index])
      chain[index].store.close()
      try await write(next, text, removing: removed)
      chain.append(next)
    }
    for device in chain.dropFirst().dropLast() { try device.reopen() }
    let restored = try Device(in: parent, "backup", seed: 9, configure: { $0.noticesCopies = false })
    switch cause {
    case .branch: for text in ["UV", "WX", "YZ"] { try await write(restored, text) }
    case .hole:
      let token = try #require(state.zones.first?.token)
      var maker = SegmentMaker(zone, token.incarnation, replica: state.identity.replica)
      for _ in 1...8 { _ = try maker.next() }
      _ = try await remote.append(try maker.next(), after: token.offset)
    }
    try await restored.sync(remote)
    return [restored] + chain.dropFirst()
  }

  private func isRefused(_ device: Device, _ remote: any RemoteLog) async throws -> Bool {
    switch try await device.sync(remote).zones.first?.status {
    case .failed(let failure)?, .parked(_, let failure)?: failure.code == "laneClosed"
    default: false
    }
  }

  @Test("All are settled together, in one commit that rewrites each once", arguments: Cause.allCases)
  private func takenOver(cause: Cause) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let world = try await world(remote, scratch.path, cause)
    let device = world[3]
    #expect(try await isRefused(device, remote))
    let before = try (text(device), device.store.read { try $0.lastPosition().rawValue })
    #expect(before.0 == "abhjkl")
    let count = try await device.store.settleClosedLanes(of: zone, .takeOver)
    // Two of the first, one of each that continues it, and its own one, rewritten.
    #expect(count == 4)
    #expect(try device.store.read { try $0.lastPosition().rawValue } == before.1 + 4 + 1)
    try await device.store.finishRenewal()
    #expect(try text(device) == before.0)
    try device.reopen()
    let new = try Device(in: scratch.path, "fresh", seed: 99)
    try await settle([device, world[0], new], remote)
    try expectSame([device, world[0], new], writes: cause == .branch ? 9 : 6)
    #expect(try text(new).filter { "abhjkl".contains($0) } == before.0)
    for device in world + [new] { device.store.close() }
  }

  @Test("One lets all go, and another one in the middle takes over", arguments: Cause.allCases)
  private func letGo(cause: Cause) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let world = try await world(remote, scratch.path, cause)
    for (device, answer, expected) in [
      (world[3], ClosedLaneAnswer.letGo, 4), (world[2], .takeOver, 3), (world[1], .letGo, 2),
    ] {
      #expect(try await isRefused(device, remote))
      let count = try await device.store.settleClosedLanes(of: zone, answer)
      #expect(count == expected)
    }
    let new = try Device(in: scratch.path, "fresh", seed: 99)
    try await settle(world + [new], remote)
    // The second one's own write comes from itself, and from the third one, which has taken it over.
    try expectSame(world + [new], writes: cause == .branch ? 10 : 7)
    for device in world + [new] { device.store.close() }
  }

  private func expectSame(
    _ devices: [Device], writes: Int64, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let last = devices[devices.count - 1]
    for device in devices {
      #expect(try device.digests() == last.digests(), sourceLocation: sourceLocation)
      #expect(try device.pending() == 0, sourceLocation: sourceLocation)
      let sum = try device.store.read { try $0.counter("count", of: shared)?.value }
      #expect(sum == .int(writes), sourceLocation: sourceLocation)
      // Writes that had not been seen stay.
      if writes > 7 {
        #expect(try text(device).filter { $0.isUppercase } == "UVWXYZ", sourceLocation: sourceLocation)
      }
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)", sourceLocation: sourceLocation)
    }
  }

  private enum Way: CaseIterable {
    /// The exported log says that its store could not send it.
    case told
    /// It does not say so, as in an earlier version; the lane had seen more than the log has.
    case untold
    /// The store reads the log again, which is the same by then.
    case readAgain
  }

  @Test(
    "What had seen lost entries of the log is issued again, also after an import and another rereading",
    arguments: Way.allCases, [ClosedLaneAnswer.takeOver, .letGo])
  private func byBase(way: Way, answer: ClosedLaneAnswer) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let (old, reader) = (
      try Device(in: scratch.path, "old", seed: 1), try Device(in: scratch.path, "reader", seed: 2)
    )
    var copy: [ObjectName: [UInt8]] = [:]
    for number in 1...7 {
      try await old.set("milk", of: "shared", to: .int(Int64(number)))
      try await old.sync(place.remote)
      if number == 2 { copy = try await place.copy() }
    }
    try await reader.sync(place.remote)
    for text in ["here", "and here"] { try await reader.set("milk", of: "shared", to: .string(text)) }
    let importer = try Device(in: scratch.path, "importer", seed: 3)
    try await importer.importLog(of: reader)
    try await place.restore(copy)
    try await importer.store.beginRereading(zone, from: 1)
    #expect(try await isRefused(importer, place.remote))
    // The log is longer again than what was seen of it.
    let other = try Device(in: scratch.path, "other", seed: 4)
    let device = way == .readAgain ? importer : try Device(in: scratch.path, "device", seed: 5)
    if way == .untold {
      try await importLog(of: importer, into: device) { !$0.isContest }
      #expect(try await isRefused(device, place.remote))
    }
    try await other.sync(place.remote)
    for number in 1...8 {
      try await other.set("milk", of: "shared", to: .string("there \(number)"))
      try await other.sync(place.remote)
    }
    #expect(try await isRefused(importer, place.remote))
    if way == .told { try await device.importLog(of: importer) }
    try await device.store.beginRereading(zone, from: way == .untold ? 2 : 1)
    try await device.set("milk", of: "own", to: 1)
    for _ in 1...2 { #expect(try await isRefused(device, place.remote)) }
    #expect(try device.pending() == 3)
    let count = try await device.store.settleClosedLanes(of: zone, answer)
    #expect(count == 2)
    let new = try Device(in: scratch.path, "fresh", seed: 99)
    try await settle([device, other, new], place.remote)
    for device in [device, other, new] {
      #expect(try device.digests() == new.digests() && device.pending() == 0)
      // Neither had seen the other.
      let conflicts = try device.store.read { try $0.conflicts(in: zone).map(\.field) }
      #expect(conflicts == (answer == .takeOver ? ["milk"] : []))
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)")
    }
    for device in [old, reader, importer, other, new] { device.store.close() }
    if way != .readAgain { device.store.close() }
  }

  private func importLog(
    of other: Device, into device: Device, where isTaken: (ExportedLine) -> Bool
  ) async throws {
    var lines: [ExportedLine] = []
    try other.store.read { tx in
      try tx.forEachExportedLine {
        if isTaken($0) { lines.append($0) }
        return true
      }
    }
    try await device.store.importLines(lines)
  }
}

extension ExportedLine {
  fileprivate var isContest: Bool { if case .contested = self { true } else { false } }
}
