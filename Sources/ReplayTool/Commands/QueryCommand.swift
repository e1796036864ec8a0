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
      contains VALUE; starts with TEXT; ends with TEXT; matches TEXT, which has all its words, the last one at least begun; has (CONDITION) for the elements of a list, a set, a map or \
      an array.

      In has ( ), a field is a member of the element, and element is the element itself. between includes both ends. \
      contains looks for an element, for a key of a map, or for a part of a text. Texts are compared by their bytes, so \
      upper and lower case differ, except in matches. Records without a value come first, and with desc last.

      author.name is a field of the record that author refers to, draft:text a member of a value, and .name the \
      record's name. A value is "text", 12, 1.5, true, false, null, 2026-01-31, 2026-01-31T09:05Z, a UUID, or \
      @zone:record. A date without a time is midnight, \
      in UTC without a zone.

      A field that the app has declared is read as its queries read it: a list whose members merge with the members as \
      they are now. A hint says if no record has a type, a zone or a field that the query names. JSON has hints in a member hints: of the \
      result of --count and --explain, else of a line on standard error.

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
    let opened = try store.openForReading(console)
    defer { opened.close() }
    try opened.read { transaction in
      let declared = try transaction.declaredFields()
      let query = try parse(declared)
      for zone in query.zones ?? [] { try Inputs.check(zone, in: transaction) }
      let hints = QueryHints(query, declared, isInterrupted: console.isInterrupted)
      if explain {
        let plan = try transaction.explain(query)
        let found = try hints.all(isEmpty: false, transaction)
        return try print(plan.jsonMembers, "\(plan)", found, console)
      }
      if count {
        let count = try transaction.count(query)
        let found = try hints.all(isEmpty: count == 0, transaction)
        return try print(["records": .number(count)], "\(count)", found, console)
      }
      var page = StatePage(
        output: console.output, printsJSON: store.json, isWhole: false, at: nil, limit: .max,
        declared: declared, isInterrupted: console.isInterrupted)
      let hits = try transaction.hits(query)
      for hit in hits {
        if console.isInterrupted() { throw Interrupted() }
        try page.print(hit.record, showsHidden: false, transaction)
      }
      try page.end()
      try printHints(try hints.all(isEmpty: hits.isEmpty, transaction), console)
    }
    return nil
  }

  private func parse(_ declared: DeclaredFields) throws -> RecordQuery {
    do throws(QueryTextError) {
      return try QueryText.parse(query, declared: declared)
    } catch {
      throw ToolError.input(
        "queryInvalid",
        "the query cannot be read at column \(error.column): expected \(error.expected), found \(Display.plain(error.found))",
        hint: "`replay query --help` shows the form of queries")
    }
  }

  /// Prints one result. In JSON, hints are a member of it.
  private func print(
    _ members: [Name: JSON], _ text: String, _ hints: [String], _ console: Console
  ) throws {
    guard store.json else {
      try console.output.line(text)
      return try printHints(hints, console)
    }
    var members = members
    if !hints.isEmpty { members["hints"] = .array(hints.map { .string($0) }) }
    try console.output.line(.object(members))
  }

  /// Prints hints beside the records, where errors go.
  private func printHints(_ hints: [String], _ console: Console) throws {
    if hints.isEmpty { return }
    let errors = console.errors
    if store.json { return try errors.line(.object(["hints": .array(hints.map { .string($0) })])) }
    for hint in hints { try errors.line(errors.styled("hint:", .quiet) + " " + hint) }
  }
}

extension QueryPlan {
  /// `{"filter":"…","sort":["…"],"zones":["…"]}`.
  fileprivate var jsonMembers: [Name: JSON] {
    [
      "zones": .array(zones.map { .string("\($0)") }), "filter": .string("\(filter)"),
      "sort": .array(sort.map { .string("\($0.field)\($0.isDescending ? " desc" : "")") }),
    ]
  }
}
