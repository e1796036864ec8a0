import ArgumentParser
import EventStore
import OperationFormat

/// `replay log`: lists the transactions of a store, one line each.
struct LogCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Lists transactions in the order in which the store received them.",
    discussion: """
      A line has: position, time, replica, author, zone, label, count of operations; of a transaction that lets the zone be \
      compacted, the floor that it names. Last, where the history of a zone begins that begins with a snapshot: this store \
      does not have what was before, since it was retired or never read. Filters by time use the printed time. A \
      replica's epoch follows after a dot if it is not 0: it distinguishes copies of one store.

      Example: replay log notes.store --record shopping:milk --operations
      """)

  @OptionGroup var store: StoreOptions
  @OptionGroup(title: "Filters") var filter: LogFilter

  @Option(parsing: .unconditional, help: ArgumentHelp("At most this many transactions.", valueName: "count"))
  var limit: Int?

  @Flag(help: "The last transaction first.")
  var reverse = false

  @Flag(help: "Print the operations below each transaction.")
  var operations = false

  @Flag(help: "Continue with new transactions, also of other processes. Ctrl-C ends it, with 0.")
  var follow = false

  private static let pollMilliseconds = 200

  func validate() throws {
    if follow && reverse { throw ValidationError("--follow and --reverse exclude each other.") }
    if let limit, limit < 0 { throw ValidationError("--limit must not be negative.") }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let filter = try filter.resolved()
    let opened = try store.openForReading(console)
    defer { opened.close() }
    var page = LogPage(output: console.output, printsJSON: store.json, showsOperations: operations)
    var left = limit ?? .max
    var position = filter.after
    do {
      try opened.read { transaction in
        if let zone = filter.zone { try Inputs.check(zone, in: transaction) }
        page.positionDigits = "\(try transaction.lastPosition())".count
        if reverse {
          try list(backwards: transaction, filter, console, &page, &left)
        } else {
          position = try list(transaction, filter, after: position, console, &page, &left)
        }
      }
    } catch {
      // Print everything before a damaged entry.
      try page.flush()
      throw error
    }
    try page.flush()
    if limit == nil { try opened.read { try printBegins($0, filter, console.output) } }
    if page.isEmpty, !follow, !store.json {
      try console.output.line(console.output.styled("no transactions", .quiet))
    }
    while follow, left > 0, !console.isInterrupted() {
      try console.output.flush()
      try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
      try opened.read { transaction in
        guard try transaction.lastPosition() > position else { return }
        position = try list(transaction, filter, after: position, isFollowing: true, console, &page, &left)
      }
      try page.flush()
    }
    return nil
  }

  /// Says where the history of zones begins that begin with a snapshot.
  private func printBegins(
    _ transaction: borrowing ReadTransaction, _ filter: LogFilter.Resolved, _ output: Output
  ) throws {
    for zone in try transaction.zones() where filter.zone == nil || filter.zone == zone {
      guard let origin = try transaction.historyBegin(of: zone),
        filter.after == .start || origin.position > filter.after
      else { continue }
      if store.json {
        try output.line(
          .members([
            "zone": .text(zone), "retiredThrough": .number(origin.position.rawValue),
            "snapshot": .number(origin.offset),
            "time": origin.arrivedMilliseconds.map { .string(CalendarTime.text(milliseconds: $0)) },
          ]))
      } else {
        try output.line(
          output.styled(
            "the history of \(Display.zone(zone)) begins \(Display.begin(origin)): \(Display.notBeforeSnapshot)",
            .quiet))
      }
    }
  }

  /// Lists the transactions after a position.
  ///
  /// - Returns: the last listed position.
  private func list(
    _ transaction: borrowing ReadTransaction, _ filter: LogFilter.Resolved, after position: Position,
    isFollowing: Bool = false, _ console: Console, _ page: inout LogPage, _ left: inout Int
  ) throws -> Position {
    let last = try transaction.lastPosition()
    guard left > 0 else { return last }
    // Few transactions follow, so reading all of them is cheaper than looking up those of the zone.
    let (zone, record) = isFollowing ? (nil, nil) : (filter.zone, filter.record)
    try transaction.history(after: position, zone: zone, record: record) { entry in
      if console.isInterrupted() {
        // With --follow, an interrupt is a normal end.
        if follow { return false }
        throw Interrupted()
      }
      guard filter.matches(entry.transaction) else { return true }
      try page.print(entry)
      left -= 1
      return left > 0
    }
    return max(last, position)
  }

  private func list(
    backwards transaction: borrowing ReadTransaction, _ filter: LogFilter.Resolved, _ console: Console,
    _ page: inout LogPage, _ left: inout Int
  ) throws {
    var next = try transaction.entry(before: nil)
    while left > 0, let entry = next, entry.position > filter.after {
      if console.isInterrupted() { throw Interrupted() }
      if filter.matches(entry.transaction) {
        try page.print(entry)
        left -= 1
      }
      next = try transaction.entry(before: entry.position)
    }
  }
}

/// The lines of `replay log`.
private struct LogPage {
  private static let labelCharactersMax = 46

  var positionDigits = 1
  private(set) var isEmpty = true
  private let output: Output
  private let printsJSON: Bool
  private let showsOperations: Bool
  private var columns: Columns

  init(output: Output, printsJSON: Bool, showsOperations: Bool) {
    self.output = output
    self.printsJSON = printsJSON
    self.showsOperations = showsOperations
    columns = Columns(output)
  }

  mutating func print(_ entry: LogEntry) throws {
    isEmpty = false
    if printsJSON { return try output.line(Self.json(entry, showsOperations)) }
    let transaction = entry.transaction
    let position = "\(entry.position)"
    try columns.add(
      [
        .init(String(repeating: " ", count: max(0, positionDigits - position.count)) + position),
        .init(Display.time(transaction.timestamp), .quiet),
        .init(Display.writer(transaction.id), .quiet),
        .init(transaction.author.map { Display.plain($0) } ?? "-"),
        .init(Display.zone(transaction.zone)),
        .init(transaction.label.map { Display.plain($0, limit: Self.labelCharactersMax) } ?? "-"),
        .init(Self.content(transaction), .quiet),
      ],
      below: showsOperations ? transaction.operations.map { "    " + OperationText.line($0) } : [])
  }

  mutating func flush() throws { try columns.flush() }

  private static func content(_ transaction: LogTransaction) -> String {
    if case .compact(let floor)? = transaction.operations.first { return "compacts up to offset \(floor)" }
    return Display.count(transaction.operations.count, "operation")
  }

  private static func json(_ entry: LogEntry, _ showsOperations: Bool) -> JSON {
    var members = entry.jsonMembers
    if !showsOperations {
      members["operations"] = .number(entry.transaction.operations.count)
      members["names"] = nil
    }
    return .object(members)
  }
}
