import ArgumentParser
import EventStore

/// `replay explain`: why a value is what it is.
struct ExplainCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Says why a value is what it is: what won, what lost, and who had seen what.",
    discussion: """
      An operation replaces the operations that it has seen. Of operations that have not seen each other, the later one \
      wins. With a field it tells the field's history; without one, the record's existence and a summary of every field. \
      An element of a list whose members merge is shown with its members as they are now, and those that were changed \
      follow it.

      Example: replay explain notes.store shopping:milk title
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "The record, as zone:name.")
  var record: String

  @Argument(help: "The field.")
  var field: String?

  @Option(
    help: ArgumentHelp(
      "Only this element of a set, or this key of a map: a text, or JSON as printed by --json.",
      valueName: "value"))
  var element: String?

  @Flag(help: "Only the history of the record's existence: who created, changed and deleted it.")
  var existence = false

  func validate() throws {
    if existence && field != nil { throw ValidationError("--existence and a field exclude each other.") }
    if element != nil && field == nil { throw ValidationError("--element needs a field.") }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let record = try Inputs.record(record)
    let opened = try store.openForReading(console)
    defer { opened.close() }
    try opened.read { transaction in
      try Inputs.check(record.zone, in: transaction)
      if existence || field != nil {
        try explain(record, field.map { Name($0) }, transaction, console)
      } else {
        try explainAll(record, transaction, console)
      }
    }
    return nil
  }

  private func explain(
    _ record: RecordID, _ field: Name?, _ transaction: borrowing ReadTransaction, _ console: Console
  ) throws {
    let element = Inputs.element(element)
    let declared = try field.flatMap { try declaration(of: record, transaction)($0) }
    var found = try declared.flatMap {
      try transaction.explain(record, field: field, as: $0.kind, element: element)
    }
    if found == nil { found = try transaction.explain(record, field: field, element: element) }
    guard let explanation = found else { throw try unknown(record, field, transaction) }
    let members = try element == nil ? ChangedMembers(of: explanation, declared, transaction) : nil
    let nullified = try transaction.nullifiedTargets(explanation)
    if store.json {
      return try console.output.line(explanation.json(nullified: nullified, members: members))
    }
    let page = ExplanationPage(
      explanation: explanation, members: members, token: try transaction.token(of: record.zone),
      writtenHere: try transaction.writtenHere(in: record.zone), nullified: nullified)
    try page.print(console.output)
  }

  /// Explains the record's existence and all its fields.
  private func explainAll(
    _ record: RecordID, _ transaction: borrowing ReadTransaction, _ console: Console
  ) throws {
    let declaration = try declaration(of: record, transaction)
    if !store.json {
      guard let existence = try transaction.explain(record) else {
        throw try unknown(record, nil, transaction)
      }
      var story = RecordStory(output: console.output, existence: existence, declaration: declaration)
      return try story.print(transaction)
    }
    let explanations = try transaction.explainAll(record) { declaration($0)?.kind }
    guard let existence = explanations.first else { throw try unknown(record, nil, transaction) }
    var fields: [Name: JSON] = [:]
    for explanation in explanations {
      guard let field = explanation.field else { continue }
      let members = try ChangedMembers(of: explanation, declaration(field), transaction)
      fields[field] = explanation.json(
        nullified: try transaction.nullifiedTargets(explanation), members: members)
    }
    try console.output.line(
      .members([
        "record": .text(record), "isVisible": .bool(existence.isVisible),
        "hiddenWith": existence.missingTarget.map { .text($0) }, "existence": existence.json(),
        "fields": .object(fields),
      ]))
  }

  /// What the app has declared of the fields of a record, by its type.
  private func declaration(
    of record: RecordID, _ transaction: borrowing ReadTransaction
  ) throws -> (Name) -> QueryField? {
    let declared = try transaction.declaredFields()
    for head in try transaction.existence(of: record) {
      if case .alive(let type) = head.content { return { declared.field($0, of: type) } }
    }
    return { _ in nil }
  }

  private func unknown(
    _ record: RecordID, _ field: Name?, _ transaction: borrowing ReadTransaction
  ) throws -> ToolError {
    let fields = try transaction.fieldsWithEmptied(of: record)
    if let field, fields.contains(field), let element {
      return ToolError(
        "elementUnknown", "“\(Display.plain(element))” is nothing that \(Display.name(field)) has, or had",
        hint: "list them all: give no --element", exit: .input)
    }
    if let field, try !transaction.existence(of: record).isEmpty {
      return ToolError(
        "fieldUnknown", "the record \(Display.record(record)) has no field “\(Display.name(field))”",
        hint: fields.isEmpty
          ? "it has no fields"
          : "it has \(Display.list(fields.map { Display.name($0) }, max: 12))", exit: .input)
    }
    if let field, let floor = try transaction.explain(record)?.droppedAt {
      return ToolError(
        "fieldUnknown",
        "the record \(Display.record(record)) \(Display.dropped(at: floor)), and the log tells of no field "
          + "“\(Display.name(field))”",
        hint: "what it tells: `replay log STORE --record \(Display.record(record))`",
        exit: .input)
    }
    return ToolError(
      "recordUnknown", "there is no record \(Display.record(record)) in what this store has",
      hint: "list the zone with `replay state STORE \(Display.zone(record.zone).argument)`",
      exit: .input)
  }
}
