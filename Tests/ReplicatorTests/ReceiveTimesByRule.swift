import EventStore
import OperationFormat
import Synchronization
import Testing

@testable import Replicator
@testable import StoreTesting

@Suite("Which receive time an entry states")
struct ReceiveTimesByRule {
  static let now: Int64 = 1_800_000_000_000
  static let year2099: Int64 = 4_070_908_800_000
  static let hour: Int64 = 3_600_000

  /// Segments of two replicas, by replica, sequence and the time of their change. Each is made once.
  private final class Segments {
    private struct Key: Hashable {
      var replica: UInt64
      var sequence: UInt64
      var newest: Int64
    }
    private var made: [Key: PackedSegment] = [:]
    let incarnation = IncarnationID(rawValue: 5)

    func segment(_ replica: UInt64, _ sequence: UInt64, _ newest: Int64) throws -> PackedSegment {
      let key = Key(replica: replica, sequence: sequence, newest: newest)
      if let known = made[key] { return known }
      let transaction = try LogTransaction(
        replica: ReplicaID(rawValue: UInt128(replica)), epoch: 0, sequence: sequence, zone: zone,
        timestamp: Timestamp(milliseconds: UInt64(newest), counter: 3),
        operations: [.set(record: "r", type: "t", field: "f", value: .int(1))]
      ).encoded()
      let header = try SegmentHeader.describing(
        [transaction], incarnation: incarnation, baseProof: { _ in .zero }, previousHash: .zero)
      let packed = try SegmentPacker.pack(
        SegmentCut(header: header, isStored: false, transactions: [transaction]))
      made[key] = packed
      return packed
    }
  }

  /// A remote in memory, whose place and writer have clocks that a test sets.
  private final class Clocks: Sendable {
    private let state = Mutex((wall: Int64(0), place: Int64?(0)))
    var wall: Int64 { state.withLock { $0.wall } }
    var place: Int64? { state.withLock { $0.place } }
    func set(wall: Int64, place: Int64?) { state.withLock { $0 = (wall, place) } }
  }

  private typealias Entry = NaiveReceiveTime.Entry

  /// The objects of a log, besides others, and the next sequence of replica 1.
  private static func contents(
    of log: [Entry], in others: [ObjectName: [UInt8]], _ segments: Segments
  ) throws -> (objects: [ObjectName: [UInt8]], next: UInt64) {
    var contents = others
    var sequences: [ReplicaID: UInt64] = [:]
    for (index, entry) in log.enumerated() {
      sequences[entry.replica, default: 0] += 1
      let (name, bytes) = try object(entry, UInt64(index) + 1, sequences[entry.replica]!, segments)
      contents[name] = bytes
    }
    return (contents, (sequences[ReplicaID(rawValue: 1)] ?? 0) + 1)
  }

  /// An object of a log.
  private static func object(_ entry: Entry, _ offset: UInt64, _ sequence: UInt64, _ segments: Segments)
    throws
    -> (ObjectName, [UInt8])
  {
    let segment = try segments.segment(UInt64(entry.replica.rawValue), sequence, entry.newest)
    return (
      .entry(of: segments.incarnation, offset),
      SegmentEnvelope.encode(
        offset: offset, receivedMilliseconds: entry.received.map { UInt64($0) }, chain: nil,
        isOfferedAgain: entry.isOfferedAgain,
        segment: segment.bytes.span.bytes)
    )
  }

  private static func remote(_ clocks: Clocks) async throws -> (MemoryObjects, ObjectRemote) {
    let objects = MemoryObjects { UInt64(clocks.place!) }
    objects.contents = MemoryRemote(identity: RemoteID(rawValue: 1)).objects.contents
    let remote = client(of: objects, clocks)
    _ = try await remote.createZone(zone, proposing: IncarnationID(rawValue: 5))
    return (objects, remote)
  }

  private static func client(of objects: MemoryObjects, _ clocks: Clocks) -> ObjectRemote {
    ObjectRemote(objects, hasHints: false, clock: .place { clocks.wall })
  }

  @Test("after every log of up to two entries, at all clocks, it is the naive rule's")
  func exhaustive() async throws {
    let (clocks, segments) = (Clocks(), Segments())
    let (objects, _) = try await Self.remote(clocks)
    let empty = objects.contents
    var kinds: [Entry] = []
    for replica in [1, 2] as [UInt128] {
      for newest in [Self.now, Self.now - Self.hour, Self.year2099] {
        for received in [nil, Self.now, Self.now - 2 * Self.hour, 5_000] {
          kinds.append(Entry(replica: ReplicaID(rawValue: replica), newest: newest, received: received))
        }
      }
    }
    let logs = [[]] + kinds.map { [$0] } + kinds.flatMap { first in kinds.map { [first, $0] } }
    var counts: [Bool: Int] = [:]
    let step = WideTests.choose(1, otherwise: 5)
    for (index, log) in logs.enumerated() where index.isMultiple(of: step) {
      let (contents, next) = try Self.contents(of: log, in: empty, segments)
      let own = ReplicaID(rawValue: 1)
      // A client remembers what it has asked.
      let remote = Self.client(of: objects, clocks)
      for newest in [Self.now, Self.year2099] {
        let segment = try segments.segment(1, next, newest)
        for wall in [Self.now, Self.now + 2 * Self.hour, Self.year2099] {
          for place in [Self.now, Self.now - 2 * Self.hour, 5_000] {
            objects.contents = contents
            clocks.set(wall: wall, place: place)
            let outcome = try await remote.append(segment, after: 0)
            let expected = NaiveReceiveTime.stated(
              by: own, newest: newest, wall: wall, place: place, after: log)
            guard case .appended(let found) = outcome,
              found.receivedMilliseconds.map({ Int64($0) }) == expected, found.offset == UInt64(log.count) + 1
            else {
              Issue.record("\(log), newest \(newest), wall \(wall), place \(place): \(outcome)")
              return
            }
            counts[expected == nil, default: 0] += 1
          }
        }
      }
    }
    #expect(counts[true]! > 1000 / step && counts[false]! > 1000 / step)
  }

  @Test("what is offered again states what it stated before, or an earlier time, and vouches for nobody")
  func offeredAgain() async throws {
    let (clocks, segments) = (Clocks(), Segments())
    let (objects, _) = try await Self.remote(clocks)
    let empty = objects.contents
    var kinds: [Entry] = []
    for replica in [1, 2] as [UInt128] {
      for newest in [Self.now, Self.year2099] {
        for received in [nil, Self.now, Self.now - 2 * Self.hour] {
          for isOfferedAgain in [false, true] {
            kinds.append(
              Entry(
                replica: ReplicaID(rawValue: replica), newest: newest, received: received,
                isOfferedAgain: isOfferedAgain))
          }
        }
      }
    }
    let behind = kinds.filter(\.isOfferedAgain)
    let logs = [[]] + kinds.map { [$0] } + kinds.flatMap { first in behind.map { [first, $0] } }
    var counts: [Int64?: Int] = [:]
    for log in logs {
      let (contents, next) = try Self.contents(of: log, in: empty, segments)
      let own = ReplicaID(rawValue: 1)
      let remote = Self.client(of: objects, clocks)
      for newest in [Self.now, Self.year2099] {
        var segment = try segments.segment(1, next, newest)
        for former in [nil, Self.now - Self.hour, Self.now + Self.hour, 5_000] {
          segment.formerReceivedMilliseconds = former.map { UInt64($0) }
          for (wall, place) in [
            (Self.now, Self.now), (Self.now, Self.now - 2 * Self.hour), (Self.year2099, Self.now),
          ] {
            objects.contents = contents
            clocks.set(wall: wall, place: place)
            let outcome = try await remote.append(segment, after: 0)
            let expected = NaiveReceiveTime.stated(
              by: own, newest: newest, wall: wall, place: place, former: former, after: log)
            guard case .appended(let found) = outcome,
              found.receivedMilliseconds.map({ Int64($0) }) == expected
            else {
              Issue.record("\(log), former \(former ?? 0), wall \(wall), place \(place): \(outcome)")
              return
            }
            counts[expected, default: 0] += 1
          }
        }
      }
    }
    #expect(counts.count == 6 && counts.values.allSatisfy { $0 > 100 }, "\(counts)")
  }

  @Test("the greatest number is no time, and does not trap")
  func greatestFormer() async throws {
    let (clocks, segments) = (Clocks(), Segments())
    let (_, remote) = try await Self.remote(clocks)
    clocks.set(wall: Self.now, place: Self.now)
    var segment = try segments.segment(1, 1, Self.now)
    segment.formerReceivedMilliseconds = .max
    guard case .appended(let place) = try await remote.append(segment, after: 0) else {
      Issue.record("it was not appended")
      return
    }
    #expect(place.receivedMilliseconds == UInt64(Self.now))
  }

  @Test("at the edges of the drift, to the millisecond", arguments: [-1, 0, 1] as [Int64])
  func edges(_ step: Int64) {
    let (own, other) = (ReplicaID(rawValue: 1), ReplicaID(rawValue: 2))
    func stated(_ newest: Int64, _ wall: Int64, _ log: [Entry]) -> Int64? {
      NaiveReceiveTime.stated(by: own, newest: newest, wall: wall, place: Self.now, after: log)
    }
    // The wall clock agrees up to the drift. What would be capped needs a witness nevertheless.
    #expect((stated(Self.now, Self.now + 300_000 + step, []) != nil) == (step <= 0))
    #expect(stated(Self.year2099, Self.now + 300_000 + step, []) == nil)
    // A change is capped beyond the drift, and is vouched for by an entry that is as fresh.
    let witness = Entry(replica: other, newest: Self.now, received: Self.now + 300_000 + step)
    #expect((stated(Self.year2099, Self.year2099, [witness]) != nil) == (step <= 0))
    let agreed = Entry(replica: other, newest: Self.now, received: Self.now)
    #expect((stated(Self.now + 300_000 + step, Self.year2099, [agreed]) != nil) == (step > 0))
  }

  @Test("a writer asks 256 entries, and no more")
  func bounded() async throws {
    for (own, isStated) in [(255, true), (256, false)] {
      let (clocks, segments) = (Clocks(), Segments())
      let (objects, remote) = try await Self.remote(clocks)
      let first = Entry(replica: ReplicaID(rawValue: 2), newest: Self.now, received: Self.now)
      var (name, bytes) = try Self.object(first, 1, 1, segments)
      objects.contents[name] = bytes
      for sequence in 1...UInt64(own) {
        let entry = Entry(replica: ReplicaID(rawValue: 1), newest: Self.now, received: Self.now)
        (name, bytes) = try Self.object(entry, sequence + 1, sequence, segments)
        objects.contents[name] = bytes
      }
      clocks.set(wall: Self.year2099, place: Self.now + 1)
      let segment = try segments.segment(1, UInt64(own) + 1, Self.year2099)
      guard case .appended(let place) = try await remote.append(segment, after: UInt64(own) + 1) else {
        Issue.record("it was not appended")
        return
      }
      #expect((place.receivedMilliseconds != nil) == isStated, "after \(own) own entries")
      // The next one is vouched for by that.
      let next = try segments.segment(1, UInt64(own) + 2, Self.year2099 + 1)
      guard case .appended(let after) = try await remote.append(next, after: place.offset) else {
        Issue.record("the next was not appended")
        return
      }
      #expect((after.receivedMilliseconds != nil) == isStated)
    }
  }

  @Test("nobody vouches across an entry that cannot be read", arguments: [false, true])
  func damaged(_ isMissing: Bool) async throws {
    let (clocks, segments) = (Clocks(), Segments())
    let (objects, remote) = try await Self.remote(clocks)
    let witness = Entry(replica: ReplicaID(rawValue: 2), newest: Self.now, received: Self.now)
    for offset in 1...3 as ClosedRange<UInt64> {
      let (name, bytes) = try Self.object(witness, offset, offset, segments)
      objects.contents[name] = bytes
    }
    objects.contents[.entry(of: segments.incarnation, 2)] = isMissing ? nil : [1, 2, 3]
    objects.contents[.entry(of: segments.incarnation, 3)] = try Self.object(
      Entry(replica: ReplicaID(rawValue: 1), newest: Self.now, received: Self.now), 3, 1, segments
    ).1
    clocks.set(wall: Self.year2099, place: Self.now)
    let segment = try segments.segment(1, 2, Self.year2099)
    guard case .appended(let place) = try await remote.append(segment, after: 3) else {
      Issue.record("it was not appended")
      return
    }
    #expect(place.receivedMilliseconds == nil && place.offset == 4)
    #expect(remote.lastClockMilliseconds() == UInt64(Self.now))
  }

  @Test("a writer asks each entry once, also where nobody vouches")
  func asksOnce() async throws {
    let (clocks, segments) = (Clocks(), Segments())
    let (objects, _) = try await Self.remote(clocks)
    let counter = RemoteCallCounter()
    let remote = ObjectRemote(objects, counter: counter, hasHints: false, clock: .place { clocks.wall })
    // Its own clock is right, and the place's an hour behind.
    clocks.set(wall: Self.now, place: Self.now - Self.hour)
    var before = 0
    for sequence in 1...100 as ClosedRange<UInt64> {
      let segment = try segments.segment(1, sequence, Self.now)
      guard case .appended(let place) = try await remote.append(segment, after: sequence - 1) else {
        Issue.record("it was not appended")
        return
      }
      #expect(place.receivedMilliseconds == nil)
      let count = counter.calls.prefixGets
      if sequence > 2 { #expect(count - before <= 4, "\(count - before) at \(sequence)") }
      before = count
    }
  }
}
