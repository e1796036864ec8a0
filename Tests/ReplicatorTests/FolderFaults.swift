import EventStore
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#endif

@Suite("A file system that fails")
struct FolderFaults {
  /// Lets one call fail, and counts them all.
  final class Plan: Sendable {
    private let state = Mutex((count: 0, failing: 0, isAfter: false))

    var count: Int { state.withLock { $0.count } }

    /// Lets the `number`-th call from now fail; 0 for none.
    func fail(_ number: Int, isAfter: Bool) { state.withLock { $0 = (0, number, isAfter) } }

    func register() -> FolderCalls.Fault? {
      state.withLock { state in
        state.count += 1
        guard state.count == state.failing else { return nil }
        return state.isAfter ? .after(EIO) : .before(EIO)
      }
    }
  }

  @Test("an append whose every call may fail is there once, whatever it said", arguments: [false, true])
  func appendsOnce(_ isAfter: Bool) async throws {
    let directory = TemporaryDirectory()
    let zone = ZoneID(name: "notes")
    let made = try await FolderRemote.create(directory: directory.path + "/remote")
    let plan = Plan()
    let calls = FolderCalls { _ in plan.register() }
    let remote = FolderRemote(
      FolderObjects(
        directory: directory.path + "/remote", calls: calls, makeRandom: SystemEnvironment.makeRandom))
    let incarnation = try await made.createZone(zone, proposing: IncarnationID(rawValue: 5))
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
    var (offset, number, failures) = (UInt64(0), 1, 0)
    while true {
      let segment = try maker.next()
      plan.fail(number, isAfter: isAfter)
      var outcome: AppendOutcome?
      do throws(RemoteError) {
        outcome = try await remote.append(segment, after: offset)
      } catch {
        failures += 1
        #expect(error.code == .unreachable, "\(error)")
      }
      let wasReached = plan.count >= number
      plan.fail(0, isAfter: false)
      let again = try await remote.append(segment, after: offset)
      offset += 1
      if let outcome { #expect(outcome == .appended(SegmentPlace(offset: offset))) }
      #expect(
        again == .alreadyThere(SegmentPlace(offset: offset))
          || outcome == nil && again == .appended(SegmentPlace(offset: offset)))
      if !wasReached { break }
      number += 1
    }
    #expect(failures > 20, "so few failures test nothing")
    let read = try await made.segments(after: .start(of: zone, incarnation), bytesMax: 1 << 24)
    guard case .segments(let page, false) = read else {
      Issue.record("the zone is gone")
      return
    }
    #expect(page.map(\.offset) == Array(1...offset))
  }
}
