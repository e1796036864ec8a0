import ArgumentParser
import EventStore

/// `replay asset`: the assets of a store.
struct AssetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "asset",
    abstract:
      "Lists the assets that a store's log names, copies one to a file, and transfers them to and from a remote.",
    discussion: """
      An asset is named by the 64 digits of its hash. The first digits are enough if no other asset's hash starts with them.

      Examples:
        replay asset list notes.store
        replay asset export notes.store 9f86d081 photo.jpg
        replay asset policy notes.store album eager
        replay asset download notes.store --remote folder:/mnt/team/notes
        replay asset upload notes.store 9f86d081 --remote folder:/mnt/team/notes
      """,
    subcommands: [
      AssetListCommand.self, AssetExportCommand.self, AssetPolicyCommand.self, AssetDownloadCommand.self,
      AssetUploadCommand.self,
    ])
}

/// `replay asset list`: the assets that the log refers to.
struct AssetListCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the assets that a store's log refers to.",
    discussion: """
      For each asset: its hash, its size in bytes, how many transactions refer to it, whether it is here, and the zones.

      Example: replay asset list notes.store --missing
      """)

  @OptionGroup var store: StoreOptions

  @Option(help: "Only the assets of this zone.")
  var zone: String?

  @Flag(help: "Only assets that are not here.")
  var missing = false

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map(Inputs.zone)
    let opened = try store.openForReading(console)
    defer { opened.close() }
    if let zone { try opened.read { try Inputs.check(zone, in: $0) } }
    var columns = Columns(console.output)
    var count = 0
    try opened.forEachAsset { asset in
      if console.isInterrupted() { throw Interrupted() }
      if missing && asset.isHere { return true }
      if let zone, !asset.zones.contains(zone) { return true }
      count += 1
      if store.json {
        try console.output.line(asset.json)
      } else {
        try columns.add([
          .init("\(asset.reference.hash)"),
          .init(Display.count(asset.reference.byteCount, "byte"), right: true),
          .init(Display.count(asset.transactions, "transaction"), .quiet),
          .init(asset.isHere ? "here" : "not here", asset.isHere ? .plain : .warning),
          .init(asset.zones.map { Display.zone($0) }.joined(separator: ", ")),
        ])
      }
      return true
    }
    try columns.flush()
    if count == 0, !store.json { try console.output.line(console.output.styled("no assets", .quiet)) }
    return nil
  }
}

/// `replay asset export`: one asset as a file.
struct AssetExportCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Copies an asset to a file, after checking its bytes against its hash.",
    discussion: "Example: replay asset export notes.store 9f86d081 photo.jpg")

  @OptionGroup var store: StoreOptions

  @Argument(help: "The hash of the asset, or enough of its first digits to identify it.")
  var hash: String

  @Argument(help: "The file to write. It appears only when it is complete.")
  var file: String

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try store.openForReading(console)
    defer { opened.close() }
    let asset = try AssetChoice(hash).find(in: opened).reference
    var reader = try opened.openAsset(asset)
    let progress = Progress(console)
    let copy = try PartialFile(file)
    var done: UInt64 = 0
    while let piece = try reader.next() {
      try copy.output.bytes(piece)
      done += UInt64(piece.count)
      try progress.update("copying", done: done, total: asset.byteCount)
    }
    try copy.finish()
    progress.end()
    if store.json {
      try console.output.line(
        .object([
          "file": .string(file), "hash": .text(asset.hash), "bytes": .number(asset.byteCount),
        ]))
    } else {
      try console.output.line(
        "wrote \(Display.count(asset.byteCount, "byte")) to \(Display.plain(file))")
    }
    return nil
  }
}

extension NamedAsset {
  fileprivate var json: JSON {
    .object([
      "hash": .text(reference.hash), "bytes": .number(reference.byteCount),
      "transactions": .number(transactions), "isHere": .bool(isHere),
      "zones": .array(zones.map { .text($0) }),
    ])
  }
}
