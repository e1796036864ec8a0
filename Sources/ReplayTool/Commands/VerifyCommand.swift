import ArgumentParser
import EventStore

/// `replay verify`: checks pages, log and records.
struct VerifyCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Checks pages, log and every record against a fresh fold of the log.",
    discussion: """
      It changes nothing. It ends with 1 if it finds problems, with 3 if the store is too damaged to be opened. Where a zone \
      begins with a snapshot, its files are checked first: if one is damaged, records are not compared.

      Example: replay verify notes.store
      """)

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try store.openForReading(console, opensDamaged: true)
    defer { opened.close() }
    let progress = Progress(console)
    let report = try opened.verify { step in
      try progress.update(Self.text(step.step), done: step.done, total: step.total)
    }
    progress.end()
    if store.json { try console.output.line(report.json) } else { try print(report, console.output) }
    return report.isSound ? nil : .problem
  }

  private static func text(_ step: VerificationProgress.Step) -> String {
    switch step {
    case .pages: "checking pages"
    case .log: "checking the log"
    case .fold: "folding the log"
    case .compare: "comparing records"
    case .assets: "checking assets"
    }
  }

  private func print(_ report: VerificationReport, _ output: Output) throws {
    let checked =
      "\(Display.count(report.transactions, "transaction")) and \(Display.count(report.rows, "row")) checked"
      + Self.assets(report)
    guard !report.isSound || !report.comparesRecords else {
      return try output.line("\(output.styled("sound", .winner)), \(checked)")
    }
    if report.isSound {
      try output.line("no problem so far, \(checked)")
      return try output.line(Self.behind)
    }
    try output.line(
      "\(output.styled(Display.count(report.problemCount, "problem"), .loser)), \(checked)")
    try output.line()
    var columns = Columns(output)
    for problem in report.problems {
      try columns.add([
        .init(problem.kind.rawValue, .quiet), .init(Display.plain(problem.location)),
        .init(Display.plain(problem.message)),
      ])
    }
    try columns.flush()
    let rest = report.problemCount - report.problems.count
    if rest > 0 { try output.line(output.styled("and \(Display.count(rest)) more", .quiet)) }
    try output.line()
    try output.line(Self.advice(report))
  }

  private static let behind =
    "Not all records were compared, because a remote log is being read again, or the log is being folded "
    + "again. The next sync that reaches the remote completes that; then verify again."

  /// The part of the summary about assets; empty if there are none.
  private static func assets(_ report: VerificationReport) -> String {
    var text = report.assets > 0 ? ", \(Display.count(report.assets, "asset")) too" : ""
    if report.missingAssets > 0 {
      text += "; \(Display.count(report.missingAssets, "asset")) not downloaded"
    }
    if report.unnamedAssets > 0 {
      text += "; \(Display.count(report.unnamedAssets, "file")) that nothing names"
    }
    return text
  }

  private static func advice(_ report: VerificationReport) -> String {
    let kinds = Set(report.problems.map(\.kind))
    if kinds == [.asset] {
      return
        """
        Log and records are sound. `replay asset download STORE --remote REMOTE` downloads assets that are missing or damaged \
        here; importing them again helps too.
        """
    }
    if kinds.contains(.snapshot), kinds.isSubset(of: [.snapshot, .index, .asset]) {
      return
        """
        The records begin with a damaged snapshot. They are still there, and were not compared. Remove the files that are named \
        here, where they are there: `replay sync STORE --remote REMOTE` then fetches them again, if the remote has that \
        snapshot. Else `replay retire STORE`, without limits, makes a new one of the records as they are. Then verify again.
        """
    }
    if kinds.isSubset(of: [.record, .assetList, .asset]) {
      let made = [
        kinds.contains(.record) ? "the records" : nil,
        kinds.contains(.assetList) ? "the list of assets" : nil,
      ].compactMap(\.self).joined(separator: " and ")
      return "The log is sound: `replay rebuild` makes \(made) again from it."
        + (kinds.contains(.asset) ? " Then verify again: files of assets are compared with it." : "")
    }
    return """
      Keep a copy of the store as it is. `replay export` exports its log, including what was never sent: `replay import` \
      makes a new store from it. If the log cannot be read, `replay export --records` exports the records as they are: \
      sync a new store, and `replay import` them into it. What was sent can also come from the remote, or from a backup.
      """
  }
}

extension VerificationReport {
  fileprivate var json: JSON {
    .object([
      "isSound": .bool(isSound), "comparesRecords": .bool(comparesRecords),
      "transactions": .number(transactions),
      "rows": .number(rows), "assets": .number(assets),
      "missingAssets": .number(missingAssets), "unnamedAssets": .number(unnamedAssets),
      "problemCount": .number(problemCount),
      "problems": .array(
        problems.map {
          .object([
            "kind": .string($0.kind.rawValue), "location": .string($0.location),
            "message": .string($0.message),
          ])
        }),
    ])
  }
}
