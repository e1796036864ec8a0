import ArgumentParser
import EventStore

/// `replay explain`: why a value is what it is.
struct ExplainCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Says why a value is what it is: what won, what lost, and who had seen what.",
    discussion: """
      An operation replaces the operations that it has seen. Of operations that have not seen each other, the later one \
      wins. With a field it tells the field's history; without one, the record's existence and a summary of every field.

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
    guard let explanation = try transaction.explain(record, field: field, element: Inputs.element(element))
    else {
      throw try unknown(record, field, transaction)
    }
    let nullified = try transaction.nullifiedTargets(explanation)
    let page = ExplanationPage(
      explanation: explanation, token: try transaction.token(of: record.zone),
      writtenHere: try transaction.writtenHere(in: record.zone), nullified: nullified)
    if store.json { return try console.output.line(explanation.json(nullified: nullified)) }
    try page.print(console.output)
  }

  /// Explains the record's existence and all its fields.
  private func explainAll(
    _ record: RecordID, _ transaction: borrowing ReadTransaction, _ console: Console
  ) throws {
    if !store.json {
      guard let existence = try transaction.explain(record) else {
        throw try unknown(record, nil, transaction)
      }
      var story = RecordStory(output: console.output, existence: existence)
      return try story.print(transaction)
    }
    let explanations = try transaction.explainAll(record)
    guard let existence = explanations.first else { throw try unknown(record, nil, transaction) }
    var fields: [Name: JSON] = [:]
    for explanation in explanations {
      guard let field = explanation.field else { continue }
      fields[field] = explanation.json(nullified: try transaction.nullifiedTargets(explanation))
    }
    try console.output.line(
      .members([
        "record": .text(record), "isVisible": .bool(existence.isVisible),
        "hiddenWith": existence.missingTarget.map { .text($0) }, "existence": existence.json(),
        "fields": .object(fields),
      ]))
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
    return ToolError(
      "recordUnknown", "there is no record \(Display.record(record)) in what this store has",
      hint: "list the zone with `replay state STORE \(Display.zone(record.zone).argument)`",
      exit: .input)
  }
}
