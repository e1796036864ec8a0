import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

/// Entries that are damaged, put back and given up in any order, while stores read and write.
@Suite("Entries that are given up at random")
struct EntriesGivenUpAtRandom {
  let scratch = TemporaryDirectory()

  private struct World {
    var place: RemotePlace
    var devices: [Device]
    var random: SeededRandom
    var written = 0
    var incarnation: IncarnationID?

    var objects: any LogOfObjects { place.remote as! any LogOfObjects }

    mutating func write(_ device: Device) async throws {
      written += 1
      try await device.set("title", of: Name("\(random.next(below: 3))"), to: .int(Int64(written)))
    }

    func audit() async throws -> RemoteAudit {
      try await RemoteAudit(of: objects, objects: try await place.objects.list())
    }

    /// Damages one of the last entries: its header, its body, or its envelope's chain.
    mutating func damage() async throws {
      guard let incarnation, let log = try await audit().logs.first, let last = log.lastOffset else { return }
      let offset = last - min(last - 1, UInt64(random.next(below: 3)))
      let name = ObjectName.entry(of: incarnation, offset)
      guard var bytes = try await place.get(name), bytes.count > 200 else { return }
      let envelope = try? SegmentEnvelope.read(bytes.span.bytes)
      switch random.next(below: 3) {
      case 0: bytes[90 + random.next(below: 60)] ^= 1 << UInt8(random.next(below: 8))
      case 1: bytes[bytes.count - 1 - random.next(below: 30)] ^= 1
      default:
        guard let (found, segment) = envelope else { return }
        let inner = Array(bytes[segment])
        bytes = SegmentEnvelope.encode(
          offset: found.offset, receivedMilliseconds: found.receivedMilliseconds, chain: nil,
          segment: inner.span.bytes)
      }
      try await place.replace(name, with: bytes)
    }

    func repair(from device: Device) async throws {
      var repair = RemoteRepair(objects, from: device.store)
      try await repair.repairLogs(try await audit())
    }

    /// Gives up an entry that cannot be read.
    mutating func giveUp() async throws {
      guard let log = try await audit().logs.first, !log.unreadable.isEmpty else { return }
      let place = EntryPlace(
        log: EntryPlace.Log(zone, log.incarnation),
        offset: log.unreadable[random.next(below: log.unreadable.count)]
      )
      _ = try await objects.log.amendments.quarantine(
        place, last: log.lastOffset ?? place.offset, note: "", milliseconds: 1_700_000_000_000)
    }
  }

  @Test("all stores agree in the end, and none stops", arguments: WideTests.choose(0..<60, otherwise: 0..<12))
  func agree(seed: UInt64) async throws {
    let place = try await RemotePlace(seed % 4 == 3 ? .folder : .memory, in: scratch.path)
    let devices = try (1...3).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0) + 100 * seed) }
    var world = World(place: place, devices: devices, random: SeededRandom(seed: seed))
    try await world.write(devices[0])
    try await settle(devices, place.remote)
    world.incarnation = try devices[0].store.syncState().zones.first?.token?.incarnation
    for _ in 0..<40 {
      let device = devices[world.random.next(below: 3)]
      switch world.random.next(below: 100) {
      case ..<35: try await world.write(device)
      case ..<75: try await device.sync(place.remote)
      case ..<87: try await world.damage()
      case ..<95: try await world.repair(from: device)
      default: try await world.giveUp()
      }
    }
    for device in devices { try await world.repair(from: device) }
    while try await !world.audit().logs[0].unreadable.isEmpty { try await world.giveUp() }
    // What the command that gives up an entry asks for. Where a store needs it, it mostly finds out by itself.
    let givenUp = try await world.audit().logs[0].tombstones.map { $0.offset }
    if let first = givenUp.min() {
      for device in devices {
        try await device.sync(place.remote)
        guard let token = try device.store.syncState().zones[0].token, token.offset >= first else { continue }
        try await device.store.beginRereading(zone, from: first)
      }
    }
    for _ in 0..<8 {
      for device in devices { try await device.sync(place.remote) }
    }
    let newcomer = try Device(in: scratch.path, "new", seed: 9999 + seed)
    for _ in 0..<2 { try await newcomer.sync(place.remote) }
    try await expectAgreement(devices + [newcomer], place.remote)
    for device in devices + [newcomer] { device.store.close() }
  }
}
