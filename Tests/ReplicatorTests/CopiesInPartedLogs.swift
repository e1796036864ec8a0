import OperationFormat
import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("A log that was lost and has a copy's work now, in place of what a store has retired")
struct CopiesInPartedLogs {
  private let scratch = TemporaryDirectory()

  @discardableResult
  private func sync(_ device: Device, _ place: RemotePlace) async throws -> ZoneReport {
    let replicator = device.replicator(place.remote) { $0.policy.snapshotBytesMin = 1 << 40 }
    let report = try await replicator.syncOnce()
    return try #require(report.zones.first { $0.zone == zone })
  }

  /// Puts a snapshot of the log's end at the remote.
  private func putSnapshot(_ place: RemotePlace, by device: Device) async throws {
    let incarnation = try #require(try device.store.syncState().zones.first?.token).incarnation
    let manifest = try device.store.makeSnapshot(of: zone)
    let snapshot = RemoteSnapshot(
      of: zone, incarnation, at: manifest.offset, by: device.store.identity.replica)
    for index in manifest.parts.indices {
      try await place.remote.putSnapshotPart(
        device.store.snapshotPart(index, of: manifest), at: index, of: snapshot)
    }
    try await place.remote.finishSnapshot(manifest, of: snapshot)
  }

  @Test(
    "A copy has written at the same time under the same sequence: its entries tell, and nothing is replaced",
    arguments: [0, 3])
  func sameTime(more: Int) async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    // The clocks stand still: a device and its copy give the same timestamps.
    let two = try Device(in: scratch.path, "two", seed: 1)
    let retired = try Device(in: scratch.path, "retired", seed: 2)
    for _ in 0..<2 {
      for device in [two, retired] {
        try await device.set("title", of: "shared", to: .int(Int64(device.seed)))
        try await sync(device, place)
      }
    }
    try await sync(two, place)
    let before = try await place.copy()
    two.store.close()
    try FileManager.default.copyItem(atPath: two.directory, toPath: "\(scratch.path)/twin.store")
    try two.reopen()
    let twin = try Device(in: scratch.path, "twin", seed: 1, configure: { $0.noticesCopies = false })
    try await two.set("color", of: "shared", to: "two")
    try await sync(two, place)
    try await sync(retired, place)
    try await retired.store.retireHistory(of: zone)
    try await place.restore(before)
    try await twin.set("color", of: "shared", to: "twin")
    try await sync(twin, place)
    for number in 0..<more {
      try await twin.set("title", of: "shared", to: .int(Int64(number)))
      try await sync(twin, place)
    }
    let last = try [two, twin].map { device in
      try device.store.read { tx in
        try tx.heads(of: "color", in: RecordID(zone: zone, name: "shared")).map(\.timestamp)
      }
    }
    try #require(last[0] == last[1])
    try await putSnapshot(place, by: twin)
    for _ in 0..<2 {
      guard case .failed(let failure) = try await sync(retired, place).status else {
        Issue.record("it has begun with the snapshot")
        return
      }
      #expect(failure.code == "retired", "\(failure)")
    }
    let shown = try retired.store.read { tx in
      try tx.value(of: "color", in: RecordID(zone: zone, name: "shared"))
    }
    #expect(shown == "two")
    #expect(try retired.store.verify().isSound)
    for device in [two, twin, retired] { device.store.close() }
  }
}
