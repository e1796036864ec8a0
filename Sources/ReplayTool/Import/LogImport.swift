import EventStore

/// Imports an exported log into an empty store, in one commit, or in several if it is large. Until the last
/// commit nothing else can open the store, even if the process is killed.
struct LogImport {
  /// The most bytes of lines in one commit.
  private static let bytesMax = 8 << 20

  /// The assets that were imported with a log.
  struct Assets {
    var imported = 0
    var failures = AssetFailures()
  }

  struct Report: ImportReport {
    var lines = 0
    var transactions = 0
    /// Whether the store already had the log; then nothing of it was written.
    var isPresent = false
    /// Nil if no assets were to be imported.
    var assets: Assets?

    var text: String {
      let log = isPresent ? nil : Display.count(transactions, "transaction")
      let files = assets.map { Display.count($0.imported, "asset") }
      let imported = [log, files].compactMap(\.self).joined(separator: " and ")
      return "\(isPresent ? "the store already has this log: " : "")imported \(imported)"
    }

    var json: JSON {
      .members([
        "lines": .number(lines), "transactions": .number(transactions),
        "assets": assets.map { .number($0.imported) }, "assetsFailed": assets.map { $0.failures.json },
      ])
    }

    var assetFailures: AssetFailures { assets?.failures ?? AssetFailures() }
  }

  let open: () throws -> LocalStore
  let progress: Progress
  /// Whether the store may already have the whole log; then nothing of it is written.
  let allowsPresent: Bool
  private var store: LocalStore?
  private var report = Report()
  private var waiting: [ExportedLine] = []
  private var waitingBytes = 0
  private var lastPosition = Position.start
  private var lastSequences: [Lane: UInt64] = [:]
  /// How many lines were read.
  private var linesRead: UInt64 = 0
  /// Whether the last line of the log was read.
  private var hasEnded = false
  /// Whether the log has an end line: logs have one since version 2.
  private var hasEndLine = true

  /// The replica, epoch and zone of consecutive transactions.
  private struct Lane: Hashable {
    var zone: ZoneID
    var replica: ReplicaID
    var epoch: UInt32
  }

  init(open: @escaping () throws -> LocalStore, progress: Progress, allowsPresent: Bool) {
    self.open = open
    self.progress = progress
    self.allowsPresent = allowsPresent
  }

  mutating func run(_ first: (json: JSON, byteCount: Int), _ lines: inout LineReader) async throws
    -> Report
  {
    defer { store?.close() }
    do {
      var next: (json: JSON, byteCount: Int)? = first
      while let (json, byteCount) = next {
        let line: ImportedLine
        do {
          line = try ImportedLine(json)
        } catch {
          throw lines.invalid(error)
        }
        try check(line, lines)
        linesRead += 1
        if waitingBytes + byteCount > Self.bytesMax {
          try await write(through: lines.number - 1, isMoreToCome: true)
        }
        if let line = try exported(line, lines) { waiting.append(line) }
        waitingBytes += byteCount
        do {
          next = try lines.nextDocument()
        } catch {
          // If the last line is no JSON and has no line end, the log was cut inside that line.
          throw hasEndLine && lines.isOpen ? Self.isCut(lines.name, after: linesRead) : error
        }
      }
      if hasEndLine, !hasEnded { throw Self.isCut(lines.name, after: linesRead) }
      try await write(through: lines.number, isMoreToCome: false)
      if report.isPresent { try checkIsPresent() }
    } catch {
      throw told(error)
    }
    return report
  }

  /// Only the first line describes the store; the last one has the number of lines.
  private mutating func check(_ line: ImportedLine, _ lines: LineReader) throws {
    if hasEnded {
      throw lines.invalid(JSONError(in: "", "a line after the last one, which is of kind “end”"))
    }
    switch line {
    case .header(_, let version):
      guard linesRead == 0 else { throw lines.invalid(JSONError(in: "", "a second line of kind “store”")) }
      hasEndLine = version > 1
      // A file's end is checked before anything is imported. The end of a pipe can only be seen last.
      if hasEndLine, !lines.mayEnd(with: "end") { throw Self.isCut(lines.name, after: nil) }
    case _ where linesRead == 0:
      throw lines.invalid(JSONError(in: "", "the first line of a log is of kind “store”"))
    case .end(let count):
      guard count == linesRead else { throw Self.isCut(lines.name, after: linesRead, of: count) }
      hasEnded = true
    case .line, .transaction: break
    }
  }

  /// The error for an incomplete log.
  ///
  /// - Parameters:
  ///   - found: the number of lines read; nil if not all were read.
  ///   - count: the expected number of lines; nil if the log does not have it.
  private static func isCut(_ name: String, after found: UInt64?, of count: UInt64? = nil) -> ToolError {
    let text =
      if let found, let count {
        "\(name) has \(Display.count(found, "line")) before its last one, which counts \(Display.count(count))"
      } else {
        "\(name) is cut" + (found.map { " after \(Display.count($0, "line"))" } ?? "")
          + ": its last line, of kind “end”, is missing"
      }
    return .input(
      "importCut", text,
      hint: "copy the whole file, or export it again with --output FILE")
  }

  /// Converts a line for the store. A transaction must follow the previous one of its replica, epoch and
  /// zone.
  private mutating func exported(_ line: ImportedLine, _ lines: LineReader) throws -> ExportedLine? {
    switch line {
    case .end: return nil
    case .header(let identity, _): return .header(identity)
    case .line(let line): return line
    case .transaction(let imported):
      let transaction = imported.transaction
      let lane = Lane(zone: transaction.zone, replica: transaction.replica, epoch: transaction.epoch)
      let last = lastSequences[lane, default: 0]
      guard transaction.sequence == last + 1 else {
        throw ToolError.input(
          StoreError.Code.outOfOrder.rawValue,
          "line \(lines.number) of \(lines.name): sequence \(transaction.sequence) does not follow \(last)",
          hint: "the file is incomplete, or its lines are in another order")
      }
      lastSequences[lane] = transaction.sequence
      lastPosition = Position(rawValue: lastPosition.rawValue + 1)
      return .transaction(
        LogEntry(
          position: lastPosition, arrivedMilliseconds: imported.arrivedMilliseconds, transaction: transaction)
      )
    }
  }

  private mutating func write(through line: Int, isMoreToCome: Bool) async throws {
    try progress.update("importing", done: UInt64(report.transactions))
    let store = try store ?? openEmpty()
    self.store = store
    if !report.isPresent {
      do {
        try await store.importLines(waiting, isMoreToCome: isMoreToCome)
      } catch {
        let error = ToolError(error)
        let range = "lines \(report.lines + 1) to \(line)"
        throw error.ofInput(range)
      }
      report.lines = line
      report.transactions += waiting.count { if case .transaction = $0 { true } else { false } }
    }
    waiting.removeAll(keepingCapacity: true)
    waitingBytes = 0
  }

  /// Opens a store with an empty log, or one that may already have the log.
  private mutating func openEmpty() throws -> LocalStore {
    let store = try open()
    let last = try store.read { transaction in try transaction.lastPosition() }
    guard last != .start else { return store }
    guard allowsPresent else {
      store.close()
      throw Self.isNotEmpty(
        store, last,
        hint:
          "a log can be imported only into an empty store: give a new directory. If the store has this log, --assets "
          + "DIRECTORY imports the missing assets")
    }
    report.isPresent = true
    return store
  }

  /// Throws unless the store has every transaction of the log.
  private func checkIsPresent() throws {
    guard let store else { return }
    let (last, hasAll) = try store.read { transaction in
      (
        try transaction.lastPosition(),
        try lastSequences.allSatisfy { lane, last in
          try transaction.lastSequence(of: lane.replica, lane.epoch, in: lane.zone) >= last
        }
      )
    }
    if hasAll { return }
    throw Self.isNotEmpty(
      store, last,
      hint:
        "it does not have all of this log, which can be imported only into an empty store: give a new directory"
    )
  }

  private static func isNotEmpty(_ store: LocalStore, _ last: Position, hint: String) -> ToolError {
    .input(
      "storeNotEmpty", "the store “\(store.directory)” already has a log, up to position \(last)", hint: hint)
  }

  /// An error that also says what was imported before it.
  private func told(_ error: any Error) -> ToolError {
    let isInterrupted = error is Interrupted
    let error = ToolError(error)
    guard report.lines > 0 else {
      return ToolError(
        error.code, "\(error.message); nothing was imported", hint: error.hint, exit: error.exit)
    }
    return ToolError(
      error.code, "\(error.message); lines 1 to \(report.lines) were imported",
      hint: isInterrupted
        ? "remove the store and import again" : "\(error.hint); then remove the store and import again",
      exit: error.exit)
  }
}
