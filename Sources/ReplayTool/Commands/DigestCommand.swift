import ArgumentParser
import EventStore

/// `replay digest`: the digest of each zone's state.
struct DigestCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "digest",
    abstract: "Prints the digest of zones. It is equal in all stores that folded the same transactions.",
    discussion: "Example: replay digest notes.store shopping")

  @OptionGroup var store: StoreOptions

  @Argument(help: "Only this zone.")
  var zone: String?

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map(Inputs.zone)
    let opened = try store.openForReading(console)
    defer { opened.close() }
    try opened.read { transaction in
      if let zone { try Inputs.check(zone, in: transaction) }
      for zone in try zone.map({ [$0] }) ?? transaction.zones() {
        if console.isInterrupted() { throw Interrupted() }
        let digest = try transaction.digest(of: zone)
        if store.json {
          try console.output.line(.object(["zone": .text(zone), "digest": .text(digest)]))
        } else {
          try console.output.line("\(digest)  \(Display.zone(zone))")
        }
      }
    }
    return nil
  }
}
