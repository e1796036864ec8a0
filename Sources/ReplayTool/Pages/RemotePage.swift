import EventStore
import OperationFormat
import Replicator

/// Prints the result of `replay remote`: what a remote holds, and its problems.
struct RemotePage {
  let audit: RemoteAudit
  let identity: RemoteID
  let foreign: [String]
  /// The steps of a repair that was done before.
  let steps: [RemoteRepair.Step]
  let snapshots: [RemoteRepair.SnapshotStep]
  /// What to do next.
  let advice: [String]
  /// The words that replace placeholders in hints.
  let places: HintPlaces

  func print(_ output: Output) throws {
    try printSteps(output)
    try output.line("remote \(identity), \(Display.count(audit.logs.count, "log"))")
    for log in audit.logs { try print(log, output) }
    for tombstone in audit.eventTombstones {
      try output.line(
        "given up  event \(tombstone.offset) of the list of zones, \(SegmentPage.text(tombstone))")
    }
    if !foreign.isEmpty { try output.line() }
    for path in foreign { try output.line("foreign  \(Display.plain(path))") }
    try output.line()
    let only = audit.onlyLogs
    for problem in audit.problems {
      try output.line(
        output.styled("problem", .loser) + "  " + Display.plain(Self.text(problem, only, places)))
    }
    if audit.problems.isEmpty {
      let left = audit.logs.reduce(0) { $0 + $1.consequences.count }
      try output.line(
        left == 0
          ? output.styled("sound", .winner)
          : "nothing to repair; readers leave out \(Display.count(left, "segment"))")
    }
    for line in advice { try output.line(Display.plain(line)) }
  }

  private func print(_ log: AuditedLog, _ output: Output) throws {
    try output.line()
    let fate = log.fate.map { " \(Self.text($0))" } ?? ""
    try output.line(output.styled("zone \(Display.zone(log.zone))", .heading) + fate)
    var columns = Columns(output, indent: 2)
    try columns.add([.init("incarnation", .quiet), .init("\(log.incarnation)")])
    if log.first > 1 {
      try columns.add([
        .init("begins", .quiet), .init("at offset \(Display.count(log.first)), with a snapshot"),
      ])
    }
    try columns.add([.init("segments", .quiet), .init(Display.count(log.segments))])
    try columns.add([.init("transactions", .quiet), .init(Display.count(log.transactions))])
    try columns.add([.init("bytes", .quiet), .init(Display.count(log.bytes))])
    if !log.snapshots.isEmpty {
      let offsets = log.snapshots.map { Display.count($0.name.offset) }.joined(separator: ", ")
      try columns.add([.init("snapshots", .quiet), .init("at offset \(offsets)")])
    }
    if log.assets + log.missingAssets.count > 0 {
      let missing = log.missingAssets.isEmpty ? "" : ", \(Display.count(log.missingAssets.count)) not there"
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
    for (index, snapshot) in log.unnamedSnapshots.enumerated() {
      let text =
        "snapshot at offset \(Display.count(snapshot.offset)), \(Display.count(snapshot.objects, "object")), "
        + "\(Display.count(snapshot.bytes, "byte"))"
      let isFirst = index == 0 && log.unnamedAssets.isEmpty
      try columns.add([.init(isFirst ? "unnamed" : "", .quiet), .init(text)])
    }
    for (index, writer) in log.writers.enumerated() {
      let text =
        "\(writer.replica), epoch \(writer.epoch), up to sequence \(Display.count(writer.lastSequence))"
        + (writer.closedAt.map { "; closed at offset \($0): readers take nothing of it from there on" } ?? "")
      try columns.add([.init(index == 0 ? "writers" : "", .quiet), .init(text)])
    }
    for offset in log.passedSeals {
      try columns.add([
        .init("made again", .quiet), .init("at offset \(offset): the log had ended there, and continues"),
      ])
    }
    for tombstone in log.givenUp {
      try columns.add([
        .init("given up", .quiet), .init("offset \(tombstone.offset), \(SegmentPage.text(tombstone))"),
      ])
    }
    if log.leftObjects > 0 {
      try columns.add([
        .init("left", .quiet),
        .init("\(Display.count(log.leftObjects, "object")), which were to go"),
      ])
    }
    for offset in log.repairs { try columns.add([.init("put back", .quiet), .init("offset \(offset)")]) }
    for left in log.consequences.prefix(Self.consequencesMax) {
      try columns.add([.init("left out", .quiet), .init("\(left.place): \(Display.plain(left.message))")])
    }
    if log.consequences.count > Self.consequencesMax {
      let rest = log.consequences.count - Self.consequencesMax
      try columns.add([.init("", .quiet), .init("and \(Display.count(rest, "segment")) more")])
    }
    try columns.flush()
  }

  /// How many left-out segments are printed; JSON has all of them.
  private static let consequencesMax = 50

  /// Prints the steps of a repair.
  private func printSteps(_ output: Output) throws {
    let only = audit.onlyLogs
    let lines =
      steps.map { ("\(Self.argument($0.place, only))", Self.text($0.outcome)) }
      + snapshots.map { (Display.plain("\($0.name)"), Self.text($0)) }
    for (place, (word, style, text)) in lines {
      try output.line(output.styled(word, style) + "  \(place)" + (text.isEmpty ? "" : ": \(text)"))
    }
    if !lines.isEmpty { try output.line() }
  }

  static func text(_ outcome: RemoteRepair.Outcome) -> (word: String, style: Style, text: String) {
    switch outcome {
    case .putBack: ("put back", .winner, "")
    case .notInStore:
      (
        "unknown", .warning,
        "the store does not have this entry: try other stores. If none has it, what was written there is lost, if anything was"
      )
    case .retired:
      ("retired", .warning, "the store has retired its history up to there: try other stores")
    case .givenUp:
      ("given up", .warning, "the store has the entry, but it was given up: other stores continue without it")
    case .replaced: ("replaced", .loser, "the remote has another segment there than the store")
    case .refused(let reason): ("refused", .loser, Display.plain(reason))
    }
  }

  private static func text(
    _ step: RemoteRepair.SnapshotStep
  ) -> (word: String, style: Style, text: String) {
    let (word, style, text) = text(step.outcome)
    let instead =
      step.isBegin
      ? "no new store can begin the zone until it is back" : "stores begin with another, or read the log"
    return switch step.outcome {
    case .putBack: (word, style, "")
    case .refused: (word, style, "\(text); \(instead)")
    default:
      (
        word, style,
        "the store cannot make this snapshot again, which is damaged: try other stores; \(instead)"
      )
    }
  }

  static func text(_ fate: ZoneFate) -> String {
    switch fate {
    case .deleted: "deleted"
    case .purged: "purged"
    case .revoked: "revoked"
    case .reset: "reset"
    }
  }

  /// A problem: its entry in the form of an option, its place unless the message has it, and the message.
  private static func text(
    _ problem: AuditProblem, _ only: Set<IncarnationID>, _ places: HintPlaces
  ) -> String {
    let message = message(problem, only, places)
    return (argument(problem, only).map { "\($0)  " } ?? "")
      + (message.contains(problem.place) ? message : "\(problem.place): \(message)")
  }

  /// The message of a problem, with commands that can be run as they are.
  fileprivate static func message(
    _ problem: AuditProblem, _ only: Set<IncarnationID>, _ places: HintPlaces
  ) -> String {
    let log = problem.entry?.log.map { Self.log($0, only) }
    return (log.map(places.of) ?? places).fill(problem.message)
  }

  /// A problem's entry in the form of an option; nil if the problem is not about an entry.
  ///
  /// - Parameter only: the logs that are the only one of their zone.
  static func argument(_ problem: AuditProblem, _ only: Set<IncarnationID>) -> String? {
    problem.entry.map { argument($0, only) }
  }

  /// An entry in the form of an option: `zone@offset`, `incarnation@offset` if the zone has several logs, or
  /// `@offset` for the list of zones.
  static func argument(_ place: EntryPlace, _ only: Set<IncarnationID>) -> String {
    "\(place.log.map { log($0, only) } ?? "")@\(place.offset)"
  }

  private static func log(_ log: EntryPlace.Log, _ only: Set<IncarnationID>) -> String {
    only.contains(log.incarnation) ? Display.zone(log.zone) : "\(log.incarnation)"
  }
}

extension RemoteAudit {
  /// - Parameter repair: the steps of a repair, and the marker, folders and manifests that it put back; nil
  ///   if no repair was requested.
  func json(
    _ identity: RemoteID, _ foreign: [String],
    _ repair: (made: [String], steps: [RemoteRepair.Step], snapshots: [RemoteRepair.SnapshotStep])?,
    advice: [String], _ places: HintPlaces
  ) -> JSON {
    let only = onlyLogs
    let logs = self.logs.map { log in
      JSON.members([
        "zone": .text(log.zone), "incarnation": .text(log.incarnation),
        "fate": log.fate.map { .string(RemotePage.text($0)) }, "segments": .number(log.segments),
        "begins": log.first > 1 ? .number(log.first) : nil,
        "snapshots": .array(log.snapshots.map { .number($0.name.offset) }),
        "transactions": .number(log.transactions), "bytes": .number(log.bytes),
        "assets": .number(log.assets), "missingAssets": .number(log.missingAssets.count),
        "missingHashes": .array(log.missingAssets.map { .text($0) }),
        "unnamedAssets": .array(
          log.unnamedAssets.map {
            .object(["hash": .text($0.hash), "objects": .number($0.objects), "bytes": .number($0.bytes)])
          }),
        "unnamedSnapshots": .array(
          log.unnamedSnapshots.map {
            .object([
              "offset": .number($0.offset), "maker": .text($0.maker), "objects": .number($0.objects),
              "bytes": .number($0.bytes),
            ])
          }),
        "leftObjects": log.leftObjects > 0 ? .number(log.leftObjects) : nil,
        "unreadable": .array(log.unreadable.map { .number($0) }),
        "putBack": .array(log.repairs.map { .number($0) }),
        "givenUp": .array(
          log.givenUp.map { .object(["offset": .number($0.offset), "tombstone": $0.json]) }),
        "madeAgain": .array(log.passedSeals.map { .number($0) }),
        "leftOut": .array(
          log.consequences.map { .object(["place": .string($0.place), "message": .string($0.message)]) }),
        "writers": .array(
          log.writers.map {
            .members([
              "replica": .text($0.replica), "epoch": .number($0.epoch),
              "lastSequence": .number($0.lastSequence),
              "segments": .number($0.segments),
              "closedAt": $0.closedAt.map { .number($0) },
            ])
          }),
      ])
    }
    return .members([
      "advice": .array(advice.map { .string($0) }),
      "repair": repair.map { repair in
        let made = repair.made.map { JSON.object(["place": .string($0), "outcome": .string("putBack")]) }
        return .array(made + repair.steps.map(\.json) + repair.snapshots.map(\.json))
      },
      "unreadableEvents": .array(unreadableEvents.map { .number($0) }),
      "givenUpEvents": .array(
        eventTombstones.map {
          .object(["offset": .number($0.offset), "tombstone": $0.json])
        }),
      "remote": .text(identity), "logs": .array(logs), "foreign": .array(foreign.map { .string($0) }),
      "problems": .array(
        problems.map { problem in
          .members([
            "place": .string(problem.place), "message": .string(RemotePage.message(problem, only, places)),
            "entry": RemotePage.argument(problem, only).map { .string($0) },
          ])
        }),
    ])
  }
}

extension RemoteRepair.Outcome {
  fileprivate var word: String {
    switch self {
    case .putBack: "putBack"
    case .notInStore: "notInStore"
    case .retired: "retired"
    case .givenUp: "givenUp"
    case .replaced: "replaced"
    case .refused: "refused"
    }
  }

  fileprivate var reason: JSON? { if case .refused(let text) = self { .string(text) } else { nil } }
}

extension RemoteRepair.Step {
  fileprivate var json: JSON {
    .members([
      "place": .text(place), "zone": place.log.map { .text($0.zone) },
      "offset": .number(place.offset), "outcome": .string(outcome.word), "reason": outcome.reason,
    ])
  }
}

extension RemoteRepair.SnapshotStep {
  fileprivate var json: JSON {
    .members([
      "place": .text(name), "zone": .text(snapshot.zone), "snapshot": .number(snapshot.offset),
      "outcome": .string(outcome.word), "reason": outcome.reason,
    ])
  }
}
