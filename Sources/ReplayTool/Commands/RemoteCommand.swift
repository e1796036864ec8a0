import ArgumentParser
import EventStore
import Replicator

/// `replay remote`: what a remote holds, and whether it is sound.
struct RemoteCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "remote", abstract: "Shows what a remote holds, and checks every segment and asset of it.",
    discussion: """
      It changes nothing, unless it is told to. It ends with 1 if something is wrong.

      Foreign is what does not belong to the remote, or may not be read. Foreign folders beside the remote's own are not \
      opened.

      Unnamed is what lies there of assets that no segment names: their segments are still to come, or their \
      writers are gone. Of a deleted zone it is what its deletion left.

      What a log or the list of zones lost at its end cannot be seen here: such a remote is sound by itself. The \
      stores that had read further tell it when they sync, and --repair compares the remote with one.

      What nobody can read, or is missing, holds up whoever has not read past it. --repair puts back what a store \
      has of it, also what a log or the list of zones lost at its end, the object `remote`, and the folders `logs` and \
      `zones`. Try that first, with every store that may have it. What no store has is given up with --quarantine: \
      every device takes the entry for an empty one. If something foreign got in the way of a write, nothing was ever \
      written there, and nothing is lost by it. Else the work in it is lost, and later work of its writer may be left \
      out too: whole lanes, which are listed. Neither can be taken back. A store that had read past the entry has to read the log again \
      from there: `replay sync --reread`. The last lines say how.

      Examples:
        replay remote folder:/mnt/team/lists
        replay remote folder:/mnt/team/lists --repair notes.store
        replay remote folder:/mnt/team/lists --quarantine shopping@12
        replay remote folder:/mnt/team/lists --quarantine @3        event 3 of the list of zones

      A zone that was deleted and made again has a log for each life: write INCARNATION@OFFSET there.
      """)

  @Argument(help: ArgumentHelp("The remote: folder:DIRECTORY.", valueName: "remote"))
  var address: String

  @Option(name: .long, help: "Check this zone alone.")
  var zone: String?

  @Option(
    name: .long, help: ArgumentHelp("Put back what this store has of what is lost.", valueName: "store"))
  var repair: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Give up an entry that nobody can read, and no store has.", valueName: "zone@offset"))
  var quarantine: String?

  @Option(name: .long, help: "Why an entry is given up: kept with it.")
  var note: String?

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  var printsJSON: Bool { json }
  var places: HintPlaces { HintPlaces(remote: address) }
  var hintIfInterrupted: String {
    repair != nil || quarantine != nil ? Self.hintIfKept : "nothing was changed; run it again"
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map { try Inputs.zone($0) }
    let directory = try RemoteAddress(address).directory
    if repair != nil && quarantine != nil {
      throw ToolError.input(
        "usage", "--repair and --quarantine are two things", hint: "repair first; give up what no store has")
    }
    let place = try quarantine.map { try EntryArgument($0) }
    let source = repair.map { RepairOfRemote(store: $0, zone: zone) }
    let remote: FolderRemote
    // The marker, folders and manifests that were put back.
    var made: [String] = []
    if let source {
      var isMarkerPutBack = false
      (remote, isMarkerPutBack) = try await source.open(directory, console)
      if isMarkerPutBack { made.append("remote") }
    } else if quarantine != nil {
      remote = try await FolderRemote(directory: directory)
    } else {
      // A folder that was lost is told, with all that is still there.
      let objects = FolderObjects(
        directory: directory, readsWithoutFolders: true, makeRandom: SystemEnvironment.makeRandom)
      remote = FolderRemote(objects, isReadOnly: true)
    }
    let identity = try await remote.identity()
    var steps: [RemoteRepair.Step] = []
    var givenUp: EntryPlace?
    if let source {
      let others: [String]
      (others, steps) = try await source.run(remote, console)
      made += others
    } else if let place {
      givenUp = try await place.giveUp(remote, note: note ?? "", console)
    }
    let progress = Progress(console)
    // Listed first: what is put meanwhile need not be reached.
    let objects = try await remote.objects.list()
    var audit = try await RemoteAudit(of: remote, zone: zone, objects: objects) {
      try progress.update("segments", done: $0)
    }
    let lost = try await remote.objects.missingFolders()
    audit.note(missingFolders: lost)
    let foreign = objects.filter { $0.name == nil && !$0.path.hasPrefix("tmp/") }.map(\.path)
    progress.end()
    if let zone, audit.logs.isEmpty, lost.isEmpty {
      throw ToolError(
        "zoneUnknown", "the remote has no zone “\(Display.zone(zone))”",
        hint: "run it without --zone to see the zones that are there", exit: .input)
    }
    let advice = RemoteAdvice(
      audit, remote: address, givenUp: givenUp, steps: repair.map { ($0, steps) }
    ).lines
    if json {
      let repair = source == nil ? nil : (made: made, steps: steps)
      try console.output.line(JSON(audit, identity, foreign, repair, advice: advice, places))
    } else {
      for place in made { try console.output.line(console.output.styled("put back", .winner) + "  \(place)") }
      try RemotePage(
        audit: audit, identity: identity, foreign: foreign, steps: steps, advice: advice, places: places
      )
      .print(console.output)
    }
    let isDone = steps.allSatisfy { $0.outcome == .putBack }
    return audit.problems.isEmpty && isDone ? nil : .problem
  }
}
