import OperationFormat
import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

@Suite("States that nothing needs any more are removed")
struct StatesLeftBehind {
  private let scratch = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 9))

  private struct Cut: Error {}

  private func states(_ device: Device) throws -> Int {
    let tables = try device.store.information().tables
    return try #require(tables.first { $0.name == "states" }).entries
  }

  /// A device with records of many rows, whose log was read.
  private func filled() async throws -> Device {
    let device = try Device(in: scratch.path, "a", seed: 1)
    for number in 0..<40 { try await device.set("title", of: Name("r\(number)"), to: .int(Int64(number))) }
    try await settle([device], remote)
    return device
  }

  private func begin(
    _ device: Device, with manifest: SnapshotManifest, of source: Device,
    progress: (UInt64, UInt64) throws -> Void = { _, _ in }
  ) async throws {
    let store = source.store
    _ = try await device.store.begin(
      zone, with: manifest, fetch: { try store.snapshotPart($0, of: manifest) }, progress: progress)
  }

  private func empty(_ name: String) async throws -> Device {
    let device = try Device(in: scratch.path, name, seed: 2)
    try await device.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
    }
    return device
  }

  @Test("Where history is retired, also again without anything new")
  func retired() async throws {
    let device = try await filled()
    let before = try states(device)
    for _ in 0..<3 {
      try await device.store.retireHistory(of: zone)
      #expect(try states(device) == before)
    }
    try await device.set("title", of: "late", to: 1)
    try await settle([device], remote)
    try await device.store.retireHistory(of: zone)
    #expect(try states(device) == before)
    device.store.close()
  }

  @Test("Where a load ended with an error: by the next round")
  func failed() async throws {
    let source = try await filled()
    let manifest = try source.store.makeSnapshot(of: zone)
    let device = try await empty("b")
    let before = try states(device)
    await #expect(throws: Cut.self) {
      try await begin(device, with: manifest, of: source) { _, _ in throw Cut() }
    }
    #expect(try states(device) == before + 1)
    try await device.store.finishRenewal()
    #expect(try states(device) == before)
    for device in [source, device] { device.store.close() }
  }

  @Test("Where a process ended in a load: before the next load")
  func killed() async throws {
    let source = try await filled()
    let manifest = try source.store.makeSnapshot(of: zone)
    let device = try await empty("b")
    let before = try states(device)
    // The files are there, so the lock is.
    await #expect(throws: Cut.self) {
      try await begin(device, with: manifest, of: source) { _, _ in throw Cut() }
    }
    for _ in 0..<3 {
      try await device.store.core.perform { store in
        _ = try store.storage.states.make(for: try store.storage.zones.visible(zone).number, .loading)
      }
    }
    try await begin(device, with: manifest, of: source)
    #expect(try states(device) == before)
    #expect(try device.store.verify().isSound)
    #expect(try device.digests() == source.digests())
    for device in [source, device] { device.store.close() }
  }
}
