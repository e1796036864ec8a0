import EventStore

/// Imports the history of a git repository into a store: a commit becomes a transaction, a file becomes a
/// record.
struct GitImport {
  /// The most bytes of names and values in one write, to stay within a transaction's 8 MiB.
  private static let bytesMax = 7 << 20
  /// The most bytes of an operation besides its record's name: kind, numbers, hash.
  private static let operationBytes = 100
  static let submoduleMode = "160000"

  struct Report: ImportReport {
    var zone: ZoneID
    var commits: UInt64 = 0
    /// Commits that changed nothing compared with their first parent.
    var empty: UInt64 = 0
    var transactions: UInt64 = 0
    var changes: UInt64 = 0

    var text: String {
      let without = empty > 0 ? ", \(Display.count(empty)) of them without changes" : ""
      return "imported \(Display.count(commits, "commit"))\(without), as "
        + Display.count(transactions, "transaction")
        + " with \(Display.count(changes, "change")) of files, into zone \(Display.zone(zone))"
    }

    var json: JSON {
      .object([
        "zone": .text(zone), "commits": .number(commits), "emptyCommits": .number(empty),
        "transactions": .number(transactions), "changes": .number(changes),
      ])
    }
  }

  /// A change of a file, ready to write.
  private struct FileChange: Sendable {
    var name: Name
    /// The path, if it cannot be the record's name.
    var path: Value?
    /// Nil if the file is removed.
    var content: (blob: String, size: Int64?, mode: String)?

    /// The most operations for this change.
    var operationsMax: Int { content == nil ? 1 : 5 }
    var bytesMax: Int { name.rawValue.utf8.count + operationsMax * GitImport.operationBytes + pathBytes }

    private var pathBytes: Int {
      switch path {
      case .string(let text): text.utf8.count
      case .bytes(let bytes): bytes.count
      default: 0
      }
    }
  }

  let repository: GitRepository
  let store: LocalStore
  let zone: ZoneID
  let clock: ImportClock
  /// How many commits to import.
  let total: UInt64
  let progress: Progress

  func run() async throws -> any ImportReport {
    let zones = try store.read { transaction in try transaction.zones() }
    guard !zones.contains(zone) else {
      throw ToolError.input(
        "zoneExists", "the store already has a zone “\(zone)”",
        hint: "name another with --zone, or import into a new store")
    }
    var report = Report(zone: zone)
    do {
      var log = try repository.log()
      var sizes = try repository.sizes()
      while report.commits < total, let commit = try log.next() {
        try await write(commit, &sizes, &report)
        report.commits += 1
        try progress.update("importing commits", done: report.commits, total: total)
      }
    } catch {
      throw told(error, report)
    }
    return report
  }

  private func write(_ commit: GitCommit, _ sizes: inout GitSizes, _ report: inout Report) async throws {
    let changes = try prepare(commit, &sizes)
    if changes.isEmpty { report.empty += 1 }
    var rest = changes[...]
    while !rest.isEmpty {
      let part = Self.part(&rest)
      clock.advance(to: Self.milliseconds(commit.time))
      let zone = zone
      let author = Self.cut(commit.author, bytesMax: Limits.authorBytesMax)
      let label = Self.cut(commit.subject, bytesMax: Limits.labelBytesMax)
      try await store.write { tx in
        tx.author = author
        tx.label = label
        try tx.createZone(zone)
        for change in part { try Self.write(change, in: zone, &tx) }
      }
      report.transactions += 1
      report.changes += UInt64(part.count)
    }
  }

  private func prepare(_ commit: GitCommit, _ sizes: inout GitSizes) throws -> [FileChange] {
    let blobs = commit.changes.filter { $0.status != UInt8(ascii: "D") && $0.mode != Self.submoduleMode }
    var found = try sizes.sizes(of: blobs.map(\.blob))[...]
    return commit.changes.map { change in
      var file = Self.named(change.path)
      if change.status != UInt8(ascii: "D") {
        let size = change.mode == Self.submoduleMode ? nil : found.removeFirst()
        file.content = (change.blob, size, change.mode)
      }
      return file
    }
  }

  /// The record's name is the path. If the path is too long or not UTF-8, it is the path's SHA-256.
  private static func named(_ path: [UInt8]) -> FileChange {
    let text = String(validating: path, as: UTF8.self)
    if let text, 1...Limits.recordNameBytesMax ~= path.count { return FileChange(name: Name(text)) }
    let name = Name("\(ContentHash(of: path.span.bytes))")
    return FileChange(name: name, path: text.map { .string($0) } ?? .bytes(path))
  }

  /// Takes as many changes as fit into one transaction.
  private static func part(_ rest: inout ArraySlice<FileChange>) -> [FileChange] {
    var operations = 0
    var bytes = 0
    var part: [FileChange] = []
    while let next = rest.first {
      operations += next.operationsMax
      bytes += next.bytesMax
      let steps = FoldWork.stepsMax(ofOperations: operations, payloadBytes: bytes)
      if bytes > Self.bytesMax || steps > Limits.foldStepsMax, !part.isEmpty { break }
      part.append(next)
      rest.removeFirst()
    }
    return part
  }

  private static func write(_ change: FileChange, in zone: ZoneID, _ tx: inout WriteTransaction) throws {
    let id = RecordID(zone: zone, name: change.name)
    guard let content = change.content else {
      if try tx.contains(id) { try tx.delete(id) }
      return
    }
    if try !tx.contains(id) { try tx.create(id, type: "file") }
    let fields: [(Name, Value?)] = [
      ("blob", .string(content.blob)), ("mode", .string(content.mode)), ("path", change.path),
      ("size", content.size.map { .int($0) }),
    ]
    for (field, value) in fields where try tx.value(of: field, in: id) != value {
      try tx.set(field, of: id, to: value ?? .null)
    }
  }

  static func milliseconds(_ seconds: Int64) -> Int64 {
    let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    return overflow || seconds < 0 ? 0 : min(milliseconds, Int64(Timestamp.millisecondsMax) - (1 << 32))
  }

  /// Cuts a text to a count of bytes, between scalars; nil for an empty text.
  static func cut(_ text: String, bytesMax: Int) -> String? {
    guard text.utf8.count > bytesMax else { return text.isEmpty ? nil : text }
    var cut = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars {
      count += UTF8.width(scalar)
      if count > bytesMax { break }
      cut.append(scalar)
    }
    return String(cut)
  }

  /// An error that also says what was imported before it.
  private func told(_ error: any Error, _ report: Report) -> ToolError {
    let were = report.commits == 1 ? "was" : "were"
    let kept =
      report.commits == 0
      ? "nothing was imported" : "\(Display.count(report.commits, "commit")) before it \(were) imported"
    // An interrupt from the keyboard also ends git.
    let isInterrupt = error is ProcessFailure && progress.isInterrupted
    guard let failure = error as? ProcessFailure, !isInterrupt else {
      let error = ToolError(isInterrupt ? Interrupted() : error)
      let hint = error.exit == .interrupted ? "import into a new store, or another zone" : error.hint
      return ToolError(error.code, "\(error.message); \(kept)", hint: hint, exit: error.exit)
    }
    return ToolError.input(
      "gitFailed", "git failed: \(failure.message); \(kept)",
      hint: "check the repository with `git fsck`, then import into a new store")
  }
}
