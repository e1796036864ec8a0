import ArgumentParser
import EventStore
import OperationFormat
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

      Where a remote was tampered with and put right again, or went back to an old copy, --reread lets a store read a \
      zone's log again: what it had rejected there or read otherwise counts no more, and what the log has not of what \
      others wrote goes here too. What was written here is kept, and sent. Only then it is as a new store is:
        replay sync notes.store --remote folder:/mnt/team/notes --reread shopping@12

      What a store imported and is to send for another one, it cannot send any more where the remote has closed that \
      one's lane, or has another branch of it. If the other store still syncs, it sends all of it again itself: --let-go. \
      If it is gone, or has lost it: --take-over. Where both send it, it counts twice. What was changed here of the texts and \
      lists that --let-go lets go of does not meet them when they come again: what was removed here is back, and what was \
      inserted here stands beside it. Look at these afterwards.
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

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Read this zone's log again, from an offset or from its start; may be given more than once.",
      valueName: "zone[@offset]"))
  var reread: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Send as this store's what another one wrote in this zone, and the remote does not take of it.",
      valueName: "zone"))
  var takeOver: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Let go of what another store wrote in this zone, and the remote does not take of it. Edits made here of its texts "
        + "and lists do not apply when it comes again.",
      valueName: "zone"))
  var letGo: [String] = []

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
    let reread = try reread.map(RereadArgument.init)
    let closed =
      try takeOver.map { (try Inputs.zone($0), ClosedLaneAnswer.takeOver) }
      + letGo.map { (try Inputs.zone($0), .letGo) }
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
    for place in reread { try await place.begin(opened) }
    for (zone, answer) in closed {
      guard try await opened.settleClosedLanes(of: zone, answer) == 0 else { continue }
      throw ToolError(
        "laneClosed", "the remote takes all that this store has to send of zone “\(Display.zone(zone))”",
        hint: "sync without --take-over and --let-go", exit: .input)
    }
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = console.makeRandom
    let replicator = LogReplicator(
      store: opened, remote: log, zones: chosen.isEmpty ? .all : .only(Set(chosen)),
      configuration: configuration)
    let page = SyncPage(output: console.output, printsJSON: store.json)
    if watch { return try await keepSyncing(replicator, page, console) }
    let report = try await syncOnce(replicator, console)
    // A zone of the remote may have come with the round.
    if report.failure == nil {
      try opened.read { transaction in for zone in chosen { try Inputs.check(zone, in: transaction) } }
    }
    try page.print(report)
    if report.isInSync { return nil }
    return report.failures.contains { $0.isOfRemote } ? .remote : .problem
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

  private func syncOnce(_ replicator: LogReplicator, _ console: Console) async throws -> SyncReport {
    let round = Task { try await replicator.syncOnce() }
    let watching = Task {
      try await Self.wait(while: { !console.isInterrupted() })
      round.cancel()
    }
    defer { watching.cancel() }
    do {
      return try await round.value
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

/// A zone whose log is read again, as the user names it: ZONE@OFFSET, or ZONE for its start.
private struct RereadArgument {
  var zone: ZoneID
  var offset: UInt64 = 1

  init(_ text: String) throws {
    guard let mark = text.lastIndex(of: "@"), mark > text.startIndex,
      let offset = UInt64(text[text.index(after: mark)...])
    else {
      zone = try Inputs.zone(text)
      return
    }
    guard 1...Limits.placeMax ~= offset else {
      throw ToolError.input(
        "entryInvalid", "“\(Display.plain(text))” names no offset of a log", hint: "offsets count from 1")
    }
    (zone, self.offset) = (try Inputs.zone(String(text[..<mark])), offset)
  }

  func begin(_ store: LocalStore) async throws {
    guard try await store.beginRereading(zone, from: offset) == nil else { return }
    throw ToolError(
      "zoneUnknown", "zone “\(Display.zone(zone))” was never synced: there is no log of it to read again",
      hint: "sync it first", exit: .input)
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
