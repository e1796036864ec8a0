import ArgumentParser
import EventStore

/// `replay asset policy`: shows or sets when the assets of a zone are downloaded.
struct AssetPolicyCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy", abstract: "Shows or sets when the assets of a zone are downloaded.",
    discussion: """
      lazy: when the app asks for an asset. eager: in each round of replication. The policy belongs to this store, and is not synced.

      Examples:
        replay asset policy notes.store album
        replay asset policy notes.store album eager
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The zone.")
  var zone: String

  @Argument(help: "The new policy: lazy or eager. Without it, nothing changes.")
  var policy: String?

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try Inputs.zone(zone)
    let wanted = try policy.map(Self.parse)
    let opened =
      wanted == nil ? try store.openForReading(console) : try store.openForWriting(console, creates: false)
    defer { opened.close() }
    let before = try opened.read { transaction in
      try Inputs.check(zone, in: transaction)
      return try transaction.assetPolicy(of: zone)
    }
    if let wanted, wanted != before { try await opened.setAssetPolicy(wanted, of: zone) }
    let now = wanted ?? before
    if store.json {
      try console.output.line(
        .object(["zone": .text(zone), "policy": .string("\(now)"), "changed": .bool(now != before)]))
    } else {
      let change = now == before ? "" : ", and was \(before)"
      try console.output.line(
        "\(Display.zone(zone)) is \(now)\(change): its assets are downloaded \(Self.when(now))")
    }
    return nil
  }

  private static func parse(_ text: String) throws -> AssetPolicy {
    guard let policy = AssetPolicy.allCases.first(where: { "\($0)" == text }) else {
      throw ToolError.input(
        "policyInvalid", "“\(Display.plain(text))” is no policy of assets", hint: "say lazy or eager")
    }
    return policy
  }

  private static func when(_ policy: AssetPolicy) -> String {
    switch policy {
    case .lazy: "when the app asks for them"
    case .eager: "in each round of replication"
    }
  }
}
