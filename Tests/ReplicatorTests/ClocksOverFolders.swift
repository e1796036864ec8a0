import Foundation
import Logging
import Synchronization
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("Clocks that are wrong, over a folder", .timeLimit(.minutes(20)))
struct ClocksOverFolders {
  static let now: Int64 = 1_800_000_000_000
  static let minute: Int64 = 60_000
  static let year2099: Int64 = 4_070_908_800_000

  /// A clock that a test sets.
  final class Clock: Sendable {
    private let state: Mutex<Int64>
    init(_ milliseconds: Int64) { state = Mutex(milliseconds) }
    var milliseconds: Int64 {
      get { state.withLock { $0 } }
      set { state.withLock { $0 = newValue } }
    }
  }

  /// A device with its own clock, and its own way to the folder.
  struct Peer {
    let device: Device
    let clock: Clock
    let remote: FolderRemote

    func set(_ value: Value, of name: Name = "a") async throws {
      try await device.set("title", of: name, to: value)
    }

    @discardableResult func sync(_ steps: SyncSteps = .all) async throws -> SyncReport {
      try await device.sync(remote, steps)
    }

    func title(_ name: Name = "a") throws -> Value? {
      try device.store.read { try $0.value(of: "title", in: RecordID(zone: zone, name: name)) }
    }
  }

  let scratch = TemporaryDirectory()
  /// The folder's clock.
  let place = Clock(now)

  private var directory: String { scratch.path + "/remote" }

  private func objects(_ seed: UInt64) -> FolderObjects {
    FolderObjects(
      directory: directory, milliseconds: { [place] in UInt64(place.milliseconds) },
      makeRandom: seededBits(seed))
  }

  /// Devices whose clocks show these times at first.
  func peers(_ walls: Int64...) async throws -> [Peer] {
    try await objects(99).create(RemoteID(rawValue: 9))
    return try walls.enumerated().map { index, wall in
      let clock = Clock(wall)
      let device = try Device(
        in: scratch.path, "d\(index)", seed: UInt64(index) + 1, clock: { clock.milliseconds })
      let remote = FolderRemote(objects(UInt64(index) + 50), wallMilliseconds: { clock.milliseconds })
      return Peer(device: device, clock: clock, remote: remote)
    }
  }

  /// Time passes, on all clocks.
  func pass(_ milliseconds: Int64, _ peers: [Peer]) {
    place.milliseconds += milliseconds
    for peer in peers { peer.clock.milliseconds += milliseconds }
  }

  /// The receive times that the log states, in milliseconds after the test's start.
  private func received(_ peer: Peer) async throws -> [Int64?] {
    let token = try #require(try peer.device.store.syncState().zones.first?.token)
    let page = try await peer.remote.segments(
      after: .start(of: zone, token.incarnation), bytesMax: 1 << 24)
    guard case .segments(let segments, false) = page else {
      Issue.record("the zone is gone")
      return []
    }
    return segments.map { $0.receivedMilliseconds.map { Int64($0) - Self.now } }
  }

  private func checkEqual(_ peers: [Peer]) async throws {
    for _ in 0..<2 { for peer in peers { try await peer.sync() } }
    let digests = try peers.map { try $0.device.digests() }
    #expect(Set(digests).count == 1, "\(digests)")
  }

  @Test("a device in 2099 wins no more than five minutes once another one has sent")
  func deviceAhead() async throws {
    let peers = try await peers(Self.now, Self.year2099)
    try await peers[0].set("first")
    try await peers[0].sync()
    try await peers[1].sync()
    pass(Self.minute, peers)
    try await peers[1].set("of 2099")
    try await peers[1].sync()
    pass(10 * Self.minute, peers)
    // At once: it has not seen that one.
    try await peers[0].set("ten minutes later")
    try await checkEqual(peers)
    for peer in peers { #expect(try peer.title() == "ten minutes later") }
    #expect(try await received(peers[0]) == [0, Self.minute, 11 * Self.minute])
  }

  @Test("the first one alone is not capped: nobody says which clock is wrong; its next edits are")
  func firstAlone() async throws {
    let peers = try await peers(Self.year2099, Self.now)
    try await peers[0].set("of 2099")
    try await peers[0].sync()
    #expect(try await received(peers[0]) == [nil])
    try await peers[1].sync()
    try await peers[1].set("right")
    try await peers[1].sync()
    pass(Self.minute, peers)
    try await peers[0].set("of 2099 again")
    try await peers[0].sync()
    try await peers[0].set("and again")
    try await peers[0].sync()
    #expect(try await received(peers[0]) == [nil, 0, Self.minute, Self.minute])
    try await checkEqual(peers)
  }

  @Test("a device in 1970 caps nobody, and is told that it is behind")
  func deviceBehind() async throws {
    let peers = try await peers(5_000, Self.now)
    for peer in peers {
      try await peer.sync()
      try await peer.set("x", of: Name("\(peer.clock.milliseconds)"))
    }
    let report = try await peers[0].sync()
    try await peers[1].sync()
    #expect(try await received(peers[0]) == [0, 0])
    #expect(report.clockOffset?.milliseconds == Self.now - 5_000)
    try await checkEqual(peers)
    let titles = try peers.map { try $0.title("5000") }
    #expect(titles == ["x", "x"])
    for peer in peers {
      let heads = try peer.device.store.read {
        try $0.heads(of: "title", in: RecordID(zone: zone, name: "5000"))
      }
      #expect(heads.map(\.timestamp.milliseconds) == [5_000])
    }
  }

  @Test("a folder in 1970 caps nobody", arguments: [5_000, now - 3_600_000, now - 400_000])
  func placeBehind(_ time: Int64) async throws {
    let peers = try await peers(Self.now, Self.now)
    place.milliseconds = time
    for value in 0..<3 as Range<Int64> {
      for peer in peers {
        try await peer.sync()
        try await peer.set(.int(value))
        let report = try await peer.sync()
        #expect(report.clockOffset?.milliseconds == time - Self.now)
      }
    }
    #expect(try await received(peers[0]) == Array(repeating: nil, count: 6))
    try await checkEqual(peers)
  }

  @Test("a folder in 2099 caps nothing; once it is right again, it caps after the next device that is right")
  func placeAhead() async throws {
    let peers = try await peers(Self.now, Self.year2099)
    place.milliseconds = Self.year2099
    for peer in peers {
      try await peer.sync()
      try await peer.set(.int(peer.clock.milliseconds))
      try await peer.sync()
    }
    let wrong = Self.year2099 - Self.now
    #expect(try await received(peers[0]) == [wrong, wrong])
    place.milliseconds = Self.now
    try await peers[1].set(1)
    try await peers[1].sync()
    try await peers[0].set(2)
    try await peers[0].sync()
    try await peers[1].set(3)
    try await peers[1].sync()
    // The greatest time that it passes on its way to the one who is right does not count against the place: it is its own.
    #expect(try await received(peers[0]) == [wrong, wrong, nil, 0, 0])
    try await checkEqual(peers)
  }

  @Test("a folder that jumps back an hour and again: times are stated where they agree")
  func placeJumps() async throws {
    let peers = try await peers(Self.now, Self.now)
    try await peers[0].set(0)
    for step in 0..<4 as Range<Int64> {
      for peer in peers { try await peer.sync() }
      place.milliseconds += step % 2 == 0 ? -60 * Self.minute : 60 * Self.minute
      for peer in peers { try await peer.set(.int(step)) }
    }
    for peer in peers { try await peer.sync() }
    let times = try await received(peers[0])
    #expect(times.contains(nil) && times.contains(0) && Set(times).count == 2, "\(times)")
    try await checkEqual(peers)
  }

  @Test("an acknowledgement that caps shows another winner, and who reads it is told")
  func acknowledged() async throws {
    let peers = try await peers(Self.year2099 - 3_600_000, Self.now, Self.year2099)
    try await peers[0].set("base")
    try await peers[0].sync()
    for peer in peers[1...] { try await peer.sync() }
    // Nobody vouches for the folder yet.
    try await peers[0].set("an hour before")
    try await peers[0].sync()
    try await peers[1].set("right", of: "b")
    try await peers[1].sync()
    try await peers[2].set("of 2099")
    try await peers[2].sync(.fetch)
    #expect(try peers[2].title() == "of 2099")
    let last = try peers[2].device.store.read { try $0.lastPosition() }
    var values = peers[2].device.store.values {
      try $0.value(of: "title", in: RecordID(zone: zone, name: "a"))
    }
    .makeAsyncIterator()
    #expect(try await values.next() == "of 2099")
    let report = try await peers[2].sync()
    #expect(report.sent == 1)
    #expect(try await values.next() == "an hour before")
    #expect(try peers[2].device.store.read { try $0.lastPosition() } == last)
    #expect(try await received(peers[2]).last == .some(0))
    try await checkEqual(peers)
    for peer in peers { #expect(try peer.title() == "an hour before") }
  }

  @Test("entries that are put back state what they stated")
  func putBack() async throws {
    let peers = try await peers(Self.now, Self.now)
    for value in 0..<4 as Range<Int64> {
      let peer = peers[Int(value) % 2]
      try await peer.sync()
      try await peer.set(.int(value))
      try await peer.sync()
      pass(Self.minute, peers)
    }
    for peer in peers { try await peer.sync() }
    let times = try await received(peers[0])
    #expect(times == [0, 1, 2, 3].map { $0 * Self.minute })
    let token = try #require(try peers[0].device.store.syncState().zones.first?.token)
    for offset in 3...4 as ClosedRange<UInt64> {
      try await objects(70).delete(.entry(of: token.incarnation, offset))
    }
    place.milliseconds = 5_000
    let report = try await peers[1].sync()
    #expect(report.zones.first?.putBack == 2)
    #expect(try await received(peers[0]) == times)
    try await checkEqual(peers)
  }

  /// A device in 2099, which was capped, one that is right, one that has read only the first entry, and a new one.
  private func lostWorld() async throws -> [Peer] {
    let peers = try await peers(Self.now, Self.year2099, Self.now, Self.now)
    try await peers[0].set("first")
    for peer in peers[..<3] { try await peer.sync() }
    pass(Self.minute, peers)
    try await peers[1].set("of 2099")
    try await peers[1].sync()
    pass(10 * Self.minute, peers)
    // At once: it has not seen that one.
    try await peers[0].set("ten minutes later")
    for peer in peers[..<2] { try await peer.sync() }
    #expect(try await received(peers[0]) == [0, Self.minute, 11 * Self.minute])
    pass(60 * Self.minute, peers)
    return peers
  }

  private func expectSame(_ peers: [Peer]) async throws {
    try await checkEqual(peers)
    for peer in peers {
      #expect(try peer.title() == "ten minutes later")
      #expect(try peer.device.store.verify().isSound)
    }
  }

  @Test("what a log has lost is offered again with the times that it stated: no later ones count, for nobody")
  func lostAndOfferedAgain() async throws {
    let peers = try await lostWorld()
    let token = try #require(try peers[0].device.store.syncState().zones.first?.token)
    for offset in 2...3 as ClosedRange<UInt64> {
      try await objects(70).delete(.entry(of: token.incarnation, offset))
    }
    try await peers[2].set("later", of: "b")
    try await peers[2].sync()
    pass(Self.minute, peers)
    let report = try await peers[0].sync()
    #expect(report.zones.first?.partedAt == 2 && report.isInSync, "\(report)")
    let times = [0, 71 * Self.minute, 11 * Self.minute, Self.minute]
    let stated = try await received(peers[0])
    #expect(stated == times, "\(stated)")
    // The new device reads only what is offered again.
    try await expectSame(peers)
    #expect(try await received(peers[3]) == times)
  }

  @Test("what was in an entry that was given up is offered again with the time that it stated")
  func givenUpAndOfferedAgain() async throws {
    let peers = try await lostWorld()
    let token = try #require(try peers[0].device.store.syncState().zones.first?.token)
    let name = ObjectName.entry(of: token.incarnation, 3)
    let objects = objects(70)
    try await objects.delete(name)
    _ = try await objects.putIfAbsent(name, [1, 2, 3])
    _ = try await peers[2].remote.log.amendments.quarantine(
      EntryPlace(log: EntryPlace.Log(zone, token.incarnation), offset: 3), last: 100, note: "",
      milliseconds: 1)
    let report = try await peers[0].sync()
    #expect(report.isInSync && report.sent == 1, "\(report)")
    #expect(try await received(peers[0]) == [0, Self.minute, nil, 11 * Self.minute])
    try await expectSame(peers)
  }

  @Test("an append whose answer was lost gives the time that its entry states")
  func lostAnswer() async throws {
    let peers = try await peers(Self.now)
    try await peers[0].set(1)
    try await peers[0].sync()
    let token = try #require(try peers[0].device.store.syncState().zones.first?.token)
    var maker = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 77))
    let segment = try maker.next()
    let first = try await peers[0].remote.append(segment, after: token)
    pass(7 * Self.minute, peers)
    guard case .appended(let place) = first else {
      Issue.record("\(first)")
      return
    }
    #expect(place.receivedMilliseconds == UInt64(Self.now))
    #expect(try await peers[0].remote.append(segment, after: token) == .alreadyThere(place))
  }

  @Test("the clock of a real file system is the machine's")
  func realClock() async throws {
    let remote = try await FolderRemote.create(directory: directory)
    let incarnation = try await remote.createZone(zone, proposing: IncarnationID(rawValue: 5))
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
    let before = SystemEnvironment.wallMilliseconds()
    guard case .appended(let place) = try await remote.append(try maker.next(), after: 0) else {
      Issue.record("it was not appended")
      return
    }
    let received = Int64(try #require(place.receivedMilliseconds))
    // A kernel's clock of files is some milliseconds late.
    #expect(received >= before - 1000 && received <= SystemEnvironment.wallMilliseconds())
    #expect(remote.lastClockMilliseconds() == place.receivedMilliseconds)
  }

  // MARK: What the status says

  @Test("the status has the offset, also of a round that only receives, and the log is told once")
  func told() async throws {
    let peers = try await peers(Self.now, Self.now - 2 * 60 * Self.minute)
    let lines = Lines()
    var configuration = ReplicatorConfiguration()
    configuration.logger = Logger(label: "t") { _ in LineHandler(lines: lines) }
    let replicator = LogReplicator(
      store: peers[1].device.store, remote: peers[1].remote, configuration: configuration)
    #expect(replicator.status.clockOffset == nil)
    try await peers[0].set(1)
    try await peers[0].sync()
    try await replicator.syncOnce(.fetch)
    #expect(replicator.status.clockOffset?.milliseconds == 120 * Self.minute)
    try await peers[1].set(2)
    let report = try await replicator.syncOnce()
    let offset = try #require(report.clockOffset)
    #expect(offset.isNotable && "\(offset)" == "this device's clock is 2 hours behind the remote's")
    #expect(lines.all.filter { $0.contains("2 hours behind") }.count == 1, "\(lines.all)")
    peers[1].clock.milliseconds = Self.now - 59_999
    try await peers[1].set(3)
    try await replicator.syncOnce()
    #expect(replicator.status.clockOffset?.isNotable == false)
    peers[1].clock.milliseconds = Self.now + 60_001
    try await peers[1].set(4)
    try await replicator.syncOnce()
    #expect(lines.all.filter { $0.contains("ahead of") }.count == 1, "\(lines.all)")
  }

  /// What was logged.
  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  private struct LineHandler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add("\(event.message)") }
  }

  @Test(
    "an offset is the least that a call allows",
    arguments: [
      (5, 10, 20, -5), (10, 10, 20, 0), (15, 10, 20, 0), (20, 10, 20, 0), (27, 10, 20, 7), (15, 20, 10, 0),
      (5, 20, 10, -5),
    ] as [(UInt64, Int64, Int64, Int64)])
  func offsets(_ remote: UInt64, _ before: Int64, _ after: Int64, _ expected: Int64) {
    #expect(ClockOffset(remote: remote, between: (before, after)).milliseconds == expected)
  }

  @Test("offsets of any size do not trap, and are told in words")
  func words() {
    for wall in [Int64.min, -1, 0, .max] {
      for remote in [0, UInt64(Int64.max), .max] {
        let offset = ClockOffset(remote: remote, between: (wall, wall))
        #expect(!"\(offset)".isEmpty && !offset.hint.isEmpty)
      }
    }
    #expect(
      "\(ClockOffset(milliseconds: -62 * 60_000))"
        == "this device's clock is 62 minutes ahead of the remote's")
    #expect(
      "\(ClockOffset(milliseconds: 1_999))" == "this device's clock is 1999 milliseconds behind the remote's")
    // To the nearest: 61 minutes and 40 seconds are 62 minutes.
    #expect("\(ClockOffset(milliseconds: -3_700_000))".contains("62 minutes ahead"))
    #expect("\(ClockOffset(milliseconds: .min))".contains("years"))
    #expect(!ClockOffset(milliseconds: 60_000).isNotable && ClockOffset(milliseconds: -60_001).isNotable)
  }
}
