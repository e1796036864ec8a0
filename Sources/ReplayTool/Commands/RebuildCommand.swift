import ArgumentParser
import EventStore

/// `replay rebuild`: makes the records again from the log.
struct RebuildCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "rebuild", abstract: "Makes all records again from the log.",
    discussion: """
      It changes the store in steps; other processes may read and write meanwhile. If it is interrupted, nothing has changed, \
      and the next run or sync continues.

      Example: replay rebuild notes.store
      """)

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try store.openForWriting(console, creates: false)
    defer { opened.close() }
    let progress = Progress(console)
    let report: RebuildReport
    do {
      report = try await opened.rebuild { done, total in
        try progress.update("folding the log", done: done, total: total)
      }
    } catch is Interrupted {
      throw ToolError.interrupted(
        hint: "no record has changed; the next run continues where this one ended")
    }
    progress.end()
    if store.json {
      try console.output.line(
        .object([
          "transactions": .number(report.transactions), "zones": .number(report.zones),
          "wasResumed": .bool(report.wasResumed),
        ]))
    } else {
      let zones = Display.count(report.zones, "zone")
      let transactions = Display.count(report.transactions, "transaction")
      let resumed = report.wasResumed ? ", continuing an earlier run" : ""
      try console.output.line("rebuilt \(zones) from \(transactions)\(resumed)")
    }
    return nil
  }
}
