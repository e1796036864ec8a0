import EventStore
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A file system that is probed before a store belongs to its folder")
struct FoldersThatAreProbed {
  private let scratch = TemporaryDirectory()
  private var path: String { "\(scratch.path)/remote" }

  /// A folder remote whose calls go through these.
  private func remote(_ calls: FolderCalls, isReadOnly: Bool = false) -> FolderRemote {
    FolderRemote(
      FolderObjects(directory: path, calls: calls, makeRandom: SystemEnvironment.makeRandom),
      isReadOnly: isReadOnly)
  }

  /// The files of the folder of temporary files.
  private func left() async throws -> [String] {
    try await FolderRemote.open(directory: path).objects.list().map(\.path).filter { $0.hasPrefix("tmp/") }
  }

  enum Unfit: CaseIterable {
    /// A second file takes the name of the first, by a link or by a rename.
    case linksReplace, renamesReplace
    /// It can neither link nor rename without replacing.
    case neither
    /// What was written reads as nothing.
    case losesBytes
  }

  private func calls(_ unfit: Unfit) -> FolderCalls {
    let path = path
    var calls = FolderCalls { call in
      switch ("\(call)", unfit) {
      case ("linkat", .renamesReplace), ("linkat", .neither): return .before(EPERM)
      case ("renameat2", .neither): return .before(EINVAL)
      case ("pread", .losesBytes):
        for name in namesOfFiles(in: "\(path)/tmp") { truncate("\(path)/tmp/\(name)", 0) }
        return nil
      default: return nil
      }
    }
    calls.replacesNames = unfit == .linksReplace || unfit == .renamesReplace
    return calls
  }

  @Test("one that does not do it is refused, and stays as it is", arguments: Unfit.allCases)
  func refused(_ unfit: Unfit) async throws {
    _ = try await FolderRemote.create(directory: path)
    let before = try await FolderRemote.open(directory: path).objects.list()
    let device = try Device(in: scratch.path, "d", seed: 1)
    try await device.set("title", of: "first", to: 1)
    for _ in 0..<2 {
      do {
        try await device.sync(remote(calls(unfit)))
        Issue.record("it is taken")
      } catch let failure as SyncFailure {
        #expect(failure.errorCode == SyncFailure.Code(RemoteError.Code.unsuitable), "\(failure)")
        #expect("\(failure)".contains("ext4"), "\(failure)")
      }
    }
    #expect(try await FolderRemote.open(directory: path).objects.list() == before)
    #expect(try device.store.syncState().databaseToken == nil)
    // The store belongs to no remote yet, and takes one that does.
    #expect(try await device.sync(remote(FolderCalls())).isInSync)
    #expect(try await left() == [])
    device.store.close()
  }

  @Test("no remote is made in one that does not do it", arguments: Unfit.allCases)
  func notMade(_ unfit: Unfit) async throws {
    do throws(RemoteError) {
      _ = try await remote(calls(unfit)).make(SystemEnvironment.makeRandom)
      Issue.record("it is made")
    } catch {
      #expect(error.code == .unsuitable, "\(error)")
    }
    do throws(RemoteError) {
      _ = try await FolderRemote.open(directory: path)
      Issue.record("it is there")
    } catch {
      #expect(error.code == .notARemote)
    }
    _ = try await FolderRemote.create(directory: path)
    #expect(try await left() == [])
  }

  @Test("a store does it once, leaves nothing there, and needs no links")
  func once() async throws {
    _ = try await FolderRemote.create(directory: path)
    let device = try Device(in: scratch.path, "d", seed: 1)
    let links = Mutex(0)
    func round() async throws -> Int {
      let calls = FolderCalls { call in
        if "\(call)" == "linkat" { links.withLock { $0 += 1 } }
        return nil
      }
      try await device.sync(remote(calls))
      return links.withLock { links in
        defer { links = 0 }
        return links
      }
    }
    #expect(try await round() == 2)
    #expect(try await left() == [])
    for _ in 0..<2 {
      try device.reopen()
      #expect(try await round() == 0)
    }
    device.store.close()
    let other = try Device(in: scratch.path, "other", seed: 2)
    let calls = FolderCalls { "\($0)" == "linkat" ? .before(EPERM) : nil }
    #expect(try await other.sync(remote(calls)).isInSync)
    #expect(try await left() == [])
    other.store.close()
  }

  @Test("who may not write there, or has no room, reads without it", arguments: [EACCES, EROFS, ENOSPC])
  func readers(_ number: Int32) async throws {
    let made = try await FolderRemote.create(directory: path)
    let writer = try Device(in: scratch.path, "w", seed: 1)
    try await writer.set("title", of: "first", to: 1)
    try await writer.sync(made)
    writer.store.close()
    for isReadOnly in [false, true] {
      let writes = Mutex(0)
      let calls = FolderCalls { call in
        guard ["write", "linkat", "renameat", "renameat2", "unlinkat"].contains("\(call)") else { return nil }
        writes.withLock { $0 += 1 }
        return .before(number)
      }
      let reader = try Device(in: scratch.path, "r \(isReadOnly)", seed: isReadOnly ? 3 : 2)
      #expect(try await reader.sync(remote(calls, isReadOnly: isReadOnly)).isInSync)
      #expect(try reader.recordNames().count == 1)
      #expect((writes.withLock { $0 } == 0) == isReadOnly)
      reader.store.close()
    }
  }

  @Test(
    "if a call of it fails, the store belongs to no remote, and the next round does it again",
    arguments: [false, true])
  func fails(isAfter: Bool) async throws {
    _ = try await FolderRemote.create(directory: path)
    var (number, failures) = (1, 0)
    while true {
      let device = try Device(in: scratch.path, "d\(number)", seed: UInt64(number))
      defer { device.store.close() }
      let plan = FolderFaults.Plan()
      plan.fail(number, isAfter: isAfter)
      let failing = remote(FolderCalls { _ in plan.register() })
      do throws(RemoteError) {
        try await failing.probe()
      } catch {
        failures += 1
        #expect(error.code == .unreachable, "\(error)")
      }
      if plan.count < number { break }
      plan.fail(0, isAfter: false)
      #expect(try await device.sync(failing).isInSync)
      number += 1
    }
    #expect(failures > 10, "so few failures test nothing")
    // A file that could not be removed goes after a day: its name says what it is.
    for path in try await left() { #expect(IncarnationID(String(path.dropFirst(4))) != nil, "\(path)") }
  }
}
