import EventStore
import OperationFormat
import Replicator

/// Discards what a remote has of a zone.
struct PurgeOfRemote {
  /// The zone, or the incarnation of a log.
  var name: String
  /// Whether it is done; else it is only said what would go.
  var writes: Bool

  func run(_ directory: String, json: Bool, _ console: Console) async throws {
    let zone = try Inputs.zone(name)
    let objects = FolderObjects(directory: directory, makeRandom: console.makeRandom)
    let remote = FolderRemote(objects, isReadOnly: !writes)
    _ = try await remote.identity()
    let purge = RemotePurge(remote)
    let listed = try await objects.list()
    guard let log = try await purge.plan(zone, IncarnationID(name), listed) else {
      throw ToolError(
        "zoneUnknown", "the remote has no open or purged log of the zone “\(Display.zone(zone))”",
        hint: "run the command without --purge to see the remote's zones", exit: .input)
    }
    if writes { try await purge.run(log) }
    try json ? console.output.line(self.json(log)) : print(log, console.output)
  }

  private func print(_ log: RemotePurge.Log, _ output: Output) throws {
    let count = "\(Display.count(log.objects, "file")), \(Display.count(log.bytes, "byte"))"
    let text: String
    switch (writes, log.isContinued) {
    case (true, _):
      text = "\(count) went: the zone is purged, and stores keep what they have of it"
    case (false, true): text = "it was purged before; \(count) are left, and would go"
    case (false, false):
      text =
        "\(count) would go. Stores would keep what they have of the zone; what none of them has is lost"
    }
    try output.line("\(Display.zone(log.zone))  \(text)")
    if !writes, log.objects > 0 || !log.isContinued { try output.line("--write does it") }
  }

  private func json(_ log: RemotePurge.Log) -> JSON {
    .object([
      "written": .bool(writes), "zone": .text(log.zone), "incarnation": .text(log.incarnation),
      "isContinued": .bool(log.isContinued), "objects": .number(log.objects), "bytes": .number(log.bytes),
    ])
  }
}
