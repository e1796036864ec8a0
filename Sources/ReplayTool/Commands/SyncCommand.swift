import ArgumentParser
import Replicator
import Synchronization

/// `replay sync`: syncs a store with a remote.
struct SyncCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Syncs a store with a remote: once, or on and on.",
    discussion: """
      It changes the store and the remote. Zones that are attached are shipped, and those of the remote appear here; \
      a local zone is shipped once it is attached, with all its history. Whatever cuts it short, the next run goes on.

      Examples:
        replay sync notes.store --remote folder:/mnt/team/notes
        replay sync notes.store --remote folder:/mnt/team/notes --create-remote --attach shopping
        replay sync copy.store --remote folder:/mnt/team/notes --create-store
      """)

  @OptionGroup var store: StoreOptions

  @Option(help: ArgumentHelp("The remote: folder:DIR.", valueName: "remote"))
  var remote: String

  @Option(name: .long, help: ArgumentHelp("Only this zone; may be given more than once.", valueName: "zone"))
  var zone: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp("Sync this local zone from now on; may be given more than once.", valueName: "zone"))
  var attach: [String] = []

  @Flag(help: "Go on until interrupted: sync whenever something changes here or there.")
  var watch = false

  @Flag(help: "Make the remote if there is none.")
  var createRemote = false

  @Flag(help: "Make the store if there is none.")
  var createStore = false

  var printsJSON: Bool { store.json }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let chosen = try zone.map(Inputs.zone)
    let attached = try attach.map(Inputs.zone)
    let address = try RemoteAddress(remote)
    // A store is made only for a remote that is there, or is to be made with it.
    if createStore, !createRemote {
      _ = try await address.open(creates: false, makeRandom: console.makeRandom)
    }
    let opened = try store.openForWriting(console, creates: createStore)
    defer { opened.close() }
    // The remote is opened before anything changes here. A store that has one gets no new one: where the disk of its
    // own is not mounted, an empty folder must stay empty.
    let own = try opened.syncState().databaseToken?.remote
    let log = try await open(address, own: own, console)
    if !attached.isEmpty {
      try await opened.write { tx in for zone in attached { try tx.attachZone(zone) } }
    }
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = console.makeRandom
    let replicator = LogReplicator(
      store: opened, remote: log, zones: chosen.isEmpty ? .all : .only(Set(chosen)),
      configuration: configuration)
    let page = SyncPage(output: console.output, printsJSON: store.json)
    if watch { return try await keepSyncing(replicator, page, console) }
    let exit = try await syncOnce(replicator, page, console)
    // A zone of the remote may have come with the round.
    try opened.read { transaction in for zone in chosen { try Inputs.check(zone, in: transaction) } }
    return exit
  }

  /// - Parameter own: the remote that the store was synced with; nil if it has none.
  private func open(
    _ address: RemoteAddress, own: RemoteID?, _ console: Console
  ) async throws -> any RemoteLog {
    do {
      return try await address.open(creates: createRemote && own == nil, makeRandom: console.makeRandom)
    } catch {
      guard createRemote, let own else { throw error }
      throw ToolError(
        "remoteChanged", "this store belongs to remote \(own), and is not given another: \(error.message)",
        hint: "give the address of that remote, mount its disk, or begin with an empty store", exit: .remote)
    }
  }

  private func syncOnce(
    _ replicator: LogReplicator, _ page: SyncPage, _ console: Console
  ) async throws -> ToolError.Exit? {
    let round = Task { try await replicator.syncOnce() }
    let watching = Task {
      try await Self.wait(while: { !console.isInterrupted() })
      round.cancel()
    }
    defer { watching.cancel() }
    do {
      let report = try await round.value
      try page.print(report)
      if report.isInSync { return nil }
      return report.failures.contains { $0.isOfRemote } ? .remote : .problem
    } catch is CancellationError {
      throw Interrupted()
    }
  }

  private func keepSyncing(
    _ replicator: LogReplicator, _ page: SyncPage, _ console: Console
  ) async throws -> ToolError.Exit? {
    let watched = Watched()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        await replicator.run { report in
          do {
            guard try page.printNews(report, after: watched.replaceReport(with: report)) else { return }
            try console.output.flush()
          } catch {
            watched.note(error)
          }
        }
      }
      try await Self.wait(while: { !console.isInterrupted() && watched.error == nil })
      group.cancelAll()
    }
    if let error = watched.error { throw error }
    return nil
  }

  private static func wait(while condition: () -> Bool) async throws {
    while condition() { try await SystemTimer.sleep(milliseconds: 100) }
  }
}

/// What `--watch` remembers from one round to the next: its report, and what printing came to.
private final class Watched: Sendable {
  private let state = Mutex<(report: SyncReport?, error: (any Error)?)>((nil, nil))

  var error: (any Error)? { state.withLock { $0.error } }

  func note(_ error: any Error) { state.withLock { $0.error = $0.error ?? error } }

  /// Remembers a report, and gives the one before.
  func replaceReport(with report: SyncReport) -> SyncReport? {
    state.withLock { state in
      defer { state.report = report }
      return state.report
    }
  }
}

extension SyncReport {
  /// What kept the round, and its zones, from going on.
  fileprivate var failures: [SyncFailure] {
    (failure.map { [$0] } ?? [])
      + zones.compactMap { zone in
        if case .failed(let failure) = zone.status { failure } else { nil }
      }
  }
}

extension SyncFailure {
  /// Whether the remote could not be used: it may be right the next time, or somebody must see to it.
  fileprivate var isOfRemote: Bool {
    let codes: [RemoteError.Code] = [
      .unreachable, .denied, .later, .overQuota, .notARemote, .identityMismatch, .newerFormat, .damaged,
    ]
    return codes.contains { $0.rawValue == code }
  }
}
