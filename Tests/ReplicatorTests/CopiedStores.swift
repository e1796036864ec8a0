import EventStore
import StoreTesting
import Testing

@testable import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Two stores of one identity, one copied from the other")
struct CopiedStores {
  /// A device, its copy, and a third one: all have synced.
  private func world(_ remote: any RemoteLog, _ parent: String) async throws -> [Device] {
    let original = try Device(in: parent, "original", seed: 1)
    try await original.set("title", of: "first", to: "made")
    try await original.sync(remote)
    original.store.close()
    try FileManager.default.copyItem(atPath: original.directory, toPath: "\(parent)/copy.store")
    try original.reopen()
    let devices = [
      original, try Device(in: parent, "copy", seed: 1), try Device(in: parent, "other", seed: 3),
    ]
    try await settle(devices, remote)
    return devices
  }

  @Test(
    "Both write and ship: the later one is told, nothing is overwritten, and each keeps its own",
    arguments: [1, 2, 3], [1, 2, 3])
  func bothShip(first: Int, second: Int) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place.remote, scratch.path)
    for index in 0..<first { try await devices[0].set("title", of: Name("original \(index)"), to: 1) }
    for index in 0..<second { try await devices[1].set("title", of: Name("copy \(index)"), to: 1) }
    let sent = try await devices[0].sync(place.remote)
    #expect(sent.isInSync && sent.sent == first)
    let objects = try await place.copy()
    for _ in 0..<2 {
      let report = try await devices[1].sync(place.remote)
      guard case .forked(let offset) = report.zones.first?.status else {
        Issue.record("\(report)")
        return
      }
      #expect(offset == 2 && report.sent == 0 && report.received == 0 && !report.isInSync)
    }
    let after = try await place.copy()
    #expect(after == objects)
    // The others go on.
    try await devices[2].set("title", of: "other", to: 1)
    try await settle([devices[0], devices[2]], place.remote)
    try await expectAgreement([devices[0], devices[2]], place.remote)
    let names = try devices[1].recordNames()
    #expect(names.count == 1 + second && names.contains("notes:copy 0"))
    #expect(try devices[0].recordNames().count == 2 + first)
    #expect(try devices[1].store.verify().isSound)
    for device in devices { device.store.close() }
  }

  @Test("Only one writes: the other one folds what its twin has shipped")
  func oneWrites() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try await world(remote, scratch.path)
    for index in 0..<3 { try await devices[0].set("title", of: Name("original \(index)"), to: 1) }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    #expect(try devices[1].recordNames().count == 4)
    for device in devices { device.store.close() }
  }
}
