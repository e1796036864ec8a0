import EventStore
import StoreTesting
import Testing

@testable import Replicator

@Suite("Zones that come and go at random, on a bad network")
struct RandomZoneLifecycles {
  private let kept = ZoneID(name: "kept")
  private let zones = (0..<3).map { ZoneID(name: Name("zone \($0)")) }

  @Test(
    "Three devices end with the same zones, and nothing of a zone that nobody deleted is lost",
    .serialized, arguments: WideTests.choose(0..<25, otherwise: 0..<6))
  func random(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try (1...3).map { try Device(in: scratch.path, "d\($0)", seed: seed &* 10 &+ UInt64($0)) }
    let network = FaultyRemote(remote, seed: seed)
    var written: Set<String> = []
    for step in 0..<60 {
      let device = devices[random.next(below: 3)]
      let zone = zones[random.next(below: 3)]
      switch random.next(below: 12) {
      case 0, 1:
        try await device.set("title", of: Name("\(step)"), to: .int(Int64(step)), in: kept)
        written.insert("kept:\(step)")
      case 2, 3: try await device.set("title", of: Name("\(step)"), to: .int(Int64(step)), in: zone)
      case 4:
        try await device.store.write { tx in
          try tx.createZone(zone)
          try tx.create(RecordID(zone: zone, name: Name("local \(step)")), type: "note")
        }
      case 5: try await delete(zone, on: device)
      case 6:
        try await delete(zone, on: device)
        try await device.set("title", of: Name("\(step)"), to: 1, in: zone)
      case 7: try device.reopen()
      default: await syncAsItCan(device, network)
      }
    }
    network.rates = FaultyRemote.Rates()
    // Local zones join, and stores delete zones that they kept and the remote no longer has.
    for _ in 0..<4 {
      for device in devices {
        let all = try device.store.read { try $0.zones() }
        try await device.store.write { tx in for zone in all { try tx.attachZone(zone) } }
        for _ in 0..<3 {
          for zone in try await device.sync(network).zones where zone.status == .paused(.deleted) {
            try await delete(zone.zone, on: device)
          }
        }
      }
    }
    try await settle(devices, network)
    try await expectAgreement(devices, remote)
    for device in devices {
      let names = try device.recordNames()
      #expect(names.isSuperset(of: written), "seed \(seed)")
      device.store.close()
    }
  }

  private func delete(_ zone: ZoneID, on device: Device) async throws {
    guard try device.store.read({ try $0.zones().contains(zone) }) else { return }
    try await device.store.write { try $0.deleteZone(zone) }
  }

  /// A round that the network may end completely or in part.
  private func syncAsItCan(_ device: Device, _ network: FaultyRemote) async {
    do {
      let report = try await device.sync(network)
      for zone in report.zones {
        if case .forked = zone.status { Issue.record("\(zone)") }
      }
    } catch {
      #expect(error is SyncFailure, "\(error)")
    }
  }
}
