import ArgumentParser
import EventStore

/// `replay export`: the log, or the records, as JSON lines.
struct ExportCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Writes the log, or the records, as JSON lines.",
    discussion: """
      The log comes without loss: `replay import` makes a store with the same history from it. Records \
      come as they are now, each field with its kind. The bytes of assets go to a directory of their own: records that \
      name assets are refused without --assets. An asset whose file is damaged is left out; then the command ends with 1.

      Example: replay export notes.store --records --zone shopping > shopping.jsonl
      """)

  @OptionGroup var store: StoreOptions

  @Flag(help: "The records as they are now, instead of the log.")
  var records = false

  @Option(help: "Only this zone.")
  var zone: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("Write to this file instead of standard output.", valueName: "file"))
  var output: String?

  @Option(
    help: ArgumentHelp("Copy the files of assets to this directory; it is made.", valueName: "directory"))
  var assets: String?

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map(Inputs.zone)
    let opened = try store.openForReading(console, opensDamaged: true)
    defer { opened.close() }
    let progress = Progress(console)
    defer { progress.end() }
    do {
      // What records show may be whole where the log is not, and the other way round.
      try records ? opened.checkPagesOfRecords() : opened.checkPagesOfLog()
    } catch let error as StoreError where error.code == .damaged {
      throw damaged(error)
    }
    var copies = AssetCopies(store: opened, directory: assets, progress: progress)
    func export(to output: Output) throws -> UInt64 {
      do {
        return try opened.read { transaction in
          if let zone { try Inputs.check(zone, in: transaction) }
          if records { try copyAssets(zone, transaction, &copies) }
          return try records
            ? exportRecords(zone, transaction, output, progress)
            : exportLog(zone, transaction, output, progress)
        }
      } catch let error as StoreError where error.code == .damaged {
        throw damaged(error)
      }
    }
    if !records {
      try copyAssets(zone, opened, &copies)
      try copies.tellCounts(console)
    }
    if let path = output {
      let file = try PartialFile(path)
      let lines = try export(to: file.output)
      try file.finish()
      progress.end()
      if store.json {
        try console.output.line(
          .object([
            "file": .string(path), "lines": .number(lines), "assetsNotIncluded": .number(copies.here),
            "assetsNotHere": .number(copies.gone), "assetsFailed": copies.failures.json,
          ]))
      } else {
        try console.output.line("wrote \(Display.count(lines, "line")) to \(Display.plain(path))")
      }
    } else {
      _ = try export(to: console.output)
      progress.end()
    }
    try copies.failures.tell(
      console,
      hint: places.fill(
        "`replay asset download STORE --remote REMOTE` brings them from a remote that has them; then export again."
          + (records ? " A record that names one is not imported without it" : "")))
    return copies.failures.isEmpty ? nil : .problem
  }

  /// What is left to do where the store's damage ends the export.
  private func damaged(_ error: StoreError) -> ToolError {
    let told = ToolError(error)
    let hint =
      records
      ? "keep a copy of the directory, and run `replay verify`; give --zone to bring out the zones that can be read; what "
        + "was sent comes from the remote"
      : "keep a copy of the directory. `replay export \(store.directory.argument) --records -o FILE` writes the records as they are, "
        + "with what was never sent; deletions that were never sent are not in them, and neither are records that a cascade hides. "
        + "Sync a new store, then `replay import` the file into it: what differs is set"
    return ToolError(told.code, told.message, hint: hint, exit: told.exit)
  }

  /// Copies the assets that the log names, if there is a directory for them, and counts the others.
  private func copyAssets(_ zone: ZoneID?, _ opened: LocalStore, _ copies: inout AssetCopies) throws {
    if let assets { try AssetDirectory.make(assets) }
    try opened.forEachAsset { asset in
      guard zone.map({ asset.zones.contains($0) }) ?? true else { return true }
      if !asset.isHere {
        copies.gone += 1
      } else if try !copies.copy(asset.reference) {
        copies.here += 1
      }
      return true
    }
  }

  /// Copies the assets that records name, before any line is written.
  private func copyAssets(
    _ zone: ZoneID?, _ transaction: borrowing ReadTransaction, _ copies: inout AssetCopies
  ) throws {
    if let assets { try AssetDirectory.make(assets) }
    for zone in try zone.map({ [$0] }) ?? transaction.zones() {
      try transaction.forEachRecord(in: zone) { record in
        for asset in RecordFields(try transaction.changes(showing: record.id) ?? []).assets {
          guard try copies.copy(asset) else { throw AssetDirectory.needed(for: asset) }
        }
        return true
      }
    }
  }

  private func exportRecords(
    _ zone: ZoneID?, _ transaction: borrowing ReadTransaction, _ output: Output, _ progress: Progress
  ) throws -> UInt64 {
    var lines: UInt64 = 0
    for zone in try zone.map({ [$0] }) ?? transaction.zones() {
      try transaction.forEachRecord(in: zone) { record in
        try output.line(JSON(record, RecordFields(try transaction.changes(showing: record.id) ?? [])))
        lines += 1
        try progress.update("records", done: lines)
        return true
      }
    }
    return lines
  }

  private func exportLog(
    _ zone: ZoneID?, _ transaction: borrowing ReadTransaction, _ output: Output, _ progress: Progress
  ) throws -> UInt64 {
    let last = try transaction.lastPosition().rawValue
    var lines: UInt64 = 0
    // The transaction is borrowed by the walk: what the lines need besides it is read by position.
    try transaction.forEachExportedLine(of: zone) { line in
      if case .transaction(let entry) = line {
        try ExportCommand.write(entry, try transaction.bytes(at: entry.position), to: output)
        try progress.update("exporting", done: entry.position.rawValue, total: last)
      } else {
        try output.line(JSON(line))
      }
      lines += 1
      return true
    }
    try output.line(JSON.endLine(after: lines))
    return lines + 1
  }

  private static func write(_ entry: LogEntry, _ bytes: [UInt8], to output: Output) throws {
    var line: [UInt8] = []
    JSON(.transaction(entry), bytes: bytes).write(to: &line)
    guard line.count < LineReader.lineBytesMax else {
      return try output.line(JSON.compactLine(entry, bytes: bytes))
    }
    try output.line(line)
  }
}

/// Copies assets beside an exported file, and counts those that stay behind.
private struct AssetCopies {
  let store: LocalStore
  /// Where they go; nil for nowhere.
  let directory: String?
  let progress: Progress
  /// Those that are here, and are not copied.
  var here: UInt64 = 0
  /// Those that are not here.
  var gone: UInt64 = 0
  /// Those whose file is damaged; of records, also those that are not here.
  private(set) var failures = AssetFailures()
  private var bytes: UInt64 = 0

  init(store: LocalStore, directory: String?, progress: Progress) {
    self.store = store
    self.directory = directory
    self.progress = progress
  }

  /// Copies an asset, or notes that it cannot be.
  ///
  /// - Returns: false if there is no place for it.
  mutating func copy(_ asset: AssetReference) throws -> Bool {
    guard let directory else { return false }
    guard !failures.contains(asset) else { return true }
    do {
      try AssetDirectory.copy(asset, of: store, to: directory) { count in
        bytes += UInt64(count)
        try progress.update("copying assets, bytes", done: bytes)
      }
    } catch let error as StoreError where [.assetMissing, .assetDamaged].contains(error.code) {
      failures.add(asset, error.message)
    }
    return true
  }

  func tellCounts(_ console: Console) throws {
    if here > 0 {
      try console.errors.line(
        "note: \(Display.count(here, "asset")) not included: --assets DIRECTORY copies the files")
    }
    if gone > 0 {
      let verb = gone == 1 ? "is" : "are"
      try console.errors.line("note: \(Display.count(gone, "asset")) \(verb) not here and not included")
    }
  }
}
