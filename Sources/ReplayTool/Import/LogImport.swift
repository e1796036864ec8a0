import EventStore

/// Makes a store's log from an exported one: all of it in one commit, or, if it is large, in some. Until the last of these nothing
/// else opens the store, even if the process is killed.
struct LogImport {
  /// Bytes of lines that go into one commit.
  private static let bytesMax = 8 << 20

  /// The assets that came with a log.
  struct Assets {
    var imported = 0
    var failures = AssetFailures()
  }

  struct Report: ImportReport {
    var lines = 0
    var transactions = 0
    /// Whether the store had the log: then nothing of it was written.
    var isPresent = false
    /// Nil where none were asked for.
    var assets: Assets?

    var text: String {
      let log = isPresent ? nil : Display.count(transactions, "transaction")
      let files = assets.map { Display.count($0.imported, "asset") }
      let imported = [log, files].compactMap(\.self).joined(separator: " and ")
      return "\(isPresent ? "the store has this log: " : "")imported \(imported)"
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
  /// Whether the store may have the log already, if it has all of it: nothing of it is written then.
  let allowsPresent: Bool
  private var store: LocalStore?
  private var report = Report()
  private var waiting: [ExportedLine] = []
  private var waitingBytes = 0
  private var lastPosition = Position.start
  private var lastSequences: [Lane: UInt64] = [:]
  /// Lines that were read.
  private var linesRead: UInt64 = 0
  /// Whether the last line of the log was read.
  private var hasEnded = false
  /// Whether the log has a last line that says so: since version 2.
  private var hasEndLine = true

  /// One replica's transactions of one epoch in one zone.
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
          // What is no JSON, and ends without a line's end, is a part of a line.
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

  /// The first line, and it alone, says which store it was; the last one how many lines there are.
  private mutating func check(_ line: ImportedLine, _ lines: LineReader) throws {
    if hasEnded {
      throw lines.invalid(JSONError(in: "", "a line behind the last one, which is of kind “end”"))
    }
    switch line {
    case .header(_, let version):
      guard linesRead == 0 else { throw lines.invalid(JSONError(in: "", "a second line of kind “store”")) }
      hasEndLine = version > 1
      // A file is looked at before anything is imported; of what comes through a pipe the end is seen last.
      if hasEndLine, !lines.mayEnd(with: "end") { throw Self.isCut(lines.name, after: nil) }
    case _ where linesRead == 0:
      throw lines.invalid(JSONError(in: "", "the first line of a log is of kind “store”"))
    case .end(let count):
      guard count == linesRead else { throw Self.isCut(lines.name, after: linesRead, of: count) }
      hasEnded = true
    case .line, .transaction: break
    }
  }

  /// A log that is not whole.
  ///
  /// - Parameters:
  ///   - found: the lines that were read; nil if not all were.
  ///   - count: the lines that there should be; nil if nothing says it.
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

  /// What the store takes; a transaction must follow the one before of its replica, epoch and zone.
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

  /// Opens a store whose log is empty, or may be there already.
  private mutating func openEmpty() throws -> LocalStore {
    let store = try open()
    let last = try store.read { transaction in try transaction.lastPosition() }
    guard last != .start else { return store }
    guard allowsPresent else {
      store.close()
      throw Self.isNotEmpty(
        store, last,
        hint:
          "a log goes only into an empty store: give a new directory. If the store has this log, --assets DIRECTORY "
          + "brings the assets that are missing")
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
      hint: "it has not all of this log, which goes only into an empty store: give a new directory")
  }

  private static func isNotEmpty(_ store: LocalStore, _ last: Position, hint: String) -> ToolError {
    .input(
      "storeNotEmpty", "the store “\(store.directory)” has a log already, up to position \(last)", hint: hint)
  }

  /// An error with what was imported before it.
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
