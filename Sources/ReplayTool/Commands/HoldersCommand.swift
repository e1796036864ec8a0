import ArgumentParser
import EventStore

/// `replay holders`: who refers to a record.
struct HoldersCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "holders", abstract: "Lists the records that refer to a record.",
    discussion: """
      The record itself need not exist. If it was moved to its zone, those that name a former place of it are listed \
      too, with what they name. Holders that a cascade hides are not listed: `replay state --hidden` shows them.

      Example: replay holders notes.store travel:post-1
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The record that is referred to, as zone:name.")
  var record: String

  @Option(help: ArgumentHelp("Only records of this zone.", valueName: "zone"))
  var zone: String?

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let record = try Inputs.record(record)
    let zone = try zone.map(Inputs.zone)
    let opened = try store.openForReading(console)
    defer { opened.close() }
    let holders = try opened.read { transaction in
      if let zone { try Inputs.check(zone, in: transaction) }
      return try transaction.holders(of: record, in: zone)
    }
    if holders.isEmpty, !store.json {
      try console.output.line(console.output.styled("nothing refers to it", .quiet))
    }
    var columns = Columns(console.output)
    for holder in holders {
      if console.isInterrupted() { throw Interrupted() }
      if store.json {
        try console.output.line(holder.json)
      } else {
        try columns.add([
          .init(Display.record(holder.record)), .init(Display.name(holder.field)),
          .init("\(holder.kind)", .quiet), .init("\(holder.rule)", .quiet),
          .init(holder.target == record ? "" : "as \(Display.record(holder.target))", .quiet),
        ])
      }
    }
    try columns.flush()
    return nil
  }
}

extension Holder {
  /// `{"field":"…","kind":"…","record":"zone:name","rule":"…","target":"zone:name"}`.
  fileprivate var json: JSON {
    .object([
      "record": .text(record), "field": .text(field), "kind": .string("\(kind)"),
      "rule": .string("\(rule)"), "target": .text(target),
    ])
  }
}
