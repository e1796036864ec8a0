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
        try await device.syncWithoutSnapshot(place.remote)
      }
    }
    try await two.syncWithoutSnapshot(place.remote)
    let before = try await place.copy()
    two.store.close()
    try FileManager.default.copyItem(atPath: two.directory, toPath: "\(scratch.path)/twin.store")
    try two.reopen()
    let twin = try Device(in: scratch.path, "twin", seed: 1, configure: { $0.noticesCopies = false })
    try await two.set("color", of: "shared", to: "two")
    try await two.syncWithoutSnapshot(place.remote)
    try await retired.syncWithoutSnapshot(place.remote)
    try await retired.store.retireHistory(of: zone)
    try await place.restore(before)
    try await twin.set("color", of: "shared", to: "twin")
    try await twin.syncWithoutSnapshot(place.remote)
    for number in 0..<more {
      try await twin.set("title", of: "shared", to: .int(Int64(number)))
      try await twin.syncWithoutSnapshot(place.remote)
    }
    let last = try [two, twin].map { device in
      try device.store.read { tx in
        try tx.heads(of: "color", in: RecordID(zone: zone, name: "shared")).map(\.timestamp)
      }
    }
    try #require(last[0] == last[1])
    try await twin.putSnapshot(at: place.remote)
    for _ in 0..<2 {
      guard case .failed(let failure) = try await retired.syncWithoutSnapshot(place.remote).status else {
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
