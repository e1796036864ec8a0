import ArgumentParser
import EventStore
import OperationFormat
import Replicator

/// `replay zone`: which zones a store syncs.
struct ZoneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "zone", abstract: "Lists a store's zones, and says which are synced.",
    discussion: """
      attach lets a zone be synced: a local one, one that the remote offers, or one that was detached before. detach ends the \
      sync of a zone, and keeps it here as a local one. evict removes the copy of a zone here, and leaves it at the remote. \
      delete removes it in every store; the remote keeps its log, closed.

      A zone is paused if its log at the remote has ended, because another store deleted it or the remote discarded it, and \
      something here was never sent. attach brings it back for everybody, detach keeps it here as a local one, delete removes it.

      Examples:
        replay zone list notes.store
        replay zone detach notes.store shopping
        replay zone evict notes.store archive
      """,
    subcommands: [
      ZoneListCommand.self, ZoneAttachCommand.self, ZoneDetachCommand.self, ZoneEvictCommand.self,
      ZoneDeleteCommand.self,
    ])
}

/// `replay zone list`: the zones of a store, and those that its remote offers.
struct ZoneListCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the zones of a store, and those that its remote offers.",
    discussion: """
      For each zone: its attachment, and how many transactions wait to be sent. local: only here. attached: synced. offered: at \
      the remote, and not here. deleting: deleted here, and the remote does not know yet. A zone whose log at the remote has \
      ended is paused: the line says why, and what to do.

      Example: replay zone list notes.store
      """)

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try store.openForReading(console)
    defer { opened.close() }
    let (zones, pauses) = try opened.read { (try $0.syncState().zones, try $0.pauses()) }
    var columns = Columns(console.output)
    for zone in zones {
      let pause = zone.attachment == .attached ? pauses[zone.zone] : nil
      if store.json {
        try console.output.line(
          .members([
            "zone": .text(zone.zone), "attachment": .string("\(zone.attachment)"),
            "pending": .number(zone.pending), "paused": pause.map { .string($0.word) },
          ]))
      } else {
        let waits = zone.attachment == .attached && zone.pending > 0
        try columns.add(
          [
            .init(Display.zone(zone.zone)), .init("\(zone.attachment)", .quiet),
            .init(waits ? "\(Display.count(zone.pending, "transaction")) to send" : ""),
            .init(pause == nil ? "" : "paused", .warning),
          ], below: pause.map { ["  \($0.message). \($0.hint(places))"] } ?? [])
      }
    }
    try columns.flush()
    if zones.isEmpty, !store.json { try console.output.line(console.output.styled("no zones", .quiet)) }
    return nil
  }
}

/// `replay zone attach`: lets zones be synced.
struct ZoneAttachCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "attach", abstract: "Lets zones be synced from now on.",
    discussion: """
      The next sync sends a local zone with its whole history, and fetches one that the remote offers. A zone that was \
      detached continues; if its log was deleted at the remote since, the next sync makes it again there, for everybody. So it \
      does with a zone that is paused.

      Example: replay zone attach notes.store shopping
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The zones.")
  var zones: [String]

  func run(_ console: Console) async throws -> ToolError.Exit? {
    try await store.change(zones, .attached, console) { try $0.attachZone($1, pausedBy: $2) }
  }
}

/// `replay zone detach`: makes zones local.
struct ZoneDetachCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "detach", abstract: "Ends the sync of zones: they stay here as local ones.",
    discussion: """
      The remote and other stores keep theirs. What waits to be sent is kept, and sent if the zone is attached again.

      Example: replay zone detach notes.store shopping
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The zones.")
  var zones: [String]

  func run(_ console: Console) async throws -> ToolError.Exit? {
    try await store.change(zones, .local, console) { tx, zone, _ in try tx.detachZone(zone) }
  }
}

/// `replay zone evict`: removes zones here, and nowhere else.
struct ZoneEvictCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "evict", abstract: "Removes the copies of zones here, and leaves the zones at the remote.",
    discussion: """
      The zones must be in sync: nothing that the remote does not have is removed. They are listed as offered from then on, and \
      attach lets them be fetched again. A program that syncs all zones of the remote fetches them in its next round.

      Example: replay zone evict notes.store archive
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The zones.")
  var zones: [String]

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let exit = try await store.change(zones, .offered, console) { tx, zone, _ in try tx.evictZone(zone) }
    let opened = try store.openForWriting(console, creates: false)
    defer { opened.close() }
    _ = try await opened.reclaim { _ in if console.isInterrupted() { throw Interrupted() } }
    return exit
  }
}

/// `replay zone delete`: removes zones everywhere.
struct ZoneDeleteCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes zones with all their records and history, here and in every other store.",
    discussion: """
      The next sync closes the log of a synced zone at the remote. So the zone goes in every other store, unless something in \
      it was never sent there. The remote keeps the log, without assets and snapshots: a store that was away reads it to its end, \
      and one that brings the zone back continues it. If nothing is to stay there, use `replay remote --purge` first, and delete \
      the zone in the stores then.

      A local zone is deleted only here; if it was synced before and detached, the remote and other stores keep it, and it is \
      offered here again. What this store has not sent is gone. To keep a copy, export the store first.

      Example: replay zone delete notes.store trip
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The zones.")
  var zones: [String]

  func run(_ console: Console) async throws -> ToolError.Exit? {
    try await store.change(zones, nil, console) { tx, zone, _ in try tx.deleteZone(zone) }
  }
}

extension StoreOptions {
  /// Changes zones in one commit, and prints what they are then: nil if they are deleted.
  fileprivate func change(
    _ names: [String], _ attachment: ZoneAttachment?, _ console: Console,
    _ body: @escaping @Sendable (inout WriteTransaction, ZoneID, PausedZone?) throws -> Void
  ) async throws -> ToolError.Exit? {
    let zones = try names.map(Inputs.zone)
    let opened = try openForWriting(console, creates: false)
    defer { opened.close() }
    let (before, pauses) = try opened.read {
      try Inputs.check(zones, in: $0, orOffered: attachment == .attached)
      return (try $0.syncState().zones, try $0.pauses())
    }
    func was(_ zone: ZoneID) -> ZoneSyncState? {
      before.first { $0.zone == zone && $0.attachment != .deleting }
    }
    if attachment == .offered, let zone = zones.first(where: { was($0)?.attachment == .local }) {
      throw notEvicted(zone)
    }
    try await opened.write { tx in for zone in zones { try body(&tx, zone, pauses[zone]) } }
    for zone in zones {
      try print(zone, was(zone), attachment, pauses[zone], console.output)
    }
    return nil
  }

  /// Prints what a zone is, and what it was.
  private func print(
    _ zone: ZoneID, _ former: ZoneSyncState?, _ attachment: ZoneAttachment?, _ pause: PausedZone?,
    _ output: Output
  ) throws {
    let was = former?.attachment
    let isResumed = attachment == .attached && pause?.fate.mayBeBroughtBack ?? false
    if json {
      return try output.line(
        .members([
          "zone": .text(zone), "attachment": attachment.map { .string("\($0)") },
          "changed": .bool(was != attachment || isResumed), "wasPaused": pause.map { .string($0.word) },
        ]))
    }
    let change: String
    if let pause, isResumed {
      change =
        ", and was paused, because \(pause.fate.endReason). The next sync makes it again there, for everybody"
    } else if was == attachment {
      change = " already" + (pause.map { ", and paused: \($0.message). \($0.fate.pauseHint)" } ?? "")
    } else {
      change = was.map { ", and was \($0)\(pause == nil ? "" : " and paused")" } ?? ""
    }
    try output.line(
      "\(Display.zone(zone)) is \(attachment.map { "\($0)" } ?? "deleted")\(change)"
        + (former?.token != nil && pause == nil ? remains(was, attachment) : ""))
  }

  /// What becomes of a synced zone elsewhere, where the user may take it for something else.
  private func remains(_ was: ZoneAttachment?, _ attachment: ZoneAttachment?) -> String {
    switch (was, attachment) {
    case (.attached, .local): ". The remote and other stores keep theirs"
    case (.attached, nil):
      ". The next sync deletes it in every other store, and closes its log at the remote, which keeps that"
    case (.local, nil): ". The remote and other stores keep theirs, and it is offered here again"
    default: ""
    }
  }

  private func notEvicted(_ zone: ZoneID) -> ToolError {
    let places = HintPlaces(store: directory).of(zone)
    return ToolError(
      "unsettled",
      "zone “\(Display.zone(zone))” is not synced: the copy here may be the only one, and is not removed",
      hint: "\(places.zoneCommand("attach")), then sync first; then it can be evicted. "
        + "\(places.zoneCommand("delete")) removes it for good")
  }
}
