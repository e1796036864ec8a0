import ArgumentParser
import EventStore
import OperationFormat
import Replicator

/// `replay asset download`: brings assets from a remote, also where a file that was here is gone or damaged.
struct AssetDownloadCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "download", abstract: "Brings assets from a remote: those that are not here, or one.",
    discussion: """
      A file that is here and damaged is replaced where its hash is given; without one all that are not here are asked for. \
      It ends with 1 if one did not come.

      Example: replay asset download notes.store --remote folder:/mnt/team/notes
      Example: replay asset download notes.store 9f86d081 --remote folder:/mnt/team/notes
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The hash of one asset, or its first digits.")
  var hash: String?

  @Option(help: ArgumentHelp("The remote: folder:DIR.", valueName: "remote"))
  var remote: String

  var printsJSON: Bool { store.json }
  var keepsWork: Bool { true }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    try await AssetTransfers(store: store, remote: remote, console: console).run("downloaded") { opened in
      if let hash { return [try AssetChoice(hash).find(in: opened)] }
      var missing: [NamedAsset] = []
      try opened.forEachAsset { asset in
        if !asset.isHere { missing.append(asset) }
        return true
      }
      return missing
    } move: { replicator, asset, zone in
      try await replicator.downloadAsset(asset, in: zone)
    }
  }
}

/// `replay asset upload`: puts an asset right at a remote.
struct AssetUploadCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "upload", abstract: "Puts an asset at a remote that has it damaged, or not at all.",
    discussion: """
      A sync sends what its segments name by itself: this is for what a remote has lost since. What is there and sound stays.

      Example: replay asset upload notes.store 9f86d081 --remote folder:/mnt/team/notes
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The hash of the asset, or its first digits.")
  var hash: String

  @Option(help: ArgumentHelp("The remote: folder:DIR.", valueName: "remote"))
  var remote: String

  var printsJSON: Bool { store.json }
  var keepsWork: Bool { true }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    try await AssetTransfers(store: store, remote: remote, console: console).run("uploaded") { opened in
      [try AssetChoice(hash).find(in: opened)]
    } move: { replicator, asset, zone in
      try await replicator.uploadAsset(asset, in: zone)
    }
  }
}

/// Moves assets one after the other, and tells what came of it.
private struct AssetTransfers {
  let store: StoreOptions
  let remote: String
  let console: Console

  /// - Parameters:
  ///   - verb: what is done to them.
  ///   - choose: which to move.
  ///   - move: moves one in one of its zones.
  func run(
    _ verb: String, _ choose: (LocalStore) throws -> [NamedAsset],
    move: @escaping @Sendable (LogReplicator, AssetReference, ZoneID) async throws -> Void
  ) async throws -> ToolError.Exit? {
    let address = try RemoteAddress(remote)
    let opened = try store.openForWriting(console, creates: false)
    defer { opened.close() }
    let log = try await address.open(creates: false, makeRandom: console.makeRandom)
    // Of another remote than the store's own this throws.
    _ = try await log.zoneEvents(after: try opened.syncState().databaseToken)
    let replicator = LogReplicator(store: opened, remote: log)
    var moved: [AssetReference] = []
    var problems: [AssetProblem] = []
    for asset in try choose(opened) {
      // Where several zones name it, each has it for itself.
      let zones = try opened.read { tx in try asset.zones.filter { try tx.changeToken(of: $0) != nil } }
      guard !zones.isEmpty else {
        throw ToolError.input(
          "zoneUnknown", "no zone that names asset \(asset.reference.hash) was ever synced",
          hint: "sync the store first: `replay sync \(store.directory) --remote \(remote) --attach ZONE`")
      }
      do {
        for zone in zones {
          try await console.untilInterrupted { try await move(replicator, asset.reference, zone) }
        }
        moved.append(asset.reference)
      } catch let problem as AssetProblem {
        problems.append(problem)
      }
    }
    try print(verb, moved, problems)
    return problems.isEmpty ? nil : .problem
  }

  private func print(_ verb: String, _ moved: [AssetReference], _ problems: [AssetProblem]) throws {
    let bytes = moved.reduce(UInt64(0)) { $0 &+ $1.byteCount }
    if store.json {
      return try console.output.line(
        .object([
          Name(verb): .array(moved.map { .text($0.hash) }), "bytes": .number(bytes),
          "problems": .array(
            problems.map { .object(["hash": .text($0.reference.hash), "message": .string("\($0)")]) }),
        ]))
    }
    for problem in problems { try console.output.line(SyncPage.text(problem, remote: remote)) }
    try console.output.line(
      moved.isEmpty
        ? "\(verb) nothing"
        : "\(verb) \(Display.count(moved.count, "asset")), \(Display.count(bytes, "byte"))")
  }
}
