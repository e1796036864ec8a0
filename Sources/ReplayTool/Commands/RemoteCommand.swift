import ArgumentParser
import EventStore
import Replicator

/// `replay remote`: shows what a remote holds, and checks it.
struct RemoteCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "remote", abstract: "Shows what a remote holds, and checks every segment and asset of it.",
    discussion: """
      It changes nothing, unless an option says so. It ends with 1 if something is wrong.

      Foreign files do not belong to the remote, or may not be read. Foreign folders beside the remote's own are not opened.

      Unnamed assets are files at the remote that no segment refers to: their segments are still to come, or their writers \
      are gone. In a deleted zone, they are left over from the deletion. Unnamed snapshots are files with which no store \
      begins: a snapshot that is being written, or what is left of one. They only take space, and go when a trim lets the log \
      begin behind them.

      This command cannot see what a log or the list of zones lost at its end: the rest of such a remote is sound. Stores that \
      had read further report the loss when they sync, and --repair compares the remote with such a store.

      An entry that nobody can read, or that is missing, stops every store that has not read past it. --repair puts back \
      what a store has: entries, including those that a log or the list of zones lost at its end, the object `remote`, the \
      folders `logs` and `zones`, and the files of a snapshot that the store began with or can make again, also one whose \
      manifest is wrong. Try that first, with every store that may have them. If no store has an entry, give it up with \
      --quarantine: every device then takes it as empty. If a foreign file got in the way of a write, nothing was ever written \
      there, and nothing is lost. Otherwise the work in the entry is lost, and later work of its writer may be left out too: \
      whole lanes, which are listed. This cannot be undone. A store that had read past the entry must read the log again from \
      there: `replay sync --reread`. The last lines of the output say how.

      --purge discards what the remote has of a zone: its log, snapshots and assets. Stores keep what they have, pause the \
      zone and say so; one that attaches it again, or whose app wants it, sends all that it has. So first let a store read \
      the log to its end, or keep a backup. Without --write it only says what would go. The remote keeps the log of a zone \
      that was deleted, and that is not purged: stores that were away still read it, and one that brings the zone back \
      continues it. If nothing of a zone is to stay there, purge it before you delete it.

      --reset discards the same, and asks the stores to send everything again: each does so on its own when it syncs. It is \
      for a zone that is to be made again there, such as one whose log is damaged beyond repair. The first store that syncs \
      then decides which history the remote has: its own, whole or as a snapshot; the others add what they alone have. So \
      sync a store with the whole history first. And before the reset let each store read the log to its end: one that \
      begins with a snapshot beyond what another has cannot continue what that sends (`retired`). A zone that was purged is \
      not reset, and one that was reset is not purged, until a store has sent it again.

      Examples:
        replay remote folder:/mnt/team/lists
        replay remote folder:/mnt/team/lists --purge shopping --write
        replay remote folder:/mnt/team/lists --reset shopping --write
        replay remote folder:/mnt/team/lists --repair notes.store
        replay remote folder:/mnt/team/lists --quarantine shopping@12
        replay remote folder:/mnt/team/lists --quarantine @3        event 3 of the list of zones

      A zone that was deleted and created again has a log for each incarnation: write INCARNATION@OFFSET there.
      """)

  @Argument(
    help: ArgumentHelp(
      "The remote: folder:DIRECTORY, s3://BUCKET/PREFIX, or http://HOST:PORT to check what a server shows.",
      valueName: "remote"))
  var address: String

  @Option(name: .long, help: "Check only this zone.")
  var zone: String?

  @Option(
    name: .long, help: ArgumentHelp("Put back what is lost and this store has.", valueName: "store"))
  var repair: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Give up an entry that nobody can read and no store has.", valueName: "zone@offset"))
  var quarantine: String?

  @Option(name: .long, help: "Why an entry is given up: stored with it.")
  var note: String?

  @Option(name: .long, help: ArgumentHelp("Discard what the remote has of a zone.", valueName: "zone"))
  var purge: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Discard what the remote has of a zone, and ask stores for all of it.", valueName: "zone")
  )
  var reset: String?

  @Flag(name: .long, help: "Purge or reset the zone, and do not only say what would go.")
  var write = false

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  var printsJSON: Bool { json }
  var places: HintPlaces { HintPlaces(remote: address) }
  var hintIfInterrupted: String {
    if purge ?? reset != nil, write { return "what went is gone; the next run continues" }
    return repair != nil || quarantine != nil ? Self.hintIfKept : "nothing was changed; run it again"
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map { try Inputs.zone($0) }
    let remoteAddress = try RemoteAddress(address)
    guard [repair, quarantine, purge, reset].count(where: { $0 != nil }) < 2 else {
      throw ToolError.input(
        "usage", "--repair, --quarantine, --purge and --reset exclude each other",
        hint: "repair first; then give up what no store has")
    }
    if let name = purge ?? reset {
      try await DiscardOfRemote(name: name, isReset: reset != nil, writes: write)
        .run(remoteAddress, json: json, console)
      return nil
    }
    if write {
      throw ToolError.input(
        "usage", "--write belongs to --purge and --reset", hint: "name the zone: --purge ZONE --write")
    }
    if case .server = remoteAddress.place, repair == nil, quarantine == nil {
      return try await auditServer(remoteAddress, zone, console)
    }
    let place = try quarantine.map { try EntryArgument($0) }
    let source = repair.map { RepairOfRemote(store: $0, zone: zone) }
    let remote: any LogOfObjects
    // The marker, folders and manifests that were put back.
    var made: [String] = []
    if let source {
      var isMarkerPutBack = false
      (remote, isMarkerPutBack) = try await source.open(remoteAddress, console)
      if isMarkerPutBack { made.append("remote") }
    } else if quarantine != nil {
      remote = try remoteAddress.withObjects(isReadOnly: false, console)
      try await remote.log.check()
    } else {
      // If a folder is lost, the check still reports everything else.
      remote = try remoteAddress.withObjects(isReadOnly: true, readsWithoutFolders: true, console)
    }
    let identity = try await remote.identity()
    var repaired: RepairedRemote?
    var givenUp: EntryPlace?
    if let source {
      let done = try await source.run(remote, console)
      made += done.made
      repaired = done
    } else if let place {
      givenUp = try await place.giveUp(remote, note: note ?? "", console)
    }
    let progress = Progress(console)
    // The objects are listed first, so that an object that is written meanwhile is not reported as
    // unreferenced.
    let objects = try await remote.log.objects.list()
    var audit = try await RemoteAudit(of: remote, zone: zone, objects: objects) {
      try progress.update("segments", done: $0)
    }
    let lost = try await (remote as? FolderRemote)?.objects.missingFolders() ?? []
    audit.note(missingFolders: lost)
    let foreign = objects.filter { $0.name == nil && !$0.path.hasPrefix("tmp/") }.map(\.path)
    progress.end()
    if lost.isEmpty { try checkKnown(zone, audit) }
    let (steps, snapshots) = (repaired?.steps ?? [], repaired?.snapshots ?? [])
    let advice = RemoteAdvice(
      audit, remote: address, givenUp: givenUp, repair: repaired.map { (repair ?? "", $0) }
    ).lines
    if json {
      let repair = source == nil ? nil : (made: made, steps: steps, snapshots: snapshots)
      try console.output.line(audit.json(identity, foreign, repair, advice: advice, places))
    } else {
      for place in made { try console.output.line(console.output.styled("put back", .winner) + "  \(place)") }
      try RemotePage(
        audit: audit, identity: identity, foreign: foreign, steps: steps, snapshots: snapshots,
        advice: advice, places: places
      )
      .print(console.output)
    }
    let isDone =
      steps.allSatisfy { $0.outcome == .putBack } && snapshots.allSatisfy { $0.outcome == .putBack }
    return audit.problems.isEmpty && isDone && repaired?.rereading == nil ? nil : .problem
  }

  /// Audits what a server shows: logs, snapshots and assets, and not its files.
  private func auditServer(
    _ place: RemoteAddress, _ zone: ZoneID?, _ console: Console
  ) async throws -> ToolError.Exit? {
    let remote = try await place.open(creates: false, console)
    let identity = try await remote.zoneEvents(after: nil).token.remote
    let progress = Progress(console)
    let audit = try await RemoteAudit(of: remote, zone: zone) { try progress.update("segments", done: $0) }
    progress.end()
    try checkKnown(zone, audit)
    let advice = RemoteAdvice(audit, remote: address, givenUp: nil, repair: nil).lines
    if json {
      try console.output.line(audit.json(identity, [], nil, advice: advice, places))
    } else {
      try RemotePage(
        audit: audit, identity: identity, foreign: [], steps: [], snapshots: [], advice: advice,
        places: places
      ).print(console.output)
    }
    return audit.problems.isEmpty ? nil : .problem
  }

  private func checkKnown(_ zone: ZoneID?, _ audit: RemoteAudit) throws {
    guard let zone, audit.logs.isEmpty else { return }
    throw ToolError(
      "zoneUnknown", "the remote has no zone “\(Display.zone(zone))”",
      hint: "run the command without --zone to see the remote's zones", exit: .input)
  }
}
