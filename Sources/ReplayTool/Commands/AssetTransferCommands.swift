import ArgumentParser
import EventStore
import OperationFormat
import Replicator

/// `replay asset download`: brings assets from a remote, also where a file that was here is gone or damaged.
struct AssetDownloadCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "download",
    abstract: "Brings assets from a remote: those that are not here or are damaged here, or one.",
    discussion: """
      Without a hash it reads every file that is here, to find those that are damaged. A damaged file is replaced. It ends \
      with 1 if an asset did not come.

      Example: replay asset download notes.store --remote folder:/mnt/team/notes
      Example: replay asset download notes.store 9f86d081 --remote folder:/mnt/team/notes
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The hash of one asset, or its first digits.")
  var hash: String?

  @Option(help: ArgumentHelp("The remote: folder:DIR.", valueName: "remote"))
  var remote: String

  var places: HintPlaces { HintPlaces(store: store.directory, remote: remote) }
  var hintIfInterrupted: String { Self.hintIfKept }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let transfers = AssetTransfers(
      verb: "downloaded", place: "here", store: store, remote: remote, console: console)
    return try await transfers.run { opened in
      if let hash { return [try AssetChoice(hash).find(in: opened)] }
      return try missingOrDamaged(opened, console)
    } move: { replicator, asset, zone in
      try await replicator.bringAsset(asset, in: zone)
    }
  }

  private func missingOrDamaged(_ opened: LocalStore, _ console: Console) throws -> [NamedAsset] {
    let progress = Progress(console)
    defer { progress.end() }
    var (found, bytes) = ([NamedAsset](), UInt64(0))
    try opened.forEachAsset { asset in
      let condition = try opened.checkAsset(asset.reference) { piece in
        bytes += UInt64(piece)
        try progress.update("checking assets, bytes", done: bytes)
      }
      if condition != .whole { found.append(asset) }
      return true
    }
    return found
  }
}

/// `replay asset upload`: puts an asset right at a remote.
struct AssetUploadCommand: StoreCommand {
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

  var places: HintPlaces { HintPlaces(store: store.directory, remote: remote) }
  var hintIfInterrupted: String { Self.hintIfKept }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let transfers = AssetTransfers(
      verb: "uploaded", place: "there", store: store, remote: remote, console: console)
    return try await transfers.run { opened in
      [try AssetChoice(hash).find(in: opened)]
    } move: { replicator, asset, zone in
      try await replicator.sendAsset(asset, in: zone)
    }
  }
}

/// Moves assets one after the other, and tells what came of it.
private struct AssetTransfers {
  /// What is done to them.
  let verb: String
  /// How their destination is called.
  let place: String
  let store: StoreOptions
  let remote: String
  let console: Console

  /// What came of it.
  private struct Outcome {
    var moved: [AssetReference] = []
    /// Those that had nothing to move.
    var present: [AssetReference] = []
    var problems: [AssetProblem] = []
    /// Bytes that moved.
    var bytes: UInt64 = 0
  }

  /// - Parameters:
  ///   - choose: which to move.
  ///   - move: moves one in one of its zones.
  func run(
    _ choose: (LocalStore) throws -> [NamedAsset],
    move: @escaping @Sendable (LogReplicator, AssetReference, ZoneID) async throws -> AssetTransfer
  ) async throws -> ToolError.Exit? {
    let address = try RemoteAddress(remote)
    let opened = try store.openForWriting(console, creates: false)
    defer { opened.close() }
    let log = try await address.open(creates: false, makeRandom: console.makeRandom)
    // Of another remote than the store's own this throws.
    _ = try await log.zoneEvents(after: try opened.syncState().databaseToken)
    let replicator = LogReplicator(store: opened, remote: log)
    var outcome = Outcome()
    for asset in try choose(opened) {
      // Where several zones name it, each has it for itself.
      let zones = try opened.read { tx in try asset.zones.filter { try tx.changeToken(of: $0) != nil } }
      guard !zones.isEmpty else {
        throw ToolError.input(
          "zoneUnknown", "no zone that names asset \(asset.reference.hash) was ever synced",
          hint: "sync the store first: `replay sync \(store.directory) --remote \(remote) --attach ZONE`")
      }
      do {
        var wasThere = true
        for zone in zones {
          let transfer = try await console.untilInterrupted {
            try await move(replicator, asset.reference, zone)
          }
          outcome.bytes &+= transfer.bytes
          wasThere = wasThere && transfer.wasThere
        }
        if wasThere { outcome.present.append(asset.reference) } else { outcome.moved.append(asset.reference) }
      } catch let problem as AssetProblem {
        outcome.problems.append(problem)
      }
    }
    try print(outcome)
    return outcome.problems.isEmpty ? nil : .problem
  }

  private func print(_ outcome: Outcome) throws {
    if store.json {
      return try console.output.line(
        .object([
          Name(verb): .array(outcome.moved.map { .text($0.hash) }), "bytes": .number(outcome.bytes),
          "alreadyThere": .array(outcome.present.map { .text($0.hash) }),
          "problems": .array(
            outcome.problems.map { problem in
              .members([
                "hash": .text(problem.reference.hash), "message": .string("\(problem)"),
                "hint": SyncPage.hint(problem, remote: remote).map { .string($0) },
              ])
            }),
        ]))
    }
    for problem in outcome.problems { try console.output.line(SyncPage.text(problem, remote: remote)) }
    let count = outcome.present.count
    let present =
      count > 0 ? ": \(Display.count(count, "asset")) \(count == 1 ? "is" : "are") already \(place)" : ""
    try console.output.line(
      outcome.moved.isEmpty
        ? "\(verb) nothing\(present)"
        : "\(verb) \(Display.count(outcome.moved.count, "asset")), "
          + "\(Display.count(outcome.bytes, "byte"))\(present)")
  }
}
