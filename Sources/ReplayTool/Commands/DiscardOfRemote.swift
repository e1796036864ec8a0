import EventStore
import OperationFormat
import Replicator

/// Discards what a remote has of a zone: `--purge` and `--reset`.
struct DiscardOfRemote {
  /// The zone, or the incarnation of a log.
  var name: String
  /// Whether stores are to send everything again.
  var isReset: Bool
  /// Whether it is done; else it is only said what would go.
  var writes: Bool

  private var option: String { isReset ? "--reset" : "--purge" }
  private var word: String { isReset ? "reset" : "purged" }

  func run(_ address: RemoteAddress, json: Bool, _ console: Console) async throws {
    let zone = try Inputs.zone(name)
    let remote = try address.withObjects(isReadOnly: !writes, console)
    try await remote.log.check()
    let discard = RemoteDiscard(remote, isReset: isReset)
    guard let log = try await plan(discard, zone, try await remote.log.objects.list()) else {
      throw ToolError(
        "zoneUnknown", "the remote has no open or \(word) log of the zone “\(Display.zone(zone))”",
        hint: "run the command without \(option) to see the remote's zones", exit: .input)
    }
    if writes { try await discard.run(log) }
    try json ? console.output.line(self.json(log)) : print(log, console.output)
  }

  /// - Throws: ``ToolError`` also if the zone was deleted: then the user has named the wrong one.
  private func plan(
    _ discard: RemoteDiscard, _ zone: ZoneID, _ listed: [ObjectEntry]
  ) async throws -> RemoteDiscard.Log? {
    do throws(RemoteError) {
      return try await discard.plan(zone, IncarnationID(name), listed)
    } catch {
      let isUnknown = error.code == .zoneUnknown
      throw isUnknown
        ? ToolError(error.code.rawValue, error.message, hint: error.hint, exit: .input) : ToolError(error)
    }
  }

  private func print(_ log: RemoteDiscard.Log, _ output: Output) throws {
    let count = "\(Display.count(log.objects, "file")), \(Display.count(log.bytes, "byte"))"
    let text: String
    switch (writes, log.isContinued) {
    case (true, _):
      text =
        "\(count) went: the zone is \(word), and stores "
        + (isReset ? "send everything again that they have of it" : "keep what they have of it")
    case (false, true): text = "it was \(word) before; \(count) are left, and would go"
    case (false, false):
      text =
        "\(count) would go. Stores would \(isReset ? "send again" : "keep") what they have of the zone; "
        + "what none of them has is lost"
    }
    try output.line("\(Display.zone(log.zone))  \(text)")
    if !writes, log.objects > 0 || !log.isContinued { try output.line("--write does it") }
  }

  private func json(_ log: RemoteDiscard.Log) -> JSON {
    .object([
      "action": .string(isReset ? "reset" : "purge"), "written": .bool(writes), "zone": .text(log.zone),
      "incarnation": .text(log.incarnation), "isContinued": .bool(log.isContinued),
      "objects": .number(log.objects), "bytes": .number(log.bytes),
    ])
  }
}
