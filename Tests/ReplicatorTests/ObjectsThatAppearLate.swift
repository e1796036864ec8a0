import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

@Suite("Objects that appear some time after they were written")
struct ObjectsThatAppearLate {
  private let scratch = TemporaryDirectory()

  /// How long an object is missing, in milliseconds of the test's clock.
  private static let late: Int64 = 60_000

  private struct World {
    var devices: [Device]
    /// Each device's own way to the objects.
    var remotes: [RemoteOfObjects]
    var places: [LateObjects]
  }

  /// - Parameter hidesObjects: whether others do not find an object by its name either.
  private func world(
    _ clock: @escaping @Sendable () -> Int64, hidesObjects: Bool
  ) throws -> World {
    let place = MemoryRemote(identity: RemoteID(rawValue: 9)).objects
    let times = WriteTimes()
    let places = (0..<3).map {
      LateObjects(
        place, by: $0, times, clock: clock, lateMilliseconds: Self.late, hidesObjects: hidesObjects)
    }
    return World(
      devices: try (0..<3).map {
        try Device(in: scratch.path, "d\($0)", seed: UInt64($0 + 1), clock: clock)
      },
      remotes: places.map { RemoteOfObjects($0) }, places: places)
  }

  /// Each device's records are numbered: it must show those of each writer from the first one on, without a gap.
  private func expectNoGap(_ device: Device, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for zone in try device.store.read({ try $0.zones() }) {
      var found: [Substring: Set<Int>] = [:]
      for record in try device.store.read({ try $0.records(in: zone) }) {
        let parts = "\(record.id.name)".split(separator: " ")
        found[parts[0], default: []].insert(try #require(Int(parts[1])))
      }
      for (writer, numbers) in found {
        #expect(numbers == Set(0..<numbers.count), "of \(writer)", sourceLocation: sourceLocation)
      }
    }
  }

  @Test(
    "hide nothing for good, and nobody goes past what is missing", .serialized,
    arguments: WideTests.choose(0..<200, otherwise: 0..<2), [false, true])
  func random(seed: UInt64, hidesObjects: Bool) async throws {
    var random = SeededRandom(seed: seed)
    let time = Mutex<Int64>(1_000_000)
    let world = try world({ time.withLock { $0 } }, hidesObjects: hidesObjects)
    let zones = [zone, ZoneID(name: "lists")]
    var counts: [String: Int] = [:]
    for _ in 0..<60 {
      let index = random.next(below: 3)
      let device = world.devices[index]
      switch random.next(below: 6) {
      case 0, 1:
        let zone = zones[random.next(below: 2)]
        let key = "\(index) \(zone)"
        let number = counts[key, default: 0]
        counts[key] = number + 1
        try await device.set("title", of: Name("\(index) \(number)"), to: .int(Int64(number)), in: zone)
      case 2, 3, 4:
        // What is missing now may fail the round, and parks no zone for good.
        _ = try? await device.sync(world.remotes[index])
        try expectNoGap(device)
      default: time.withLock { $0 += Int64(random.next(below: Int(Self.late))) }
      }
    }
    // Nothing but a hole is looked for in a list.
    if hidesObjects { #expect(world.places.contains { $0.omitted > 0 }) }
    time.withLock { $0 += Self.late }
    for _ in 0..<12 {
      for (device, remote) in zip(world.devices, world.remotes) { _ = try? await device.sync(remote) }
      time.withLock { $0 += Self.late }
    }
    for (device, remote) in zip(world.devices, world.remotes) {
      let report = try await device.sync(remote)
      #expect(report.isInSync && !report.hasMoved, "\(report)")
      try expectNoGap(device)
    }
    try await expectAgreement(world.devices, world.remotes[0])
    #expect(try world.devices[0].recordNames().count == counts.values.reduce(0, +))
    for device in world.devices { device.store.close() }
  }

  @Test("an append that meets one is tried again later, and holds up no other zone")
  func append() async throws {
    let time = Mutex<Int64>(1_000_000)
    let world = try world({ time.withLock { $0 } }, hidesObjects: true)
    let (first, second) = (world.devices[0], world.devices[1])
    let lists = ZoneID(name: "lists")
    for zone in [zone, lists] { try await first.set("title", of: "0 0", to: 0, in: zone) }
    try await first.sync(world.remotes[0])
    time.withLock { $0 += Self.late }
    try await second.sync(world.remotes[1])
    // Both append at one offset of the zone's log.
    try await first.set("title", of: "0 1", to: 1)
    try await first.sync(world.remotes[0])
    for zone in [zone, lists] { try await second.set("title", of: "1 0", to: 0, in: zone) }
    let report = try await second.sync(world.remotes[1])
    #expect(report.failure == nil)
    let failed = try #require(report.zones.first { $0.zone == zone }?.status.failure)
    #expect(failed.code == "later" && failed.offset == 2 && failed.hint.contains("tried again"), "\(failed)")
    #expect(report.zones.first { $0.zone == lists }?.status == .inSync)
    time.withLock { $0 += Self.late }
    let again = try await second.sync(world.remotes[1])
    #expect(again.isInSync && again.sent == 1 && again.received == 1, "\(again)")
    try expectNoGap(second)
    for device in world.devices { device.store.close() }
  }
}

/// When which device has written each object.
private final class WriteTimes: Sendable {
  private let writes = Mutex<[ObjectName: (milliseconds: Int64, writer: Int)]>([:])

  func note(_ name: ObjectName, _ milliseconds: Int64, by writer: Int) {
    writes.withLock { $0[name] = (milliseconds, writer) }
  }

  /// Whether a device must wait for an object that another one has written just now.
  func isYoung(_ name: ObjectName, at milliseconds: Int64, _ late: Int64, for reader: Int) -> Bool {
    writes.withLock { writes in
      guard let write = writes[name], write.writer != reader else { return false }
      return milliseconds < write.milliseconds + late
    }
  }
}

/// Objects that others find in lists only some time after they were written, and by their names too if so wanted. A put
/// finds each of them.
private final class LateObjects: ObjectStore {
  private let objects: any ObjectStore
  private let device: Int
  private let times: WriteTimes
  private let clock: @Sendable () -> Int64
  private let late: Int64
  private let hidesObjects: Bool
  private let count = Mutex(0)

  var name: String { objects.name }
  /// How often something was there and was not shown.
  var omitted: Int { count.withLock { $0 } }

  init(
    _ objects: any ObjectStore, by device: Int, _ times: WriteTimes,
    clock: @escaping @Sendable () -> Int64, lateMilliseconds late: Int64, hidesObjects: Bool
  ) {
    (self.objects, self.device, self.times) = (objects, device, times)
    (self.clock, self.late, self.hidesObjects) = (clock, late, hidesObjects)
  }

  private func isHidden(_ name: ObjectName) -> Bool {
    guard times.isYoung(name, at: clock(), late, for: device) else { return false }
    count.withLock { $0 += 1 }
    return true
  }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    if hidesObjects && isHidden(name) { return nil }
    return try await objects.get(name, bytesMax: bytesMax)
  }

  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    if hidesObjects && isHidden(name) { return nil }
    return try await objects.getPrefix(name, count)
  }

  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    let isPut = try await objects.putIfAbsent(name, bytes)
    if isPut { times.note(name, clock(), by: device) }
    return isPut
  }

  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    try await objects.overwrite(name, bytes)
  }

  func makeLasting(_ name: ObjectName) async throws(RemoteError) { try await objects.makeLasting(name) }

  func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    var next = try await objects.nextEntry(after: name)
    while let found = next, isHidden(found) { next = try await objects.nextEntry(after: found) }
    return next
  }

  func list() async throws(RemoteError) -> [ObjectEntry] {
    try await objects.list().filter { entry in entry.name.map { !isHidden($0) } ?? true }
  }

  func delete(_ name: ObjectName) async throws(RemoteError) { try await objects.delete(name) }

  func changes() -> AsyncStream<RemoteHint> { objects.changes() }
}
