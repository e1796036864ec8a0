import ArgumentParser
import EventStore

/// `replay query`: the records that fulfil a condition.
struct QueryCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Shows the records that fulfil a condition, in an order.",
    discussion: """
      A query is a type of records or *, and then what is wanted of:

        in ZONE, …
        where CONDITION        and, or, not, ( )
        order by FIELD [desc], …
        limit COUNT

      A comparison is a field, and one of: = != < <= > >= VALUE; in (VALUE, …); between VALUE and VALUE; \
      contains VALUE; starts with TEXT; ends with TEXT; has (CONDITION) for the elements of a list, a set, a map or \
      an array.

      In has ( ), a field is a member of the element, and element is the element itself. between includes both ends. \
      contains looks for an element, for a key of a map, or for a part of a text. Texts are compared by their bytes, so \
      upper and lower case differ. Records without a value come first, and with desc last.

      author.name is a field of the record that author refers to, draft:text a member of a value, and .name the \
      record's name. A value is "text", 12, 1.5, true, false, null, 2026-01-31, 2026-01-31T09:05Z, a UUID, or \
      @zone:record. A date without a time is midnight, \
      in UTC without a zone.

      Example: replay query notes.store 'post where date > 2026-01-01 and tags contains "swift" order by date desc limit 5'
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: ArgumentHelp("What to show.", valueName: "query"))
  var query: String

  @Flag(help: "Say how the query is run, and do not run it.")
  var explain = false

  @Flag(help: "Print only how many records there are.")
  var count = false

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let query: RecordQuery
    do throws(QueryTextError) {
      query = try QueryText.parse(self.query)
    } catch {
      throw ToolError.input(
        "queryInvalid",
        "the query cannot be read at column \(error.column): expected \(error.expected), found \(Display.plain(error.found))",
        hint: "`replay query --help` shows the form of queries")
    }
    let opened = try store.openForReading(console)
    defer { opened.close() }
    try opened.read { transaction in
      for zone in query.zones ?? [] { try Inputs.check(zone, in: transaction) }
      if explain {
        let plan = try transaction.explain(query)
        return try store.json ? console.output.line(plan.json) : console.output.line("\(plan)")
      }
      if count {
        let count = try transaction.count(query)
        return try store.json
          ? console.output.line(JSON.object(["records": .number(count)])) : console.output.line("\(count)")
      }
      var page = StatePage(
        output: console.output, printsJSON: store.json, isWhole: false, at: nil, limit: .max,
        isInterrupted: console.isInterrupted)
      for hit in try transaction.hits(query) {
        if console.isInterrupted() { throw Interrupted() }
        try page.print(hit.record, showsHidden: false, transaction)
      }
      try page.end()
    }
    return nil
  }
}

extension QueryPlan {
  /// `{"filter":"…","sort":["…"],"zones":["…"]}`.
  fileprivate var json: JSON {
    .object([
      "zones": .array(zones.map { .string("\($0)") }), "filter": .string("\(filter)"),
      "sort": .array(sort.map { .string("\($0.field)\($0.isDescending ? " desc" : "")") }),
    ])
  }
}
