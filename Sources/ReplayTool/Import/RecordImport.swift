import EventStore

/// Writes records from JSON lines, as an app would: some lines a write.
struct RecordImport {
  /// Lines in one write.
  private static let linesMax = 500
  /// Bytes of lines in one write, so that it stays within a transaction's 8 MiB: in JSON nothing is smaller.
  private static let bytesMax = 4 << 20
  /// Steps of work in one write, so that with its bytes it stays within the 49,152 of a transaction.
  private static let stepsMax = 40_000

  /// A record of the file.
  struct Line: Sendable {
    var number: Int
    var id: RecordID
    var type: Name
    var fields: RecordFields
  }

  struct Report: ImportReport {
    var created = 0
    var updated = 0
    var unchanged = 0
    var fieldsSet = 0

    var count: Int { created + updated + unchanged }

    var text: String {
      "imported \(Display.count(count, "record")): \(Display.count(created)) created, "
        + "\(Display.count(updated)) updated, \(Display.count(unchanged)) unchanged"
    }

    var json: JSON {
      .object([
        "created": .number(created), "updated": .number(updated), "unchanged": .number(unchanged),
        "fieldsSet": .number(fieldsSet),
      ])
    }
  }

  let open: () throws -> LocalStore
  let limit: Int
  let progress: Progress
  /// Where the files of assets are, named by their hashes; nil where none were exported.
  let assets: String?
  private var store: LocalStore?
  private var report = Report()
  private var waiting: [Line] = []
  private var waitingBytes = 0
  private var waitingSteps = 0

  init(open: @escaping () throws -> LocalStore, limit: Int, progress: Progress, assets: String? = nil) {
    self.open = open
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
        if waitingBytes + byteCount > Self.bytesMax
          || waitingSteps + line.fields.steps > Self.stepsMax
        {
          try await write()
        }
        waiting.append(line)
        waitingBytes += byteCount
        waitingSteps += line.fields.steps + 2
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
    let id = try members.parsed("record", as: RecordID.self, "a record as zone:name")
    let type = Name(try members.string("type"))
    let fields = try RecordFields(&members)
    try members.finish()
    return Line(number: number, id: id, type: type, fields: fields)
  }

  /// Writes the lines that wait: all of them or, if one cannot be written, none.
  private mutating func write() async throws {
    try progress.update("records", done: UInt64(report.count))
    guard !waiting.isEmpty else { return }
    let store = try store ?? open()
    self.store = store
    let lines = waiting
    for line in lines { try await bringAssets(of: line, into: store) }
    let done = try await store.write { tx in
      tx.label = "import"
      var done = Report()
      for line in lines {
        do {
          try Self.write(line, &tx, &done)
        } catch {
          throw ToolError(error).ofInput("line \(line.number)")
        }
      }
      return done
    }
    report.created += done.created
    report.updated += done.updated
    report.unchanged += done.unchanged
    report.fieldsSet += done.fieldsSet
    waiting.removeAll(keepingCapacity: true)
    waitingBytes = 0
    waitingSteps = 0
  }

  /// Imports the assets that a line names and that are not here.
  private func bringAssets(of line: Line, into store: LocalStore) async throws {
    for asset in line.fields.assets where try !store.hasAsset(asset) {
      do {
        try await AssetDirectory.bring(asset, from: assets, into: store)
      } catch {
        throw ToolError(error).ofInput("line \(line.number)")
      }
    }
  }

  private static func write(_ line: Line, _ tx: inout WriteTransaction, _ report: inout Report) throws {
    try tx.createZone(line.id.zone)
    guard let present = try tx.record(line.id) else {
      try tx.create(line.id, type: line.type)
      report.created += 1
      report.fieldsSet += try RecordFieldWriter(line.id).write(line.fields, over: RecordFields(), &tx)
      return
    }
    guard present.type == line.type else {
      throw ToolError.input(
        "typeDiffers",
        "the record \(line.id) is of type “\(present.type)” in the store and “\(line.type)” in the file",
        hint: "correct the type in the file, or import into another store")
    }
    let held = RecordFields(try tx.changes(showing: line.id) ?? [])
    let set = try RecordFieldWriter(line.id).write(line.fields, over: held, &tx)
    report.fieldsSet += set
    if set > 0 { report.updated += 1 } else { report.unchanged += 1 }
  }

  /// An error with what was imported before it.
  private func told(_ error: any Error) -> ToolError {
    let isInterrupted = error is Interrupted
    let error = ToolError(error)
    let were = report.count == 1 ? "was" : "were"
    let kept =
      report.count == 0
      ? "nothing was imported" : "\(Display.count(report.count, "record")) before it \(were) imported"
    return ToolError(
      error.code, "\(error.message); \(kept)",
      hint: isInterrupted ? "import it again: what is there stays" : error.hint, exit: error.exit)
  }
}
