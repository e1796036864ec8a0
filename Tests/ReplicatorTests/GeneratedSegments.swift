import Synchronization
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("Generated segments")
struct GeneratedSegments {
  private func makeGenerator(_ seed: UInt64, operationsMax: Int = 60) -> SegmentGenerator {
    SegmentGenerator(
      ZoneID(name: "notes"), IncarnationID(rawValue: 5), seed: seed, operationsMax: operationsMax,
      writerCount: 3)
  }

  @Test(
    "are determined by their seed, have every kind of operation, and fold to the same state in every replica")
  func areLegal() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let operationsMax = WideTests.choose(60, otherwise: 20)
    var generator = makeGenerator(7, operationsMax: operationsMax)
    var again = makeGenerator(7, operationsMax: operationsMax)
    let zone = generator.zone
    _ = try await remote.createZone(zone, proposing: generator.incarnation)
    var kinds: Set<SegmentGenerator.Kind> = []
    for offset in 0..<120 as Range<UInt64> {
      let segment = try generator.next()
      #expect(try again.next().packed.bytes == segment.packed.bytes)
      kinds.insert(segment.kind)
      let outcome = try await remote.append(segment.packed, after: offset)
      #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: offset + 1)))
    }
    #expect(kinds == Set(SegmentGenerator.Kind.allCases))
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for device in devices {
      let report = try await device.sync(remote)
      #expect(report.isInSync && report.zones.first?.receivedSegments == 120, "\(report)")
    }
    try await expectAgreement(devices, remote)
    for device in devices {
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)")
      device.store.close()
    }
  }

  @Test("show how long each held the write lock: with a clock that advances by one at each reading")
  func holds() async throws {
    let scratch = TemporaryDirectory()
    let clock = Mutex<UInt64>(0)
    let holds = try await WriteLockHolds.folding(30, of: makeGenerator(8), in: scratch.path + "/store") {
      clock.withLock { clock in
        clock += 1
        return clock
      }
    }
    // Each was folded in one commit or more; each commit took the lock once and released it.
    #expect(holds.holds.count == 30 && holds.holds.allSatisfy { $0.nanoseconds == 1 })
    #expect(holds.quantile(0.5)?.nanoseconds == 1 && holds.longest(3).count == 3)
  }

  @Test("show each segment of a remote, also if it is longer than a round reads")
  func holdsOfARemote() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let (zone, incarnation) = (ZoneID(name: "notes"), IncarnationID(rawValue: 5))
    _ = try await remote.createZone(zone, proposing: incarnation)
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
    let count = UInt64(ZoneRound.passesMax * ZoneRound.pagesInPassMax) + 10
    for offset in 0..<count { _ = try await remote.append(try maker.next(), after: offset) }
    let holds = try await WriteLockHolds.fetching(remote, in: scratch.path + "/store") { 0 }
    #expect(holds.holds.count >= Int(count))
  }
}
