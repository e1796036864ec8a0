import ArgumentParser
import EventStore
import OperationFormat

/// `replay zone`: which zones a store syncs.
struct ZoneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "zone", abstract: "Lists a store's zones, and says which are synced.",
    discussion: """
      attach lets a zone be synced: a local one, one that the remote offers, or one that was detached before. detach ends the \
      sync of a zone, and keeps it here as a local one. evict removes the copy of a zone here, and leaves it at the remote. \
      delete removes it everywhere.

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
      the remote, and not here. deleting: deleted here, and the remote does not know yet.

      Example: replay zone list notes.store
      """)

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try store.openForReading(console)
    defer { opened.close() }
    let zones = try opened.syncState().zones
    var columns = Columns(console.output)
    for zone in zones {
      if store.json {
        try console.output.line(
          .object([
            "zone": .text(zone.zone), "attachment": .string("\(zone.attachment)"),
            "pending": .number(zone.pending),
          ]))
      } else {
        let waits = zone.attachment == .attached && zone.pending > 0
        try columns.add([
          .init(Display.zone(zone.zone)), .init("\(zone.attachment)", .quiet),
          .init(waits ? "\(Display.count(zone.pending, "transaction")) to send" : ""),
        ])
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
      detached continues; if its log was deleted at the remote since, the next sync makes it again there, for everybody.

      Example: replay zone attach notes.store shopping
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The zones.")
  var zones: [String]

  func run(_ console: Console) async throws -> ToolError.Exit? {
    try await store.change(zones, .attached, console) { try $0.attachZone($1) }
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
    try await store.change(zones, .local, console) { try $0.detachZone($1) }
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
    let exit = try await store.change(zones, .offered, console) { try $0.evictZone($1) }
    let opened = try store.openForWriting(console, creates: false)
    defer { opened.close() }
    _ = try await opened.reclaim { _ in if console.isInterrupted() { throw Interrupted() } }
    return exit
  }
}

/// `replay zone delete`: removes zones everywhere.
struct ZoneDeleteCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Deletes zones with all their records and history, here and everywhere.",
    discussion: """
      The next sync deletes a synced zone at the remote, and so in every other store, unless something in it was never sent \
      there. A local zone is deleted only here. What this store has not sent is gone. To keep a copy, export the store first.

      Example: replay zone delete notes.store trip
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The zones.")
  var zones: [String]

  func run(_ console: Console) async throws -> ToolError.Exit? {
    try await store.change(zones, nil, console) { try $0.deleteZone($1) }
  }
}

extension StoreOptions {
  /// Changes zones in one commit, and prints what they are then: nil if they are deleted.
  fileprivate func change(
    _ names: [String], _ attachment: ZoneAttachment?, _ console: Console,
    _ body: @escaping @Sendable (inout WriteTransaction, ZoneID) throws -> Void
  ) async throws -> ToolError.Exit? {
    let zones = try names.map(Inputs.zone)
    let opened = try openForWriting(console, creates: false)
    defer { opened.close() }
    try opened.read { try Inputs.check(zones, in: $0, orOffered: attachment == .attached) }
    let before = try opened.syncState().zones
    try await opened.write { transaction in for zone in zones { try body(&transaction, zone) } }
    for zone in zones {
      let was = before.first { $0.zone == zone && $0.attachment != .deleting }?.attachment
      if json {
        try console.output.line(
          .members([
            "zone": .text(zone), "attachment": attachment.map { .string("\($0)") },
            "changed": .bool(was != attachment),
          ]))
      } else {
        let change = was.map { $0 == attachment ? " already" : ", and was \($0)" } ?? ""
        try console.output.line(
          "\(Display.zone(zone)) is \(attachment.map { "\($0)" } ?? "deleted")\(change)")
      }
    }
    return nil
  }
}
