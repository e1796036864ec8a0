import ArgumentParser
import EventStore
import Replicator

/// `replay remote`: what a remote holds, and whether it is sound.
struct RemoteCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "remote", abstract: "Shows what a remote holds, and checks every segment and asset of it.",
    discussion: """
      It changes nothing. It ends with 1 if something is wrong.

      Unnamed is what lies there of assets that no segment names: their segments are still to come, or their \
      writers are gone. Of a deleted zone it is what its deletion left.

      Example: replay remote folder:/mnt/team/lists
      """)

  @Argument(help: ArgumentHelp("The remote: folder:DIRECTORY.", valueName: "remote"))
  var address: String

  @Option(name: .long, help: "Check this zone alone.")
  var zone: String?

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  var printsJSON: Bool { json }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map { try Inputs.zone($0) }
    guard case .folder(let directory) = try RemoteAddress(address).kind else {
      throw ToolError.input(
        "remoteEmpty", "\(address) has nothing to show", hint: "name a folder: folder:DIRECTORY")
    }
    let remote = try await FolderRemote(directory: directory, isReadOnly: true)
    let identity = try await remote.identity()
    let progress = Progress(console)
    // Listed first: what is put meanwhile need not be reached.
    let objects = try await remote.objects.list()
    let audit = try await RemoteAudit(of: remote, zone: zone, objects: objects) {
      try progress.update("segments", done: $0)
    }
    let foreign = objects.filter { $0.name == nil && !$0.path.hasPrefix("tmp/") }.map(\.path)
    progress.end()
    if let zone, audit.logs.isEmpty {
      throw ToolError(
        "zoneUnknown", "the remote has no zone “\(Display.zone(zone))”",
        hint: "run it without --zone to see the zones that are there", exit: .input)
    }
    if json {
      try console.output.line(JSON(audit, identity, foreign))
    } else {
      try print(audit, identity, foreign, console.output)
    }
    return audit.problems.isEmpty ? nil : .problem
  }

  private func print(
    _ audit: RemoteAudit, _ identity: RemoteID, _ foreign: [String], _ output: Output
  ) throws {
    try output.line("remote \(identity), \(Display.count(audit.logs.count, "log"))")
    for log in audit.logs {
      try output.line()
      let fate = log.fate.map { " \(Self.text($0))" } ?? ""
      try output.line(output.styled("zone \(Display.zone(log.zone))", .heading) + fate)
      var columns = Columns(output, indent: 2)
      try columns.add([.init("incarnation", .quiet), .init("\(log.incarnation)")])
      try columns.add([.init("segments", .quiet), .init(Display.count(log.segments))])
      try columns.add([.init("transactions", .quiet), .init(Display.count(log.transactions))])
      try columns.add([.init("bytes", .quiet), .init(Display.count(log.bytes))])
      if log.assets + log.missingAssets > 0 {
        let missing = log.missingAssets > 0 ? ", \(Display.count(log.missingAssets)) not there" : ""
        try columns.add([.init("assets", .quiet), .init("\(Display.count(log.assets))\(missing)")])
      }
      let bytes = log.unnamedAssets.reduce(UInt64(0)) { $0 &+ $1.bytes }
      for (index, asset) in log.unnamedAssets.enumerated() {
        let text =
          "\(asset.hash), \(Display.count(asset.objects, "object")), \(Display.count(asset.bytes, "byte"))"
        try columns.add([.init(index == 0 ? "unnamed" : "", .quiet), .init(text)])
      }
      if log.unnamedAssets.count > 1 {
        try columns.add([.init("", .quiet), .init("\(Display.count(bytes, "byte")) in all")])
      }
      for (index, writer) in log.writers.enumerated() {
        let text =
          "\(writer.replica), epoch \(writer.epoch), up to sequence \(Display.count(writer.lastSequence))"
        try columns.add([.init(index == 0 ? "writers" : "", .quiet), .init(text)])
      }
      try columns.flush()
    }
    if !foreign.isEmpty { try output.line() }
    for path in foreign { try output.line("foreign  \(Display.plain(path))") }
    try output.line()
    for problem in audit.problems {
      try output.line(
        output.styled("problem", .loser) + "  " + Display.plain(Self.text(problem)))
    }
    try output.line(
      audit.problems.isEmpty
        ? output.styled("sound", .winner)
        : "Restore these files from a backup or from another copy of the folder.")
  }

  /// A problem with its place, which its message may name already.
  private static func text(_ problem: RemoteAudit.Problem) -> String {
    problem.message.contains(problem.place) ? problem.message : "\(problem.place): \(problem.message)"
  }

  fileprivate static func text(_ fate: ZoneFate) -> String {
    switch fate {
    case .deleted: "deleted"
    case .purged: "purged"
    case .reset(let incarnation): "goes on as \(incarnation)"
    }
  }
}

extension JSON {
  fileprivate init(_ audit: RemoteAudit, _ identity: RemoteID, _ foreign: [String]) {
    let logs = audit.logs.map { log in
      JSON.members([
        "zone": .text(log.zone), "incarnation": .text(log.incarnation),
        "fate": log.fate.map { .string(RemoteCommand.text($0)) }, "segments": .number(log.segments),
        "transactions": .number(log.transactions), "bytes": .number(log.bytes),
        "assets": .number(log.assets), "missingAssets": .number(log.missingAssets),
        "unnamedAssets": .array(
          log.unnamedAssets.map {
            .object(["hash": .text($0.hash), "objects": .number($0.objects), "bytes": .number($0.bytes)])
          }),
        "writers": .array(
          log.writers.map {
            .object([
              "replica": .text($0.replica), "epoch": .number($0.epoch),
              "lastSequence": .number($0.lastSequence),
              "segments": .number($0.segments),
            ])
          }),
      ])
    }
    self = .object([
      "remote": .text(identity), "logs": .array(logs), "foreign": .array(foreign.map { .string($0) }),
      "problems": .array(
        audit.problems.map { .object(["place": .string($0.place), "message": .string($0.message)]) }),
    ])
  }
}
