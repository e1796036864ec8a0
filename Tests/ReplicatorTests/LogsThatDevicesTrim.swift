import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import EventStore
@testable import Replicator

@Suite("Logs of which devices remove the old part, by the app's policy")
struct LogsThatDevicesTrim {
  private let scratch = TemporaryDirectory()
  private static let day: UInt64 = 86_400_000

  private func device(_ name: String, _ seed: UInt64, in days: Days, ahead: UInt64 = 0) throws -> Device {
    try Device(in: scratch.path, name, seed: seed) { Int64(days.milliseconds + ahead * Self.day) }
  }

  /// One round that makes a snapshot if there is anything new, and then trims.
  @discardableResult
  private func sync(
    _ device: Device, _ remote: any RemoteLog, makes: Bool = true, days: UInt64? = 10
  ) async throws -> ZoneReport {
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = device.makeRandom
    configuration.policy.snapshotBytesMin = makes ? 1 : 1 << 40
    configuration.policy.trimMilliseconds = days.map { Int64($0 * Self.day) }
    let replicator = LogReplicator(store: device.store, remote: remote, configuration: configuration)
    let report = try await replicator.syncOnce()
    return try #require(report.zones.first { $0.zone == zone })
  }

  /// Writes so much that a snapshot is due.
  private func write(_ day: Int, on device: Device) async throws {
    try await device.set("title", of: "shared", to: .int(Int64(day)))
    for index in 0..<8 {
      try await device.set(
        "title", of: Name("\(index)"),
        to: .string("\(device.makeRandom())" + String(repeating: "x", count: 300)))
    }
  }

  private func offsets(_ objects: any ObjectStore) async throws -> [UInt64] {
    try await objects.list().compactMap { $0.name?.incarnation == nil ? nil : $0.name?.offset }
  }

  private func expectEqual(_ devices: [Device], _ remote: any RemoteLog) async throws {
    for _ in 0..<2 {
      for device in devices {
        let report = try await sync(device, remote, makes: false)
        #expect(report.status == .inSync, "\(report)")
      }
    }
    let digests = try devices[0].digests()
    for device in devices {
      #expect(try device.digests() == digests && device.pending() == 0)
      #expect(try device.store.verify().isSound)
    }
  }

  /// Devices that write on each day, and one that was away since the first.
  private func world(
    _ remote: any RemoteLog, _ days: Days, for count: Int, ahead: UInt64 = 0, trims: Bool = true
  ) async throws -> (writers: [Device], away: Device, trimmed: [UInt64]) {
    let writers = try [device("a", 1, in: days, ahead: ahead), device("b", 2, in: days)]
    let away = try device("away", 3, in: days)
    try await write(0, on: writers[0])
    for device in [writers[0], away, writers[1]] { try await sync(device, remote, makes: false) }
    var trimmed: [UInt64] = []
    for day in 1..<count {
      days.value = UInt64(day)
      for writer in writers {
        try await write(day, on: writer)
        let report = try await sync(writer, remote, days: trims ? 10 : nil)
        #expect(report.status == .inSync && report.trimFailure == nil, "\(report)")
        if let offset = report.trimmedTo { trimmed.append(offset) }
      }
    }
    return (writers, away, trimmed)
  }

  @Test("What is old goes, again and again; who was away, or is new, ends equal, with what it wrote")
  func trims() async throws {
    let days = Days()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9)) { days.milliseconds }
    let (writers, away, trimmed) = try await world(remote, days, for: 60)
    #expect(trimmed.count > 2 && trimmed == trimmed.sorted(), "\(trimmed)")
    let left = try await offsets(remote.objects)
    #expect(left.first == trimmed.last && left.count < 80 && left.count >= 20, "\(left)")
    // Two entries a day: those of the last ten days are there.
    #expect(left.first! <= left.last! - 19)
    try await away.set("title", of: "mine", to: "unsent")
    let report = try await sync(away, remote, makes: false)
    #expect(report.beganAt != nil && report.sent == 1, "\(report)")
    let new = try device("new", 4, in: days)
    #expect(try await sync(new, remote, makes: false).beganAt != nil)
    try await expectEqual(writers + [away, new], remote)
    let objects = try await remote.objects.list()
    let audit = try await RemoteAudit(of: remote, objects: objects)
    #expect(audit.problems.isEmpty, "\(audit.problems)")
    for device in writers + [away, new] { device.store.close() }
  }

  @Test("By default nothing goes")
  func never() async throws {
    let days = Days()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9)) { days.milliseconds }
    let (writers, away, trimmed) = try await world(remote, days, for: 30, trims: false)
    #expect(trimmed.isEmpty && SyncPolicy().trimMilliseconds == nil)
    #expect(try await offsets(remote.objects).first == 1)
    for device in writers + [away] { device.store.close() }
  }

  @Test("Nothing goes that a writer has not seen which wrote since; then it does")
  func writerBehind() async throws {
    let days = Days()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9)) { days.milliseconds }
    let (writers, away, trimmed) = try await world(remote, days, for: 12)
    #expect(trimmed.isEmpty)
    // It writes without having read: it has seen one entry.
    try await away.set("title", of: "mine", to: 1)
    try await away.sync(remote, .ship)
    for day in 12..<20 {
      days.value = UInt64(day)
      try await write(day, on: writers[0])
      let report = try await sync(writers[0], remote)
      #expect(report.trimmedTo == nil)
    }
    #expect(try await offsets(remote.objects).first == 1)
    for day in 20..<60 {
      days.value = UInt64(day)
      try await write(day, on: writers[0])
      try await sync(writers[0], remote)
    }
    #expect(try await offsets(remote.objects).first! > 1)
    try await expectEqual(writers + [away], remote)
    for device in writers + [away] { device.store.close() }
  }

  @Test(
    "Entries that state no time are young, and a device in another century makes none old",
    arguments: [false, true])
  func wrongClocks(statesTimes: Bool) async throws {
    let days = Days()
    let identity = RemoteID(rawValue: 9)
    let remote =
      statesTimes
      ? MemoryRemote(identity: identity) { days.milliseconds } : MemoryRemote(identity: identity)
    let (writers, away, trimmed) = try await world(
      remote, days, for: statesTimes ? 9 : 40, ahead: statesTimes ? 36_500 : 0)
    #expect(trimmed.isEmpty)
    #expect(try await offsets(remote.objects).first == 1)
    for device in writers + [away] { device.store.close() }
  }

  /// The offset to which a reader comes; nil if it learns that the log begins later.
  private func lastOffset(
    of remote: MemoryRemote, after start: ChangeToken, _ tokens: [ChangeToken]
  ) async throws -> UInt64? {
    var token = start
    while true {
      let outcome: FetchOutcome
      do throws(RemoteError) {
        outcome = try await remote.segments(after: token, bytesMax: 1)
      } catch {
        guard error.code == .expired else { throw error }
        return nil
      }
      guard case .segments(let page, _) = outcome, let next = page.first else { return token.offset }
      guard next.offset == token.offset + 1, next.offset < UInt64(tokens.count) else { return token.offset }
      token = tokens[Int(next.offset)]
    }
  }

  @Test(
    "Cut short after any change, also by several at once, readers end right or are told",
    arguments: Array(stride(from: 0, to: 12, by: WideTests.choose(1, otherwise: 3))))
  func cutShort(after changes: Int) async throws {
    let days = Days()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9)) { days.milliseconds }
    let (writers, away, _) = try await world(remote, days, for: 24, trims: false)
    let end = try #require(try writers[1].store.read { try $0.changeToken(of: zone) })
    let tokens = try (1...end.offset).map { offset in
      try #require(try writers[1].store.read { try $0.changeToken(of: zone, before: offset) }).token
    }
    let failing = FailingObjects(remote.objects, after: changes)
    let cut = ObjectRemote(failing, hasHints: false, clock: remote.log.clock)
    try await write(24, on: writers[1])
    try await sync(writers[1], remote, days: nil)
    let interrupted = EffectRunner(
      store: writers[1].store, remote: cut, selection: .all, pageBytesMax: 1 << 20, makeRandom: { 1 })
    _ = try? await interrupted.trim(zone, end.incarnation, olderThanMilliseconds: 10 * Self.day)
    #expect(failing.count <= changes)
    // No reader takes a hole for the end.
    for token in tokens {
      let found = try await lastOffset(of: remote, after: token, tokens)
      #expect(found == nil || found! >= end.offset - 1, "\(token)")
    }
    // Two at once end it.
    async let one = sync(writers[0], remote)
    try await write(25, on: writers[1])
    async let other = sync(writers[1], remote)
    _ = try await (one, other)
    let again = EffectRunner(
      store: writers[1].store, remote: remote, selection: .all, pageBytesMax: 1 << 20, makeRandom: { 1 })
    let both = try await (
      again.trim(zone, end.incarnation, olderThanMilliseconds: 10 * Self.day),
      again.trim(zone, end.incarnation, olderThanMilliseconds: 10 * Self.day)
    )
    #expect(both.1 == nil)
    let left = try await offsets(remote.objects)
    #expect(left.first! > 1 && left == Array(left.first!...left.last!))
    try await away.set("title", of: "mine", to: "unsent")
    try await expectEqual(writers + [away], remote)
    for device in writers + [away] { device.store.close() }
  }

  // MARK: The choice

  @Test("Of all small logs, nothing goes that may be young, nor what a writer has not seen that may be there")
  func choice() {
    // Now is 100 and 10 is the age: up to 90 is old, and what is far ahead says nothing.
    let states: [UInt64?] = [nil, 0, 90, 91, 100, 1 << 40]
    let choice = LogFloorChoice(now: 100, olderThanMilliseconds: 10)
    var chosen = 0
    for number in 0..<(6 * 6 * 6 * 6) {
      let received = [number % 6, number / 6 % 6, number / 36 % 6, number / 216].map { states[$0] }
      for writer in 0..<16 {
        let log = LogOutline(
          received: received,
          writers: [
            .init(
              replica: ReplicaID(rawValue: 5), lastOffset: UInt64(writer % 4) + 1,
              base: UInt64(writer / 4))
          ])
        let (offset, limit) = choice.lastOffset(among: [(4, nil), (3, nil), (2, nil)], of: log)
        #expect((offset == 3) == (limit == nil))
        // The slow way: an entry is old if it, or one after it, states a time that is believed and old, and none before that
        // one states a later one.
        func isOld(_ offset: Int) -> Bool {
          (offset...4).contains { later in
            guard let time = received[later - 1], time <= 1 << 39 else { return false }
            return (1...later).allSatisfy { received[$0 - 1].map { $0 <= 90 || $0 > 1 << 39 } ?? true }
          }
        }
        func mayGo(_ floor: Int) -> Bool {
          (1..<floor).allSatisfy(isOld) && (isOld(writer % 4 + 1) || writer / 4 >= floor)
        }
        #expect(offset == (mayGo(3) ? 3 : mayGo(2) ? 2 : 1), "\(received) \(writer)")
        if offset > 1 { chosen += 1 }
      }
    }
    #expect(chosen > 1000)
    let log = LogOutline(received: [0, 0, 0, 0], writers: [])
    let none = choice.lastOffset(among: [(4, nil), (4, nil)], of: log)
    #expect(none.offset == 1 && none.limit == .snapshots)
    // Only one that has a floor stands for one that lacks it.
    for (floors, offset) in [([3, nil], 4), ([3, 2], 4), ([2, 2], 2)] as [([UInt64?], UInt64)] {
      let found = choice.lastOffset(among: [(4, floors[0]), (2, floors[1])], of: log)
      #expect(found.offset == offset && found.limit == nil, "\(floors)")
    }
    #expect(choice.lastOffset(among: [(4, 3)], of: log).offset == 4)
  }
}

/// A clock of days, from the first on.
private final class Days: Sendable {
  private let day = Mutex<UInt64>(0)

  var value: UInt64 {
    get { day.withLock { $0 } }
    set { day.withLock { $0 = newValue } }
  }
  var milliseconds: UInt64 { (value + 1) * 86_400_000 }
}
