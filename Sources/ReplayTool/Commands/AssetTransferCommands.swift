import ArgumentParser
import EventStore
import OperationFormat
import Replicator

/// `replay asset download`: downloads assets that are missing here, or whose file here is damaged.
struct AssetDownloadCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "download",
    abstract: "Downloads assets from a remote: one, or all that are missing or damaged here.",
    discussion: """
      Without a hash it reads every file that is here, to find the damaged ones. A damaged file is replaced. If several \
      zones refer to an asset, it comes from the first zone whose log at the remote has it. The command ends with 1 if an \
      asset was not downloaded.

      Example: replay asset download notes.store --remote folder:/mnt/team/notes
      Example: replay asset download notes.store 9f86d081 --remote folder:/mnt/team/notes
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The hash of one asset, or its first digits.")
  var hash: String?

  @Option(
    help: ArgumentHelp("The remote: folder:DIR, s3://BUCKET/PREFIX or http://HOST:PORT.", valueName: "remote")
  )
  var remote: String

  var places: HintPlaces { HintPlaces(store: store.directory, remote: remote) }
  var hintIfInterrupted: String { Self.hintIfKept }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let transfers = AssetTransfers(
      direction: .download, isNamed: hash != nil, store: store, places: places, console: console)
    return try await transfers.run(with: remote) { opened in
      if let hash { return [try AssetChoice(hash).find(in: opened)] }
      return try missingOrDamaged(opened, console)
    } move: { replicator, asset, zone in
      try await replicator.downloadAssetWithReport(asset, in: zone)
    }
  }

  private func missingOrDamaged(_ opened: LocalStore, _ console: Console) throws -> [NamedAsset] {
    let progress = Progress(console)
    defer { progress.end() }
    var (found, bytes) = ([NamedAsset](), UInt64(0))
    try opened.forEachAsset { asset in
      // No command shows assets that only deleted zones refer to.
      guard !asset.zones.isEmpty else { return true }
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

/// `replay asset upload`: uploads an asset that a remote lacks or has damaged.
struct AssetUploadCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "upload", abstract: "Uploads an asset that a remote lacks or has damaged.",
    discussion: """
      A sync sends the assets of its segments automatically: this command is for assets that a remote has lost since. An \
      asset that is sound at the remote stays as it is. If several zones refer to the asset, it is sent to the log of each. \
      Its file must be here.

      Example: replay asset upload notes.store 9f86d081 --remote folder:/mnt/team/notes
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The hash of the asset, or its first digits.")
  var hash: String

  @Option(
    help: ArgumentHelp("The remote: folder:DIR, s3://BUCKET/PREFIX or http://HOST:PORT.", valueName: "remote")
  )
  var remote: String

  var places: HintPlaces { HintPlaces(store: store.directory, remote: remote) }
  var hintIfInterrupted: String { Self.hintIfKept }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let transfers = AssetTransfers(
      direction: .upload, isNamed: true, store: store, places: places, console: console)
    return try await transfers.run(with: remote) { opened in
      [try AssetChoice(hash).find(in: opened)]
    } move: { replicator, asset, zone in
      do {
        return try await replicator.uploadAssetWithReport(asset, in: zone)
      } catch let problem as AssetProblem {
        throw Self.lackingHere(problem) ?? problem
      }
    }
  }

  /// The error if this store has nothing to send; nil if the problem is another one.
  private static func lackingHere(_ problem: AssetProblem) -> ToolError? {
    let hash = problem.reference.hash
    let hint =
      "`replay asset download STORE \(hash) --remote REMOTE` brings it here if the remote has it; otherwise "
      + "upload it from a store that has it, for example on another device"
    return switch problem.kind {
    case .missingHere:
      ToolError("assetMissing", "the file of asset \(hash) is not here: there is nothing to send", hint: hint)
    case .damagedHere:
      ToolError(
        "assetDamaged", "the file of asset \(hash) is damaged here: there is nothing to send", hint: hint)
    case .missingAtRemote, .damagedAtRemote, .failed: nil
    }
  }
}

/// Transfers assets one after the other, and prints the result.
private struct AssetTransfers {
  enum Direction { case download, upload }

  let direction: Direction
  /// Whether the user named the asset. If none of its zones was ever synced, that is then the user's error.
  let isNamed: Bool
  let store: StoreOptions
  let places: HintPlaces
  let console: Console

  /// What is done to the assets.
  private var verb: String { direction == .upload ? "uploaded" : "downloaded" }
  /// The word for their destination.
  private var place: String { direction == .upload ? "there" : "here" }

  /// Transfers an asset in one of its zones.
  typealias Move = @Sendable (LogReplicator, AssetReference, ZoneID) async throws -> AssetTransfer

  /// The result of the transfers.
  private struct Outcome {
    var moved: [AssetReference] = []
    /// Assets that were at their destination already.
    var present: [AssetReference] = []
    var problems: [AssetProblem] = []
    /// How many bytes were transferred.
    var bytes: UInt64 = 0
  }

  /// - Parameters:
  ///   - remote: its address.
  ///   - choose: returns the assets to transfer.
  func run(
    with remote: String, _ choose: (LocalStore) throws -> [NamedAsset], move: @escaping Move
  ) async throws -> ToolError.Exit? {
    let address = try RemoteAddress(remote)
    let opened = try store.openForWriting(console, creates: false)
    defer { opened.close() }
    let log = try await address.open(creates: false, console)
    // Throws if this is not the store's own remote.
    _ = try await log.zoneEvents(after: try opened.syncState().databaseToken)
    let replicator = LogReplicator(store: opened, remote: log)
    var outcome = Outcome()
    for asset in try choose(opened) {
      let zones = try opened.read { tx in try asset.zones.filter { try tx.changeToken(of: $0) != nil } }
      if zones.isEmpty {
        let error = neverSynced(asset)
        if isNamed { throw error }
        let failure = SyncFailure(
          code: error.code, message: error.message, hint: places.fill(error.hint), scope: .zone)
        outcome.problems.append(AssetProblem(asset.reference, .failed(failure)))
      } else {
        try await transfer(asset.reference, in: zones, replicator, &outcome, move)
      }
    }
    try print(outcome)
    return outcome.problems.isEmpty ? nil : .problem
  }

  /// Transfers an asset. Each zone's log has its own copy: a download takes it from any log, an upload sends
  /// it to all.
  private func transfer(
    _ asset: AssetReference, in zones: [ZoneID], _ replicator: LogReplicator, _ outcome: inout Outcome,
    _ move: @escaping Move
  ) async throws {
    var problems: [AssetProblem] = []
    var transfers: [AssetTransfer] = []
    for zone in zones where transfers.isEmpty || direction == .upload {
      do {
        transfers.append(try await console.untilInterrupted { try await move(replicator, asset, zone) })
      } catch let problem as AssetProblem {
        problems.append(problem)
      }
    }
    for transfer in transfers { outcome.bytes &+= transfer.bytes }
    if transfers.contains(where: { !$0.wasThere }) {
      outcome.moved.append(asset)
    } else if !transfers.isEmpty {
      outcome.present.append(asset)
    }
    switch direction {
    case .upload: outcome.problems += problems
    case .download: if transfers.isEmpty { outcome.problems += problems.prefix(1) }
    }
  }

  private func neverSynced(_ asset: NamedAsset) -> ToolError {
    let hash = asset.reference.hash
    guard let zone = asset.zones.first else {
      return .input(
        "zoneUnknown", "the zones that named asset \(hash) were deleted",
        hint: "`replay asset list STORE` says which zones name an asset")
    }
    return .input(
      "zoneUnknown", "no zone that names asset \(hash) was ever synced",
      hint: "sync one first: `replay sync STORE --remote REMOTE \(Display.option("--attach", "\(zone)"))`")
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
                "hint": SyncPage.hint(problem, remote: places.fill("REMOTE")).map { .string($0) },
              ])
            }),
        ]))
    }
    for problem in outcome.problems {
      try console.output.line(SyncPage.text(problem, remote: places.fill("REMOTE")))
    }
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
