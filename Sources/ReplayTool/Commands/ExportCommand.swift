import ArgumentParser
import EventStore

/// `replay export`: the log, or the records, as JSON lines.
struct ExportCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Writes the log, or the records, as JSON lines.",
    discussion: """
      The log is exported without loss: `replay import` makes a store with the same history from it. Records are exported \
      as they are now, each field with its kind. The files of assets go to a separate directory: without --assets, records \
      that refer to assets are refused. An asset whose file is damaged is left out, and so is a record that cannot be read; \
      the command then ends with 1.

      Example: replay export notes.store --records --zone shopping > shopping.jsonl
      """)

  @OptionGroup var store: StoreOptions

  @Flag(help: "Export the records as they are now, instead of the log.")
  var records = false

  @Option(help: "Only this zone.")
  var zone: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("Write to this file instead of standard output.", valueName: "file"))
  var output: String?

  @Option(
    help: ArgumentHelp(
      "Copy the files of assets to this directory, which is created.", valueName: "directory"))
  var assets: String?

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map(Inputs.zone)
    let opened = try store.openForReading(console, opensDamaged: true)
    defer { opened.close() }
    let progress = Progress(console)
    defer { progress.end() }
    do {
      return try export(zone, opened, console, progress)
    } catch let error as StoreError where error.code == .damaged {
      throw damaged(error, zone, opened)
    }
  }

  private func export(
    _ zone: ZoneID?, _ opened: LocalStore, _ console: Console, _ progress: Progress
  ) throws -> ToolError.Exit? {
    // The pages of records may be sound when those of the log are damaged, and the other way round.
    try records ? opened.checkPagesOfRecords() : opened.checkPagesOfLog()
    var copies = AssetCopies(store: opened, directory: assets, progress: progress)
    var unread = UnreadRecords()
    func export(to output: Output) throws -> UInt64 {
      try opened.read { transaction in
        if let zone { try Inputs.check(zone, in: transaction) }
        guard records else { return try exportLog(zone, transaction, output, progress) }
        try copyAssets(zone, transaction, &copies, &unread)
        return try exportRecords(zone, transaction, output, &unread, progress)
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
            "recordsFailed": unread.json,
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
          + (records ? " A record that refers to one is not imported without it" : "")))
    try unread.tell(
      console,
      hint: places.fill(
        "`replay verify STORE` says whether the log is sound: then `replay rebuild STORE` makes them again from it"
      ))
    return copies.failures.isEmpty && unread.isEmpty ? nil : .problem
  }

  // MARK: Damaged stores

  /// The error when damage in the store ends the export. Its hint names only ways that were tried and work.
  private func damaged(_ error: StoreError, _ zone: ZoneID?, _ opened: LocalStore) -> ToolError {
    let told = ToolError(error)
    let command = "`replay export \(store.directory.argument)"
    let option = zone.map { " " + Display.option("--zone", $0.description) } ?? ""
    var ways: [String] = []
    if records, canExportLog(of: zone, opened) {
      ways.append(
        "\(command)\(option) -o FILE` writes the log, without loss: `replay import` makes a new store from it"
      )
    } else if zone == nil {
      let zones = zonesWithLogs(opened).map { Display.zone($0) }
      if !zones.isEmpty {
        ways.append(
          "\(command) --zone ZONE -o FILE` writes the log of one zone, for a new store. This works for "
            + "\(Display.list(zones, max: 8))")
      }
    }
    if !records, canExportRecords(of: zone, opened) {
      ways.append(
        "\(command) --records\(option) -o FILE` writes the records as they are, including changes that were never sent. "
          + "It lacks deletions that were never sent, and records that a cascade hides. Sync a new store, then "
          + "`replay import` the file into it: that sets what differs")
    }
    let nothing =
      ": nothing of \(zone.map { "zone \(Display.zone($0))" } ?? "it") can be exported. A new store can "
      + "get from the remote what was sent. What was never sent is only in a backup of this store"
    let hint = "keep a copy of the directory" + (ways.isEmpty ? nothing : ". " + ways.joined(separator: ". "))
    return ToolError(told.code, told.message, hint: hint, exit: told.exit)
  }

  /// The zones whose logs can be read.
  private func zonesWithLogs(_ opened: LocalStore) -> [ZoneID] {
    do {
      try opened.checkPagesOfLog()
      return try opened.read { try $0.readableZones().zones }.filter { canExportLog(of: $0, opened) }
    } catch {
      return []
    }
  }

  private func canExportLog(of zone: ZoneID?, _ opened: LocalStore) -> Bool {
    do {
      try opened.checkPagesOfLog()
      try opened.read { transaction in try transaction.forEachExportedLine(of: zone) { _ in true } }
      try forEachAsset(of: zone, opened) { _ in true }
      return true
    } catch {
      return false
    }
  }

  /// Whether any record can be read.
  private func canExportRecords(of zone: ZoneID?, _ opened: LocalStore) -> Bool {
    do {
      try opened.checkPagesOfRecords()
      return try opened.read { transaction in
        var isAny = false
        for zone in try zone.map({ [$0] }) ?? transaction.readableZones().zones where !isAny {
          try transaction.forEachReadableRecord(in: zone, unread: { _, _ in }) { _, _ in
            isAny = true
            return false
          }
        }
        return isAny
      }
    } catch {
      return false
    }
  }

  // MARK: Writing

  /// Copies the assets that the log refers to, if there is a directory for them, and counts the others.
  private func copyAssets(_ zone: ZoneID?, _ opened: LocalStore, _ copies: inout AssetCopies) throws {
    if let assets { try AssetDirectory.make(assets) }
    try forEachAsset(of: zone, opened) { asset in
      if !asset.isHere {
        copies.gone += 1
      } else if try !copies.copy(asset.reference) {
        copies.here += 1
      }
      return true
    }
  }

  private func forEachAsset(
    of zone: ZoneID?, _ opened: LocalStore, _ body: (NamedAsset) throws -> Bool
  ) throws {
    if let zone { try opened.forEachAsset(namedIn: zone, body) } else { try opened.forEachAsset(body) }
  }

  /// Copies the assets that records refer to, before any line is written.
  private func copyAssets(
    _ zone: ZoneID?, _ transaction: borrowing ReadTransaction, _ copies: inout AssetCopies,
    _ unread: inout UnreadRecords
  ) throws {
    if let assets { try AssetDirectory.make(assets) }
    try forEachRecord(of: zone, transaction, &unread) { _, fields in
      for asset in fields.assets {
        guard try copies.copy(asset) else { throw AssetDirectory.needed(for: asset) }
      }
    }
  }

  private func exportRecords(
    _ zone: ZoneID?, _ transaction: borrowing ReadTransaction, _ output: Output,
    _ unread: inout UnreadRecords,
    _ progress: Progress
  ) throws -> UInt64 {
    var lines: UInt64 = 0
    try forEachRecord(of: zone, transaction, &unread) { record, fields in
      try output.line(fields.json(of: record))
      lines += 1
      try progress.update("records", done: lines)
    }
    return lines
  }

  /// Passes each readable record to a closure, and notes the others.
  private func forEachRecord(
    of zone: ZoneID?, _ transaction: borrowing ReadTransaction, _ unread: inout UnreadRecords,
    _ body: (Record, RecordFields) throws -> Void
  ) throws {
    var zones = zone.map { [$0] } ?? []
    if zone == nil {
      let found = try transaction.readableZones()
      zones = found.zones
      for (zone, error) in found.unread { unread.add("zone \(zone)", error.message) }
    }
    for zone in zones {
      try transaction.forEachReadableRecord(
        in: zone,
        unread: { unread.add("record \(RecordID(zone: zone, name: Name($0)))", $1.message) },
        { record, changes in
          try body(record, RecordFields(changes))
          return true
        })
    }
  }

  private func exportLog(
    _ zone: ZoneID?, _ transaction: borrowing ReadTransaction, _ output: Output, _ progress: Progress
  ) throws -> UInt64 {
    let last = try transaction.lastPosition().rawValue
    var lines: UInt64 = 0
    // The walk borrows the transaction, so other data for the lines is read by position.
    try transaction.forEachExportedLine(of: zone) { line in
      if case .transaction(let entry) = line {
        try ExportCommand.write(entry, try transaction.bytes(at: entry.position), to: output)
        try progress.update("exporting", done: entry.position.rawValue, total: last)
      } else {
        try output.line(line.json())
      }
      lines += 1
      return true
    }
    try output.line(JSON.endLine(after: lines))
    return lines + 1
  }

  private static func write(_ entry: LogEntry, _ bytes: [UInt8], to output: Output) throws {
    var line: [UInt8] = []
    ExportedLine.transaction(entry).json(bytes: bytes).write(to: &line)
    guard line.count < LineReader.lineBytesMax else {
      return try output.line(entry.compactLine(bytes: bytes))
    }
    try output.line(line)
  }
}
