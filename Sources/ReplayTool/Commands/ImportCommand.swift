import ArgumentParser
import EventStore

/// `replay import`: imports a log, records, or the history of a git repository into a store.
struct ImportCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Writes an exported log, records, or a git history into a store.",
    discussion: """
      The first line shows whether the file has a log or records. A log is imported only into a store with an empty log. \
      With --assets, the store may also have all of that log already: then only missing assets are imported. That helps after \
      an import that was interrupted or met damaged files. A record is created if it does not exist; otherwise those of its \
      fields are set that differ. A missing store is created, unless nothing is imported. A record is left out if it refers \
      to an asset whose file is damaged or not in the directory; the command then ends with 1. The output names the records \
      whose fields were set. With --dry-run, nothing is written: the store must exist, and files of assets are not looked at.

      A line of records is an object with "record" (zone:name), "type", "fields" (values of registers by field) and, if \
      there are any, "merging" (fields that merge: by field an object with one member: "counter", "set", "map", "list", \
      "text" or "contributions"). Values are as printed by --json. The page “Exported lines” of EventStore's documentation \
      has the whole form. A log ends with a line that counts its lines: a log that was cut is refused.

      With --git, every commit of the first-parent history becomes a transaction, and every file a record of type “file”.

      Example: replay import copy.store notes.jsonl
      Example: replay import copy.store notes.jsonl --assets files
      Example: replay import history.store --git ~/project --zone project
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "A file of JSON lines, or - for standard input (the default).")
  var file: String?

  @Option(help: ArgumentHelp("Import the history of this git repository.", valueName: "directory"))
  var git: String?

  @Option(
    help: ArgumentHelp(
      "Import the files of assets from this directory, as written by `replay export --assets`.",
      valueName: "directory"))
  var assets: String?

  @Option(help: "The zone for --git; default: the name of the repository's directory.")
  var zone: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "At most this many records or commits; a log is always imported whole.", valueName: "count"))
  var limit: Int?

  @Flag(
    name: .long, help: "Say which records would be created and updated, and write nothing. For records only.")
  var dryRun = false

  var hintIfInterrupted: String { dryRun ? "nothing was changed; run it again" : Self.hintIfKept }

  func validate() throws {
    if git != nil && file != nil { throw ValidationError("Give either a file or --git.") }
    if git == nil && zone != nil { throw ValidationError("--zone needs --git: lines name their zones.") }
    if git != nil && dryRun { throw ValidationError("--dry-run is for records, not for --git.") }
    if let limit, limit < 0 { throw ValidationError("--limit must not be negative.") }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let progress = Progress(console)
    defer { progress.end() }
    let place = NewStore(directory: store.directory)
    let report: any ImportReport
    do {
      if let git {
        report = try await importGit(git, console, progress)
      } else {
        report = try await importLines(console, progress)
      }
    } catch {
      place.removeIfEmpty()
      throw error
    }
    if !report.assetFailures.isEmpty { place.removeIfEmpty() }
    progress.end()
    if store.json {
      try console.output.line(report.json)
    } else {
      for line in [report.text] + report.details { try console.output.line(line) }
    }
    try report.assetFailures.tell(
      console,
      hint: places.fill(
        "copy these files again and run the same command: it brings the assets that are missing. "
          + "`replay asset download STORE --remote REMOTE` brings assets from a remote that has them"))
    return report.assetFailures.isEmpty ? nil : .problem
  }

  private func importLines(_ console: Console, _ progress: Progress) async throws -> any ImportReport {
    if let assets { try AssetDirectory.check(assets) }
    let source =
      try file.map { $0 == "-" ? try console.input() : try DescriptorSource(path: $0) } ?? console.input()
    var lines = LineReader(source)
    // An export of a store without records is empty.
    guard let first = try lines.nextDocument() else {
      return RecordImport.Report(isDry: dryRun, isOfNothing: true)
    }
    let open = { try store.openForWriting(console, creates: true) }
    if case .object(let members) = first.json, members["record"] != nil {
      var job = RecordImport(
        open: dryRun ? { try store.openForReading(console) } : open, limit: limit ?? .max,
        progress: progress, assets: assets, isDry: dryRun)
      return try await job.run(first, &lines)
    }
    if dryRun {
      throw ToolError.input(
        "usage", "\(lines.name) is a log: --dry-run is for records",
        hint: "a log is imported into a new store; nothing there can change")
    }
    if limit != nil {
      throw ToolError.input(
        "logCut",
        "\(lines.name) is a log, which must be imported whole: a store with a part of it could not sync",
        hint: "leave --limit out: it is for records, and for commits with --git")
    }
    var job = LogImport(open: open, progress: progress, allowsPresent: assets != nil)
    var report = try await job.run(first, &lines)
    if let assets { report.assets = try await bringAssets(from: assets, console, progress) }
    return report
  }

  /// Imports the assets that an imported log refers to, if the directory has them; a remote may have the
  /// others.
  private func bringAssets(
    from directory: String, _ console: Console, _ progress: Progress
  ) async throws -> LogImport.Assets {
    let opened = try store.openForWriting(console, creates: false)
    defer { opened.close() }
    var missing: [AssetReference] = []
    try opened.forEachAsset { asset in
      if !asset.isHere { missing.append(asset.reference) }
      return true
    }
    var assets = LogImport.Assets()
    for (index, asset) in missing.enumerated() {
      try progress.update("importing assets", done: UInt64(index), total: UInt64(missing.count))
      guard AssetDirectory.has(asset, directory) else { continue }
      do {
        try await console.untilInterrupted {
          try await AssetDirectory.bring(asset, from: directory, into: opened)
        }
        assets.imported += 1
      } catch let error as Interrupted {
        throw error
      } catch {
        let error = ToolError(error)
        if AssetDirectory.isOfOneFile(error) {
          assets.failures.add(asset, error.message)
          continue
        }
        throw ToolError(
          error.code, "the log was imported; an asset was not: \(error.message)",
          hint: "\(error.hint). Then run the same command: it brings the assets that are missing",
          exit: error.exit)
      }
    }
    return assets
  }

  private func importGit(
    _ directory: String, _ console: Console, _ progress: Progress
  ) async throws -> any ImportReport {
    let repository = try GitRepository(directory)
    let name = try zone.map(Inputs.zone) ?? repository.zone()
    let total = min(try repository.commitCount(), UInt64(limit ?? .max))
    guard total > 0 else { return GitImport.Report(zone: name) }
    let clock = ImportClock()
    let opened = try store.openForWriting(console, wallMilliseconds: { clock.milliseconds })
    defer { opened.close() }
    let job = GitImport(
      repository: repository, store: opened, zone: name, clock: clock, total: total,
      progress: progress)
    return try await job.run()
  }
}
