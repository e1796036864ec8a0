import EventStore

/// Imports records from JSON lines, with several lines in each write. A record that is too large for one
/// write takes several.
struct RecordImport {
  /// The most lines in one write.
  private static let linesMax = 500
  /// The most bytes of waiting lines.
  private static let bytesMax = 4 << 20

  /// A record of the file.
  struct Line: Sendable {
    var number: Int
    var id: RecordID
    var type: Name
    var fields: RecordFields
    /// Whether an earlier write created its record.
    var isNew = false
    /// Whether an earlier write has begun with it.
    var isContinued = false
    /// How many fields earlier writes set.
    var fieldsSet = 0
  }

  struct Report: ImportReport {
    var created = 0
    /// The records whose fields were set, in the order of the lines.
    var updatedRecords: [RecordID] = []
    var updated: Int { updatedRecords.count }
    var unchanged = 0
    var fieldsSet = 0
    /// Whether nothing was written.
    var isDry = false
    /// Whether the input had no lines.
    var isOfNothing = false
    /// Records that were left out because of an asset.
    var leftOut = 0
    var assetFailures = AssetFailures()

    var count: Int { created + updated + unchanged }

    mutating func add(_ line: Line) {
      if line.isNew {
        created += 1
      } else if line.fieldsSet > 0 {
        updatedRecords.append(line.id)
      } else {
        unchanged += 1
      }
      fieldsSet += line.fieldsSet
    }

    var text: String {
      "\(isDry ? "would import" : "imported") \(Display.count(count, "record")): \(Display.count(created)) created, "
        + "\(Display.count(updated)) updated, \(Display.count(unchanged)) unchanged"
        + (leftOut > 0 ? "; \(Display.count(leftOut)) left out" : "")
        + (isOfNothing ? ": no lines were given" : "")
    }

    var details: [String] {
      var lines = updatedRecords.prefix(Self.namedMax).map { "updated  \(Display.plain("\($0)"))" }
      if updated > Self.namedMax {
        lines.append("and \(Display.count(updated - Self.namedMax)) more: --json names them all")
      }
      return lines
    }

    private static let namedMax = 20

    var json: JSON {
      .members([
        "dryRun": isDry ? .bool(true) : nil,
        "updatedRecords": updated > 0 ? .array(updatedRecords.map { .text($0) }) : nil,
        "created": .number(created), "updated": .number(updated), "unchanged": .number(unchanged),
        "fieldsSet": .number(fieldsSet), "leftOut": leftOut > 0 ? .number(leftOut) : nil,
        "assetsFailed": leftOut > 0 ? assetFailures.json : nil,
      ])
    }
  }

  let open: () throws -> LocalStore
  let limit: Int
  let progress: Progress
  /// The directory with the files of assets, named by their hashes; nil if none was given.
  let assets: String?
  private var store: LocalStore?
  private var report = Report()
  private var waiting: [Line] = []
  private var waitingBytes = 0

  /// - Parameter isDry: whether it only says what would be written. Then the store may be open for reading only.
  init(
    open: @escaping () throws -> LocalStore, limit: Int, progress: Progress, assets: String? = nil,
    isDry: Bool = false
  ) {
    self.open = open
    report.isDry = isDry
    self.assets = assets
    self.limit = limit
    self.progress = progress
  }

  mutating func run(_ first: (json: JSON, byteCount: Int), _ lines: inout LineReader) async throws
    -> any ImportReport
  {
    defer { store?.close() }
    var left = limit
    do {
      var next: (json: JSON, byteCount: Int)? = first
      while left > 0, let (json, byteCount) = next {
        let line: Line
        do {
          line = try Self.line(json, number: lines.number)
        } catch {
          throw lines.invalid(error)
        }
        if waitingBytes + byteCount > Self.bytesMax { try await write() }
        waiting.append(line)
        waitingBytes += byteCount
        if waiting.count == Self.linesMax { try await write() }
        left -= 1
        next = left > 0 ? try lines.nextDocument() : nil
      }
      try await write()
    } catch {
      throw told(error)
    }
    return report
  }

  private static func line(_ json: JSON, number: Int) throws(JSONError) -> Line {
    var members = try JSONMembers(json, in: "")
    let id = try members.parsed(
      "record", as: RecordID.self,
      "a record as zone:name, of names of at most \(Limits.nameBytesMax) and \(Limits.recordNameBytesMax) bytes"
    )
    let type = Name(try members.string("type"))
    let fields = try RecordFields(&members)
    try members.finish()
    return Line(number: number, id: id, type: type, fields: fields)
  }

  /// Writes the waiting lines. Each write is atomic: if one of its lines cannot be written, none is.
  private mutating func write() async throws {
    guard !waiting.isEmpty else { return try progress.update("records", done: UInt64(report.count)) }
    let store = try store ?? open()
    self.store = store
    if report.isDry { return try compare(with: store) }
    var complete: [Line] = []
    for line in waiting {
      try progress.update("records", done: UInt64(report.count))
      if try await bringAssets(of: line, into: store) { complete.append(line) } else { report.leftOut += 1 }
    }
    waiting = complete
    while !waiting.isEmpty {
      try progress.update("records", done: UInt64(report.count))
      (waiting, report) = try await store.write { [lines = waiting, report] tx in
        tx.label = "import"
        var (lines, report) = (lines[...], report)
        while var line = lines.popFirst() {
          do {
            guard try Self.write(&line, &tx) else { return ([line] + lines, report) }
          } catch {
            throw ToolError(error).ofInput("line \(line.number)")
          }
          report.add(line)
        }
        return ([], report)
      }
    }
    waitingBytes = 0
  }

  /// Counts what the waiting lines would change. Of several lines of one record, each is compared with what the store has.
  private mutating func compare(with store: LocalStore) throws {
    try progress.update("records", done: UInt64(report.count))
    report = try store.read { [waiting, report] tx in
      var report = report
      for var line in waiting {
        do {
          let held = try tx.hasZone(line.id.zone) ? Self.held(line, tx) : nil
          line.isNew = held == nil
          line.fieldsSet = try RecordFieldWriter(line.id)
            .differing(line.fields, from: held ?? RecordFields())
        } catch {
          throw ToolError(error).ofInput("line \(line.number)")
        }
        report.add(line)
      }
      return report
    }
    (waiting, waitingBytes) = ([], 0)
  }

  /// What the store has of a line's record; nil if it has no such record.
  ///
  /// - Throws: ``ToolError`` if it is of another type.
  private static func held(
    _ line: Line, _ tx: borrowing some RecordReading & ~Copyable
  ) throws -> RecordFields? {
    guard let present = try tx.record(line.id) else { return nil }
    guard present.type == line.type else {
      throw ToolError.input(
        "typeDiffers",
        "the record \(line.id) is of type “\(present.type)” in the store and “\(line.type)” in the file",
        hint: "correct the type in the file, or import into another store")
    }
    return RecordFields(try tx.changes(showing: line.id) ?? [])
  }

  /// Imports the assets that a line refers to and that are not here.
  ///
  /// - Returns: whether all are here now. False if some files are damaged or missing.
  private mutating func bringAssets(of line: Line, into store: LocalStore) async throws -> Bool {
    var areHere = true
    for asset in line.fields.assets where try !store.hasAsset(asset) {
      if report.assetFailures.contains(asset) {
        areHere = false
        continue
      }
      do {
        try await AssetDirectory.bring(asset, from: assets, into: store)
      } catch {
        let error = ToolError(error)
        guard assets != nil, AssetDirectory.isOfOneFile(error) else {
          throw error.ofInput("line \(line.number)")
        }
        report.assetFailures.add(asset, error.message)
        areHere = false
      }
    }
    return areHere
  }

  /// - Returns: whether the record now has everything in the line; if not, the next write continues.
  private static func write(_ line: inout Line, _ tx: inout WriteTransaction) throws -> Bool {
    try tx.createZone(line.id.zone)
    let held = try held(line, tx)
    if held == nil {
      try tx.create(line.id, type: line.type)
      line.isNew = true
    }
    let (fieldsSet, isWhole) = try RecordFieldWriter(line.id).write(
      line.fields, over: held ?? RecordFields(), isContinued: line.isContinued, &tx)
    line.fieldsSet += fieldsSet
    line.isContinued = true
    return isWhole
  }

  /// An error that also says what was imported before it.
  private func told(_ error: any Error) -> ToolError {
    let isInterrupted = error is Interrupted
    let error = ToolError(error)
    let were = report.count == 1 ? "was" : "were"
    var kept =
      report.count == 0
      ? "nothing was imported" : "\(Display.count(report.count, "record")) before it \(were) imported"
    if let line = waiting.first, line.isContinued {
      kept = (report.count == 0 ? "" : "\(kept), and ") + "a part of \(line.id) was imported"
    }
    return ToolError(
      error.code, "\(error.message); \(kept)",
      hint: isInterrupted ? "import it again: what was imported stays" : error.hint, exit: error.exit)
  }
}
