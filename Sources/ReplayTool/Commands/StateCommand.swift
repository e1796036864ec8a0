import ArgumentParser
import EventStore

/// `replay state`: shows records as they are now, or as they were.
struct StateCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "state", abstract: "Shows records, now or as they were at a position of the log.",
    discussion: """
      Without a zone it shows all zones: the first 100 records, or with --json all. Long values are cut, unless one \
      record is asked for. A field is shown as the kind that the app declares for it; what is stored of other kinds \
      follows after “also”.

      Example: replay state notes.store shopping:milk --at 12
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: ArgumentHelp("A zone, or a record as zone:name.", valueName: "zone or record"))
  var subject: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The state after the transaction at this position; 0 is before the first.", valueName: "position"))
  var at: UInt64?

  @Flag(help: "Also show records that were deleted or that a cascade hides, with their fields.")
  var hidden = false

  @Flag(help: "Only list the records that moved to other zones, and where they are now.")
  var moved = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "At most this many records; 100 if it is not given, with --json all.", valueName: "count"))
  var limit: Int?

  /// How many records are printed for people who do not say how many.
  private static let recordsShown = 100

  func validate() throws {
    if moved, hidden || subject?.contains(":") == true {
      throw ValidationError(
        "--moved lists zones, without --hidden: `replay explain` tells where one record is.")
    }
    if let limit, limit < 0 { throw ValidationError("--limit must not be negative.") }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let record = try subject.flatMap { $0.contains(":") ? try Inputs.record($0) : nil }
    let zone = try record?.zone ?? subject.map(Inputs.zone)
    let opened = try store.openForReading(console)
    defer { opened.close() }
    let progress = Progress(console)
    var past: StoreSnapshot?
    if let at {
      let position =
        try at == 0 ? .start : opened.read { transaction in try Inputs.position(at, in: transaction) }
      past = try opened.snapshotBlockingThisThread(at: position) { done, total in
        try progress.update("folding the log", done: done, total: total)
      }
      progress.end()
    }
    func show(_ transaction: borrowing ReadTransaction) throws {
      if let zone { try Inputs.check(zone, in: transaction) }
      let zones = try zone.map { [$0] } ?? transaction.zones()
      let limit = limit ?? (store.json ? .max : Self.recordsShown)
      if moved {
        let page = ForwardingsPage(
          output: console.output, printsJSON: store.json, isInterrupted: console.isInterrupted, limit: limit)
        return try page.print(zones, transaction)
      }
      var page = StatePage(
        output: console.output, printsJSON: store.json, isWhole: record != nil, at: at,
        limit: limit, declared: try transaction.declaredFields(), isInterrupted: console.isInterrupted)
      if let record {
        try page.print(record, showsHidden: hidden, transaction)
        return try page.end()
      }
      for zone in zones where !page.isFull {
        // A walk over a zone's records skips hidden records.
        try page.print(zone, hidden: hidden ? transaction.allRecordNames(in: zone) : [], transaction)
      }
      guard page.isFull, !store.json else { return try page.end() }
      let count = try count(zones, transaction)
      try page.end(of: count)
    }
    if let past { try past.read(show) } else { try opened.read(show) }
    return nil
  }

  /// How many records are shown without a limit.
  private func count(_ zones: [ZoneID], _ transaction: borrowing ReadTransaction) throws -> Int {
    guard hidden else { return try transaction.count(RecordQuery(zones: zones)) }
    return try zones.reduce(0) { try $0 + transaction.allRecordNames(in: $1).count }
  }
}
