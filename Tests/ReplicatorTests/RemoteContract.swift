import RemoteService
import Synchronization
import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

/// The remotes that follow the contract; each check creates a new one.
enum RemoteKind: String, CaseIterable {
  case memory, folder
  /// A server in the same process, over a remote in memory: each client sends requests.
  case gateway
  /// Two servers over one folder.
  case servers

  /// Opens a new remote with this many clients.
  func make(_ doors: Int) async throws -> [any RemoteLog] {
    switch self {
    case .memory:
      let clock = Atomic<UInt64>(1_700_000_000_000)
      let remote = MemoryRemote(identity: RemoteID(rawValue: 1)) {
        clock.add(1, ordering: .relaxed).newValue
      }
      return (0..<doors).map { _ in remote.reopened() }
    case .folder:
      let directory = TemporaryDirectory()
      _ = try await FolderRemote.create(directory: directory.path + "/remote")
      var opened: [any RemoteLog] = []
      for _ in 0..<doors {
        opened.append(
          KeptFolder(try await FolderRemote.open(directory: directory.path + "/remote"), directory))
      }
      return opened
    case .gateway:
      let service = RemoteService(try await Self.memory.make(1)[0])
      return try (0..<doors).map { _ in try service.door() }
    case .servers:
      let services = try await Self.folder.make(2).map { RemoteService($0) }
      return try (0..<doors).map { try services[$0 % 2].door() }
    }
  }
}

/// A folder remote that keeps its folder alive.
struct KeptFolder: ForwardingRemote {
  let remote: any RemoteLog
  private let directory: TemporaryDirectory

  init(_ remote: FolderRemote, _ directory: TemporaryDirectory) {
    self.remote = remote
    self.directory = directory
  }
}

@Suite("The contract of remotes")
struct RemoteContract {
  @Test("is followed", arguments: RemoteKind.allCases, RemoteLogConformance.checks.indices)
  func isKept(_ kind: RemoteKind, _ index: Int) async throws {
    try await RemoteLogConformance { try await kind.make($0) }.run(RemoteLogConformance.checks[index])
  }

  @Test(
    "is followed if entries are damaged", arguments: RemotePlace.Kind.allCases,
    RemoteLogConformance.damageChecks.indices)
  func isKeptWithDamage(_ kind: RemotePlace.Kind, _ index: Int) async throws {
    let scratch = TemporaryDirectory()
    let conformance = RemoteLogConformance(damageable: { doors in
      let place = try await RemotePlace(kind, in: scratch.path)
      return ((0..<doors).map { _ in place.remote }, { try await place.damage($0, $1, $2) })
    })
    try await conformance.run(RemoteLogConformance.damageChecks[index])
  }

  @Test(
    "is followed through a server if entries are damaged",
    arguments: RemoteLogConformance.damageChecks.indices)
  func isKeptByAServerWithDamage(_ index: Int) async throws {
    let conformance = RemoteLogConformance(damageable: { doors in
      let place = try await RemotePlace(.memory, in: "")
      let service = RemoteService(place.remote)
      return (try (0..<doors).map { _ in try service.door() }, { try await place.damage($0, $1, $2) })
    })
    try await conformance.run(RemoteLogConformance.damageChecks[index])
  }

  @Test(
    "is followed if entries are damaged, on a bad network", arguments: RemotePlace.Kind.allCases,
    RemoteLogConformance.damageChecks.indices)
  func isKeptWithDamageOnABadNetwork(_ kind: RemotePlace.Kind, _ index: Int) async throws {
    let scratch = TemporaryDirectory()
    let conformance = RemoteLogConformance(
      seed: 4, triesMax: 200,
      damageable: { doors in
        let place = try await RemotePlace(kind, in: scratch.path)
        let faulty: [any RemoteLog] = (0..<doors).map { FaultyRemote(place.remote, seed: UInt64($0) + 4) }
        return (faulty, { try await place.damage($0, $1, $2) })
      })
    try await conformance.run(RemoteLogConformance.damageChecks[index])
  }

  @Test("requires a way to damage entries")
  func needsDamage() async throws {
    await #expect(throws: RemoteLogConformance.Failure.self) {
      try await RemoteLogConformance { try await RemoteKind.memory.make($0) }
        .run(RemoteLogConformance.damageChecks[0])
    }
  }

  @Test(
    "is followed on a bad network", arguments: RemoteKind.allCases, WideTests.choose(1...3, otherwise: 1...1))
  func isKeptOnABadNetwork(_ kind: RemoteKind, _ seed: UInt64) async throws {
    let faults = Mutex<[FaultyRemote]>([])
    for check in RemoteLogConformance.checks {
      try await RemoteLogConformance(seed: seed, triesMax: 200) { doors in
        let random = SeededRandom(seed: seed)
        return try await kind.make(doors).enumerated().map { number, door in
          var stream = random.stream(UInt64(number))
          let faulty = FaultyRemote(door, seed: stream.next())
          faults.withLock { $0.append(faulty) }
          return faulty
        }
      }.run(check)
    }
    let count = faults.withLock { $0.reduce(0) { $0 + $1.faults } }
    #expect(count > 100, "so few faults test nothing")
  }
}
