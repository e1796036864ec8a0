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
  /// Lets one call fail, and counts all calls.
  final class Plan: Sendable {
    private let state = Mutex((count: 0, failing: 0, isAfter: false))

    var count: Int { state.withLock { $0.count } }

    /// Lets the `number`-th call from now fail; 0 for none.
    func fail(_ number: Int, isAfter: Bool) { state.withLock { $0 = (0, number, isAfter) } }

    func register() -> FileFault? {
      state.withLock { state in
        state.count += 1
        guard state.count == state.failing else { return nil }
        return state.isAfter ? .after(EIO) : .before(EIO)
      }
    }
  }

  @Test("an append with a fault at any call is there once, whatever its result", arguments: [false, true])
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
      if let outcome { #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: offset))) }
      #expect(
        again.withOffsetOnly == .alreadyThere(SegmentPlace(offset: offset))
          || outcome == nil && again.withOffsetOnly == .appended(SegmentPlace(offset: offset)))
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

  /// A folder remote with a directory, where the plan may let any call fail.
  func planned(_ path: String, _ plan: Plan) -> FolderRemote {
    let calls = FolderCalls { _ in plan.register() }
    return FolderRemote(
      FolderObjects(directory: path, calls: calls, makeRandom: SystemEnvironment.makeRandom))
  }

  @Test(
    "a remote whose creation fails at any call is missing or complete; creating it again completes it",
    arguments: [false, true])
  func isMadeAgain(_ isAfter: Bool) async throws {
    var (number, failures) = (1, 0)
    while true {
      let directory = TemporaryDirectory()
      let path = directory.path + "/remote"
      let plan = Plan()
      let (proposed, later) = (RemoteID(rawValue: 5), RemoteID(rawValue: 6))
      plan.fail(number, isAfter: isAfter)
      var isMade = true
      do throws(RemoteError) {
        try await planned(path, plan).objects.create(proposed)
      } catch {
        isMade = false
        failures += 1
        #expect(error.code == .unreachable, "\(error)")
      }
      let wasReached = plan.count >= number
      plan.fail(0, isAfter: false)
      var isThere = true
      do throws(RemoteError) {
        #expect(try await planned(path, plan).identity() == proposed)
      } catch {
        isThere = false
        #expect([.unreachable, .notARemote].contains(error.code), "\(error)")
      }
      #expect(isThere || !isMade)
      let again = planned(path, plan)
      try await again.objects.create(later)
      #expect(try await again.identity() == (isThere ? proposed : later))
      let incarnation = try await again.createZone(
        ZoneID(name: "notes"), proposing: IncarnationID(rawValue: 5))
      #expect(incarnation == IncarnationID(rawValue: 5))
      if !wasReached { break }
      number += 1
    }
    #expect(failures > 10, "so few failures test nothing")
  }

  @Test(
    "a zone that is created and deleted with a fault at any call is created once, and deleted once",
    arguments: [false, true])
  func zonesOnce(_ isAfter: Bool) async throws {
    let zone = ZoneID(name: "notes")
    var (number, failures, isReached) = (1, 0, true)
    while isReached {
      let directory = TemporaryDirectory()
      let path = directory.path + "/remote"
      _ = try await FolderRemote.create(directory: path)
      let plan = Plan()
      let remote = planned(path, plan)
      isReached = false
      func trying(_ call: () async throws -> Void) async throws {
        plan.fail(number, isAfter: isAfter)
        do {
          try await call()
        } catch let error as RemoteError {
          failures += 1
          #expect(error.code == .unreachable, "\(error)")
        }
        if plan.count >= number { isReached = true }
        plan.fail(0, isAfter: false)
        try await call()
      }
      let proposed = IncarnationID(rawValue: 5)
      try await trying {
        let incarnation = try await remote.createZone(zone, proposing: proposed)
        #expect(incarnation == proposed)
      }
      var maker = SegmentMaker(zone, proposed, replica: ReplicaID(rawValue: 1))
      _ = try await remote.append(try maker.next(), after: 0)
      try await trying { try await remote.deleteZone(zone, proposed) }
      let events = try await FolderRemote.open(directory: path).zoneEvents(after: nil).events
      #expect(events.map(\.kind) == [.created, .deleted])
      #expect(try await remote.append(try maker.next(), after: 1) == .gone(.deleted))
      number += 1
    }
    #expect(failures > 20, "so few failures test nothing")
  }

  @Test(
    "a directory that may not be read is reported, one that was removed is not; all others are listed"
  )
  func unreadableDirectories() async throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/remote"
    let remote = try await FolderRemote.create(directory: path)
    for number in 1...2 {
      let zone = ZoneID(name: Name("zone \(number)"))
      let incarnation = try await remote.createZone(
        zone, proposing: IncarnationID(rawValue: UInt128(number)))
      var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
      _ = try await remote.append(try maker.next(), after: 0)
    }
    let all = Set(try await remote.objects.list())
    for number in [EACCES, ENOENT] {
      // The first call opens the folder itself.
      var (failing, paths) = (2, Set<String>())
      while true {
        let count = Mutex(0)
        let calls = FolderCalls { [failing] call in
          guard "\(call)" == "openat" else { return nil }
          return count.withLock { count in
            count += 1
            return count == failing ? .before(number) : nil
          }
        }
        let objects = FolderObjects(
          directory: path, calls: calls, makeRandom: SystemEnvironment.makeRandom)
        let found = try await objects.list()
        if count.withLock({ $0 }) < failing { break }
        let told = found.filter { !all.contains($0) }
        #expect(told.count == (number == EACCES ? 1 : 0))
        for entry in told {
          #expect(entry.bytes == nil && entry.path.hasSuffix("/"))
          #expect(!found.contains { $0.path != entry.path && $0.path.hasPrefix(entry.path) })
          #expect(all.subtracting(found).allSatisfy { $0.path.hasPrefix(entry.path) })
          paths.insert(entry.path)
        }
        failing += 1
      }
      #expect(failing > 10, "so few failures test nothing")
      if number == EACCES { #expect(paths.contains("logs/") && paths.contains("tmp/"), "\(paths)") }
    }
  }

  @Test("an object whose removal fails at any call is removed by the next removal", arguments: [false, true])
  func removesOnce(_ isAfter: Bool) async throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/remote"
    _ = try await FolderRemote.create(directory: path)
    let plan = Plan()
    let objects = planned(path, plan).objects
    let name = ObjectName.entry(of: IncarnationID(rawValue: 5), 1)
    var (number, wasReached) = (1, true)
    while wasReached {
      _ = try await objects.putIfAbsent(name, [1, 2, 3])
      plan.fail(number, isAfter: isAfter)
      do throws(RemoteError) {
        try await objects.delete(name)
      } catch {
        #expect(error.code == .unreachable, "\(error)")
      }
      wasReached = plan.count >= number
      plan.fail(0, isAfter: false)
      try await objects.delete(name)
      #expect(try await objects.get(name, bytesMax: 10) == nil)
      number += 1
    }
    #expect(number > 5, "so few calls test nothing")
  }

  @Test("files that a crash left in the folder of temporary files are removed after a day, and no others")
  func sweeps() async throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/remote"
    let made = try await FolderRemote.create(directory: path)
    let own = (1...3 as ClosedRange<UInt128>).map { IncarnationID(rawValue: $0).description }
    let foreign = ["notes.txt", own[0] + "0", ".hidden", String(own[1].dropLast()) + "A"]
    for name in own + foreign {
      let file = try #require(fopen("\(path)/tmp/\(name)", "w"))
      fputs("left", file)
      fclose(file)
    }
    // All but one are two days old.
    for name in own.dropLast() + foreign {
      var times = [timespec(), timespec()]
      clock_gettime(CLOCK_REALTIME, &times[1])
      times[1].tv_sec -= 2 * 86_400
      times[0] = times[1]
      #expect(utimensat(AT_FDCWD, "\(path)/tmp/\(name)", times, 0) == 0)
    }
    func left() async throws -> [String] {
      try await made.objects.list().map(\.path).filter { $0.hasPrefix("tmp/") }
    }
    let expected = (own.suffix(1) + foreign).map { "tmp/\($0)" }.sorted {
      $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
    _ = try await FolderRemote.open(directory: path, isReadOnly: true).zoneEvents(after: nil)
    #expect(try await left().count == 7)
    _ = try await FolderRemote.open(directory: path)
      .createZone(ZoneID(name: "notes"), proposing: IncarnationID(rawValue: 5))
    #expect(try await left() == expected)
  }
}
