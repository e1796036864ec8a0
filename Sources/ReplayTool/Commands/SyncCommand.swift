import ArgumentParser
import EventStore
import OperationFormat
import Replicator
import Synchronization

/// `replay sync`: syncs a store with a remote.
struct SyncCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Syncs a store with a remote: once, or continuously.",
    discussion: """
      It changes the store and the remote. Attached zones are sent, and the zones of the remote appear here. A local zone is \
      sent when it is attached, with its whole history. If a run is interrupted, the next one continues. It ends with 1 if a \
      zone could not be synced or an asset is damaged, with 4 if the remote cannot be used.

      Examples:
        replay sync notes.store --remote folder:/mnt/team/notes
        replay sync notes.store --remote folder:/mnt/team/notes --create-remote --attach shopping
        replay sync copy.store --remote folder:/mnt/team/notes --create-store
        replay sync small.store --remote folder:/mnt/team/notes --create-store --attached --attach shopping

      A server that wants a secret gets that of the environment variable TRIBUTARY_SECRET.
        replay sync notes.store --remote https://sync.example.org

      A store belongs to the remote that it was first synced with. If that is lost, or the team moves to another one, \
      --leave-remote lets it belong to the one given, which gets what it lacks of the store's zones. Do that with each store.
        replay sync notes.store --remote folder:/mnt/new/notes --create-remote --leave-remote

      If a remote was tampered with and repaired, or was restored from an old copy, --reread lets a store read a zone's log \
      again. What the store had rejected there, or had read otherwise, no longer counts. What others wrote and the log does \
      not have is removed here too. What was written here is kept, and sent. Only then is the store as a new one would be. If \
      several stores have what a remote lost, let the store that wrote it read first. Otherwise a removal or a replacement \
      may be sent before what it removes: it then has no effect, and what it removed is back.
        replay sync notes.store --remote folder:/mnt/team/notes --reread shopping@12

      A store may have imported transactions of another store that it must send. It cannot send them if the remote has closed \
      the other store's lane, or has another branch of it. If the other store still syncs, it sends all of them again itself: \
      use --let-go. If that store is gone, or has lost them: use --take-over. If both send them, they count twice. Edits made \
      here of texts and lists that --let-go drops do not apply when those come again: removed parts are back, and inserted \
      parts appear twice. Check them afterwards.
      """)

  @OptionGroup var store: StoreOptions

  @Option(
    help: ArgumentHelp("The remote: folder:DIR, s3://BUCKET/PREFIX or http://HOST:PORT.", valueName: "remote")
  )
  var remote: String

  @Option(name: .long, help: ArgumentHelp("Only this zone; may be given more than once.", valueName: "zone"))
  var zone: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Sync this zone from now on, as `replay zone attach` does: one of the store, or of the remote; may be given more than "
        + "once.",
      valueName: "zone"))
  var attach: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Read this zone's log again, from an offset or its start; may be given more than once.",
      valueName: "zone[@offset]"))
  var reread: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Send as this store's what another store wrote in this zone and the remote refuses.",
      valueName: "zone"))
  var takeOver: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Drop what another store wrote in this zone and the remote refuses. Edits made here of its texts and lists do not "
        + "apply when it comes again.",
      valueName: "zone"))
  var letGo: [String] = []

  @Flag(
    help: ArgumentHelp(
      "Continue until interrupted: sync whenever something changes here or there. If the remote is missing, it waits; "
        + "a store that was never synced ends, since the address may be wrong."))
  var watch = false

  @Flag(
    help: "Sync only the zones that are attached here: other zones of the remote are listed, and not fetched."
  )
  var attached = false

  @Flag(
    help: ArgumentHelp(
      "Leave the remote that the store belongs to, and belong to this one: it gets what it lacks of the zones here. Use it "
        + "if the former remote is lost, or the team moves to another one."))
  var leaveRemote = false

  @Flag(help: "Create the remote if there is none.")
  var createRemote = false

  @Flag(help: "Create the store if there is none.")
  var createStore = false

  var places: HintPlaces { HintPlaces(store: store.directory, remote: remote) }
  var hintIfInterrupted: String { Self.hintIfKept }

  func validate() throws {
    guard !attached || zone.isEmpty else {
      throw ValidationError("Give zones with --zone, or --attached: not both.")
    }
    guard Set(takeOver + letGo).count == takeOver.count + letGo.count else {
      throw ValidationError(
        "Give each zone once, to --take-over or to --let-go: what is dropped cannot be taken over.")
    }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let chosen = try zone.map(Inputs.zone)
    let toAttach = try attach.map(Inputs.zone)
    let reread = try reread.map(RereadArgument.init)
    let closed =
      try takeOver.map { (try Inputs.zone($0), ClosedLaneAnswer.takeOver) }
      + letGo.map { (try Inputs.zone($0), .letGo) }
    let address = try RemoteAddress(remote)
    let opened = try await openStore(address, console)
    defer { opened.close() }
    // Opens the remote before anything changes here. A store that has a remote does not get a new one: if the
    // disk of its remote is not mounted, an empty folder must stay empty.
    let own = try opened.syncState().databaseToken?.remote
    guard let log = try await openWaiting(address, own: leaveRemote ? nil : own, console) else { return nil }
    if leaveRemote, let own, try await log.zoneEvents(after: nil).token.remote != own {
      try await opened.leaveRemote()
    }
    var configuration = ReplicatorConfiguration()
    configuration.makeRandom = console.makeRandom
    if !toAttach.isEmpty {
      try await checkKnown(toAttach, opened, log, configuration, console)
      let pauses = try opened.read { try $0.pauses() }
      try await opened.write { tx in
        for zone in toAttach { try tx.attachZone(zone, pausedBy: pauses[zone]) }
      }
    }
    for place in reread { try await place.begin(opened, log) }
    for (zone, answer) in closed {
      try opened.read { transaction in
        try Inputs.check(zone, in: transaction)
        guard try transaction.changeToken(of: zone) == nil else { return }
        throw ToolError(
          "zoneUnknown",
          "zone “\(Display.zone(zone))” was never synced: the remote has not refused anything of it",
          hint: "attach it and sync it first: `replay zone attach STORE \(Display.zone(zone).argument)`",
          exit: .input)
      }
      guard try await opened.settleClosedLanes(of: zone, answer) == 0 else { continue }
      throw ToolError(
        "laneClosed", "the remote takes all that this store has to send of zone “\(Display.zone(zone))”",
        hint: "sync without --take-over and --let-go", exit: .input)
    }
    let replicator = LogReplicator(
      store: opened, remote: log,
      zones: attached ? .attached : chosen.isEmpty ? .all : .only(Set(chosen)),
      configuration: configuration)
    let page = SyncPage(
      output: console.output, printsJSON: store.json, places: places, listsOffered: attached,
      offered: { try opened.read { try $0.zones(.offered) } })
    // The round may have received a new zone of the remote. A zone in the report is known, even if it was
    // deleted since.
    let check: @Sendable (SyncReport) throws -> Void = { report in
      guard report.failure == nil else { return }
      let reported = Set(report.zones.map(\.zone))
      try opened.read { transaction in
        for zone in chosen where !reported.contains(zone) { try Inputs.check(zone, in: transaction) }
      }
    }
    if watch { return try await keepSyncing(replicator, page, console, checkFirst: check) }
    var report = try await syncOnce(replicator, console)
    // The only problem is a zone that neither side has: the error message is enough.
    if report.zones.isEmpty { try check(report) }
    try opened.read { try report.dropSettledConflicts($0) }
    try page.print(report)
    try check(report)
    // The event that says that a log is open again came after the list was read.
    if report.zones.contains(where: { $0.reopened != nil }) { _ = try await syncOnce(replicator, console) }
    return report.exit
  }

  /// Throws unless the store has the zones, or the remote offers them. If the store does not know one, it reads the remote's
  /// list of zones first, and nothing else: a new store knows none, and others may have made it since the last round.
  private func checkKnown(
    _ zones: [ZoneID], _ opened: LocalStore, _ log: any RemoteLog, _ configuration: ReplicatorConfiguration,
    _ console: Console
  ) async throws {
    func check() throws { try opened.read { try Inputs.check(zones, in: $0, orOffered: true) } }
    let failure: SyncFailure?
    do {
      return try check()
    } catch let error as ToolError where error.code == StoreError.Code.zoneUnknown.rawValue {
      let list = LogReplicator(store: opened, remote: log, zones: .only([]), configuration: configuration)
      failure = try await syncOnce(list, console).failure
    }
    do {
      try check()
    } catch let error as ToolError where error.code == StoreError.Code.zoneUnknown.rawValue {
      // Its list may not have been read.
      if let failure { throw ToolError(failure) }
      throw ToolError(error.code, "\(error.message), nor has the remote", hint: error.hint, exit: error.exit)
    }
  }

  /// - Parameter own: the remote that the store is synced with; nil if it has none.
  private func open(
    _ address: RemoteAddress, own: RemoteID?, _ console: Console
  ) async throws -> any RemoteLog {
    do {
      return try await address.open(creates: createRemote && own == nil, console)
    } catch {
      if own == nil, !createRemote, [.unreachable, .notARemote].contains(error.code) {
        let told = ToolError(error)
        throw ToolError(
          told.code, told.message, hint: "\(told.hint). Add --create-remote to create a new one there",
          exit: told.exit)
      }
      guard createRemote, let own else { throw error }
      throw ToolError(
        "remoteChanged",
        "this store belongs to remote \(own), and another one is not created: \(error.message)",
        hint:
          "give the address of that remote, or mount its disk. If it is gone for good, add --leave-remote: the store then "
          + "belongs to this one, and puts there what it has", exit: .remote)
    }
  }

  /// How long `--watch` waits before it looks for a missing remote again, in milliseconds.
  private static let waitMilliseconds: Int64 = 2_000

  /// Opens the remote. If the store has a remote, `--watch` waits for it: its disk may be mounted later. If
  /// the store has none, the command ends: its address may be wrong.
  ///
  /// - Returns: nil if the user interrupted the command before.
  private func openWaiting(
    _ address: RemoteAddress, own: RemoteID?, _ console: Console
  ) async throws -> (any RemoteLog)? {
    var hasTold = false
    while watch, own != nil {
      do {
        return try await address.open(creates: false, console)
      } catch {
        guard [.unreachable, .notARemote, .later].contains(error.code) else { break }
        if !hasTold {
          try console.errors.line("waiting for the remote: \(Display.plain(error.message))")
          try console.errors.flush()
        }
        hasTold = true
        try await Self.pause(console)
        if console.isInterrupted() { return nil }
      }
    }
    return try await open(address, own: own, console)
  }

  private static func pause(_ console: Console) async throws {
    var left = waitMilliseconds
    try await Console.wait(while: {
      left -= 100
      return left > 0 && !console.isInterrupted()
    })
  }

  /// Opens the store. Creates it only for a remote that exists, or is created with it.
  private func openStore(_ address: RemoteAddress, _ console: Console) async throws -> LocalStore {
    do {
      return try store.openForWriting(console, creates: createStore && createRemote)
    } catch let error as ToolError where error.code == StoreError.Code.notAStore.rawValue {
      guard createStore else {
        throw ToolError(
          error.code, error.message, hint: "\(error.hint). Add --create-store to create one there",
          exit: error.exit)
      }
      if !createRemote { _ = try await open(address, own: nil, console) }
      return try store.openForWriting(console, creates: true)
    }
  }

  private func syncOnce(_ replicator: LogReplicator, _ console: Console) async throws -> SyncReport {
    try await console.untilInterrupted { try await replicator.syncOnce() }
  }

  /// - Parameter checkFirst: called with each round's report, after it is printed, until a round has
  ///   succeeded. Its error ends the command.
  private func keepSyncing(
    _ replicator: LogReplicator, _ page: SyncPage, _ console: Console,
    checkFirst: @escaping @Sendable (SyncReport) throws -> Void
  ) async throws -> ToolError.Exit? {
    let watched = Watched()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        await replicator.run { report in
          do {
            let isFirst = watched.isFirst(report)
            if isFirst, report.zones.isEmpty { try checkFirst(report) }
            if try page.printNews(report, after: watched.replaceReport(with: report)) {
              try console.output.flush()
            }
            if isFirst { try checkFirst(report) }
          } catch {
            watched.note(error)
          }
        }
      }
      try await Console.wait(while: { !console.isInterrupted() && watched.error == nil })
      group.cancelAll()
    }
    if let error = watched.error { throw error }
    return nil
  }
}

/// What `--watch` keeps between rounds: the last report, and an error of printing.
private final class Watched: Sendable {
  private let state = Mutex<(report: SyncReport?, error: (any Error)?, hasSucceeded: Bool)>((nil, nil, false))

  var error: (any Error)? { state.withLock { $0.error } }

  func note(_ error: any Error) { state.withLock { $0.error = $0.error ?? error } }

  /// Whether no earlier round has completed.
  func isFirst(_ report: SyncReport) -> Bool {
    state.withLock { state in
      defer { state.hasSucceeded = state.hasSucceeded || report.failure == nil }
      return !state.hasSucceeded
    }
  }

  /// Stores a report, and returns the previous one.
  func replaceReport(with report: SyncReport) -> SyncReport? {
    state.withLock { state in
      defer { state.report = report }
      return state.report
    }
  }
}

extension SyncReport {
  /// The exit code after a round.
  var exit: ToolError.Exit? {
    if isInSync { return hasDamagedAssets ? .problem : nil }
    if failure?.isOfRemote ?? false || failures.contains(where: { $0.isOfWholeRemote }) { return .remote }
    return failures.contains { $0.isOfStore } ? .store : .problem
  }

  /// Whether an asset is damaged: another sync would not repair it.
  fileprivate var hasDamagedAssets: Bool {
    zones.contains { zone in
      zone.assetProblems.contains { problem in
        switch problem.kind {
        case .damagedHere, .damagedAtRemote: true
        case .failed(let failure): failure.code == RemoteError.Code.damagedAsset.rawValue
        case .missingHere, .missingAtRemote: false
        }
      }
    }
  }

  /// Removes from the count those conflicts that appeared during the round and were settled at its end.
  fileprivate mutating func dropSettledConflicts(_ transaction: borrowing ReadTransaction) throws {
    for index in zones.indices where zones[index].conflicts > 0 {
      guard try transaction.hasZone(zones[index].zone) else { continue }
      var present = 0
      try transaction.forEachConflict(in: zones[index].zone) { _ in
        present += 1
        return present < zones[index].conflicts
      }
      zones[index].conflicts = present
    }
  }

  /// The failures that stopped the round and its zones.
  fileprivate var failures: [SyncFailure] {
    (failure.map { [$0] } ?? [])
      + zones.compactMap { zone in
        if case .failed(let failure) = zone.status { failure } else { nil }
      }
  }
}

extension SyncFailure {
  /// Whether the whole remote could not be used, not only one zone.
  fileprivate var isOfWholeRemote: Bool {
    let codes: [RemoteError.Code] = [
      .unreachable, .later, .notARemote, .identityMismatch, .unauthenticated, .moved,
    ]
    return codes.contains { $0.rawValue == code }
  }

  /// Whether the failure that ended a round is the remote's: a later round may succeed, or somebody must act.
  fileprivate var isOfRemote: Bool {
    let codes: [RemoteError.Code] = [.denied, .overQuota, .newerFormat, .damaged]
    return isOfWholeRemote || codes.contains { $0.rawValue == code }
  }
}
