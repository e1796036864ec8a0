import ChildProcesses
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("Running replicators")
struct RunningReplicators {
  let scratch = TemporaryDirectory()

  private func devices(_ count: Int = 2, seed: UInt64 = 1) throws -> [Device] {
    try (0..<count).map { try Device(in: scratch.path, "d\($0)", seed: seed &* 10 &+ UInt64($0)) }
  }

  @Test(
    "A commit here appears there only through push", .timeLimit(.minutes(20)),
    arguments: RemotePlace.Kind.allCases)
  func push(kind: RemotePlace.Kind) async throws {
    let place = try await RemotePlace(kind, in: scratch.path)
    let remote = place.remote
    let devices = try devices()
    let time = TestTime.withoutPolling()
    let running = devices.map { Running($0, remote, time) }
    for round in 0..<6 {
      let name = Name("\(round)")
      try await devices[round % 2].set("title", of: name, to: 1)
      let report = try await running[1 - round % 2].report { _ in
        try devices[1 - round % 2].recordNames().contains("notes:\(name)")
      }
      #expect(report?.failure == nil && report != nil)
    }
    for one in running { await one.end() }
    #expect(
      time.asked.allSatisfy { [50, 250, TestTime.commitPoll, 1000, 15_000].contains($0) || $0 >= 2_700_000 })
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices { device.store.close() }
  }

  @Test(
    "A burst of commits causes one round, when the first commit has waited long enough",
    .timeLimit(.minutes(20)))
  func burst() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try devices(1)[0]
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let time = TestTime { milliseconds in
      guard milliseconds == 250 else { return false }
      for await _ in gate { return true }
      return false
    }
    let running = Running(device, remote, time)
    _ = await running.report { _ in true }
    for index in 0..<100 { try await device.set("title", of: Name("\(index)"), to: 1) }
    open.yield()
    let report = await running.report { _ in true }
    #expect(report?.sent == 100 && report?.sentSegments == 1)
    await running.end()
    #expect(time.asked.filter { $0 == 250 }.count == 1)
    device.store.close()
  }

  @Test(
    "A remote that fails for hours is tried with growing delays, and then everything continues",
    .timeLimit(.minutes(20)))
  func failsForHours() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices()
    try await devices[1].set("title", of: "theirs", to: 1)
    try await devices[1].sync(remote)
    let network = FaultyRemote(remote, seed: 1, rates: FaultyRemote.Rates())
    network.rates.requestLost = 100
    let time = TestTime.flying()
    let running = Running(devices[0], network, time)
    var failures = 0
    _ = try await running.report { report in
      #expect(report.failure?.code == RemoteError.Code.unreachable.rawValue)
      try await devices[0].set("title", of: Name("\(failures)"), to: 1)
      failures += 1
      return failures == 100
    }
    let waits = time.asked.filter { $0 >= 500 }
    // Jitter takes up to a half: 0.5 to 1 s, then twice that each time, up to 150 to 300 s.
    for (index, wait) in waits.prefix(99).enumerated() {
      let full = min(Int64(1000) << Int64(min(index, 20)), 300_000)
      #expect((full / 2...full).contains(wait), "wait \(index) is \(wait) ms")
    }
    #expect(waits.count >= 99 && waits.reduce(0, +) > 4 * 3_600_000)
    network.rates = FaultyRemote.Rates()
    let recovered = await running.report { $0.isInSync }
    #expect(recovered != nil)
    await running.end()
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    #expect(try devices[1].recordNames().count == 101)
    for device in devices { device.store.close() }
  }

  @Test(
    "Cancelled at any time, it ends, and the next one continues", .timeLimit(.minutes(20)),
    .serialized, arguments: WideTests.choose(0..<25, otherwise: 0..<6))
  func cancelled(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try devices(seed: seed)
    let zones = (0..<3).map { ZoneID(name: Name("zone \($0)")) }
    for _ in 0..<6 {
      for device in devices {
        for zone in zones {
          try await device.set("title", of: Name("\(random.next(below: 5))"), to: .int(Int64(seed)), in: zone)
        }
      }
      let last = 1 + random.next(below: 25)
      let trap = Trap(atCall: last)
      var rates = FaultyRemote.Rates()
      rates.delayed = 50
      let telling = TellingRemote(remote: FaultyRemote(remote, seed: seed, rates: rates)) { trap.count() }
      let device = devices[random.next(below: 2)]
      if random.chance(50) {
        let running = Running(device, telling, .flying())
        trap.arm { running.task.cancel() }
        await running.task.value
      } else {
        let round = Task { try await device.sync(telling) }
        trap.arm { round.cancel() }
        do {
          let report = try await round.value
          #expect(report.failure == nil)
        } catch {
          #expect(error is CancellationError, "\(error)")
        }
      }
    }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices { device.store.close() }
  }

  @Test("Commits of another process are found by polling", .timeLimit(.minutes(20)))
  func anotherProcess() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try devices(1)[0]
    try await device.set("title", of: "own", to: 1)
    let time = TestTime { milliseconds in
      if milliseconds == TestTime.commitPoll { try await Task.sleep(for: .milliseconds(5)) }
      return milliseconds < 500
    }
    let running = Running(device, remote, time)
    _ = await running.report { $0.isInSync }
    async let run = ChildProcess.run("write", device.directory, "3")
    var sent = 0
    _ = await running.report { report in
      sent += report.sent
      return sent == 3
    }
    #expect(await run.end == .exit(0))
    await running.end()
    try await expectAgreement([device], remote)
    device.store.close()
  }

  @Test(
    "With a closed store it reports that, and ends", .timeLimit(.minutes(20)), arguments: [false, true])
  func closed(atFirst: Bool) async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try devices(1)[0]
    try await device.set("title", of: "own", to: 1)
    if atFirst { device.store.close() }
    let running = Running(device, remote, .withoutPolling())
    if !atFirst {
      _ = await running.report { $0.isInSync }
      device.store.close()
    }
    let report = await running.report { $0.failure?.code == StoreError.Code.closed.rawValue }
    #expect(report != nil)
    await running.task.value
  }

  @Test(
    "A parked zone does not stop the others, and continues after a repair", .timeLimit(.minutes(20)))
  func parked() async throws {
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try devices()
    let other = ZoneID(name: "other")
    for zone in [zone, other] { try await devices[0].set("title", of: "first", to: 1, in: zone) }
    try await devices[0].sync(place.remote)
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    let name = ObjectName.entry(of: token.incarnation, 1)
    let right = try #require(try await place.get(name))
    try await place.replace(name, with: Array(right.dropLast()))
    let running = Running(devices[1], place.remote, .flying())
    let first = await running.report { !$0.zones.isEmpty }
    guard case .parked(1, _) = first?.zones.first?.status else {
      Issue.record("\(String(describing: first))")
      return
    }
    for index in 0..<5 {
      try await devices[0].set("title", of: Name("\(index)"), to: 1, in: other)
      try await devices[0].sync(place.remote)
      let report = try await running.report { _ in
        try devices[1].recordNames().contains("other:\(index)")
      }
      #expect(report != nil)
    }
    #expect(try !devices[1].recordNames().contains("notes:first"))
    try await place.replace(name, with: right)
    let mended = await running.report { $0.isInSync }
    #expect(mended != nil)
    await running.end()
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    for device in devices { device.store.close() }
  }
}
