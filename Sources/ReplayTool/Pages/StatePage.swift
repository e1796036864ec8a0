import EventStore

/// Prints the result of `replay state`: records with their fields.
struct StatePage {
  private let output: Output
  private let printsJSON: Bool
  /// Whether values are printed in full.
  private let isWhole: Bool
  /// The position of the shown state; nil for the present.
  private let position: UInt64?
  private let isInterrupted: () -> Bool
  /// The fields that the app has declared.
  private let declared: DeclaredFields
  private var left: Int
  private var printed = 0
  private var isFirst = true

  init(
    output: Output, printsJSON: Bool, isWhole: Bool, at position: UInt64?, limit: Int,
    declared: DeclaredFields, isInterrupted: @escaping () -> Bool
  ) {
    self.output = output
    self.printsJSON = printsJSON
    self.isWhole = isWhole
    self.position = position
    self.isInterrupted = isInterrupted
    self.declared = declared
    left = limit
  }

  /// Whether the limit is reached.
  var isFull: Bool { left <= 0 }

  /// Prints one record. It must exist, unless hidden records are shown.
  mutating func print(
    _ id: RecordID, showsHidden: Bool, _ transaction: borrowing ReadTransaction
  ) throws {
    if let record = try transaction.record(id) { return try print(record, transaction) }
    let existence = try transaction.existence(of: id)
    guard !existence.isEmpty else {
      throw ToolError(
        "recordUnknown",
        "there \(position == nil ? "is" : "was") no record \(Display.record(id))"
          + (position.map { " up to position \($0)" } ?? " in what this store has"),
        hint: "list the zone with `replay state STORE \(Display.zone(id.zone).argument)`",
        exit: .input)
    }
    guard showsHidden else {
      let end = "was " + (Self.end(existence).map { HeadText.content($0, limit: nil) } ?? "deleted")
      let state = try transaction.missingTarget(of: id).map(Display.hidden(with:)) ?? end
      throw ToolError(
        "recordUnknown", "the record \(Display.record(id)) \(state)",
        hint: "show what it held with --hidden, or ask `replay explain` why", exit: .input)
    }
    try print(hidden: id, existence, transaction)
  }

  /// Prints the records of a zone.
  ///
  /// - Parameter hidden: names of records to print even if they are hidden, in order; other records in it are
  ///   skipped.
  mutating func print(_ zone: ZoneID, hidden: [Name], _ transaction: borrowing ReadTransaction) throws {
    var hidden = hidden[...]
    var page = self
    try transaction.forEachRecord(in: zone) { record in
      if isInterrupted() { throw Interrupted() }
      while let name = hidden.first, name < record.id.name {
        try page.print(hidden: RecordID(zone: zone, name: hidden.removeFirst()), transaction)
      }
      if hidden.first == record.id.name { hidden.removeFirst() }
      guard page.left > 0 else { return false }
      try page.print(record, transaction)
      return page.left > 0
    }
    for name in hidden { try page.print(hidden: RecordID(zone: zone, name: name), transaction) }
    self = page
  }

  /// Prints a note if nothing was printed.
  func end() throws {
    if isFirst, !printsJSON { try output.line(output.styled("no records", .quiet)) }
  }

  /// Prints a note of how many records were not printed, if there are any.
  ///
  /// - Parameter count: how many records there are.
  func end(of count: Int) throws {
    guard count > printed else { return try end() }
    if !isFirst { try output.line() }
    let rest = "… and \(Display.count(count - printed, "more record")): --limit \(count) or --json shows all"
    try output.line(output.styled(rest, .quiet))
  }

  private mutating func print(_ record: Record, _ transaction: borrowing ReadTransaction) throws {
    left -= 1
    printed += 1
    let fields = try declared.shownFields(of: record, transaction)
    if printsJSON { return try output.line(record.json(fields)) }
    try heading(record.id, Display.name(record.type), isHidden: false)
    try print(fields)
  }

  private mutating func print(hidden id: RecordID, _ transaction: borrowing ReadTransaction) throws {
    let existence = try transaction.existence(of: id)
    guard left > 0, !existence.isEmpty, try !transaction.contains(id) else { return }
    try print(hidden: id, existence, transaction)
  }

  private mutating func print(
    hidden id: RecordID, _ existence: [CellHead], _ transaction: borrowing ReadTransaction
  ) throws {
    left -= 1
    printed += 1
    let fields =
      try transaction.recordOrHidden(id).map { try declared.shownFields(of: $0, transaction) } ?? []
    let missing = try transaction.missingTarget(of: id)
    let place = try transaction.place(of: id)
    if printsJSON {
      return try output.line(
        .members([
          "record": .text(id), "hidden": .bool(true), "hiddenWith": missing.map { .text($0) },
          "place": place.record == id ? nil : place.json,
          "existence": .array(existence.map(\.json)), "fields": fields.json, "also": fields.othersJSON,
        ]))
    }
    let gone = Self.end(existence)
    let what = gone.map { HeadText.content($0, limit: nil) } ?? "deleted"
    let state = what + (gone.flatMap { Display.knownTime($0.timestamp) }.map { " at \($0)" } ?? "")
    try heading(id, missing.map { "hidden with \(Display.record($0))" } ?? state, isHidden: true)
    try print(fields)
  }

  /// The greatest head that ended the record's existence.
  private static func end(_ existence: [CellHead]) -> CellHead? {
    existence.first { if case .alive = $0.content { false } else { true } }
  }

  private mutating func heading(_ id: RecordID, _ what: String, isHidden: Bool) throws {
    if !isFirst { try output.line() }
    isFirst = false
    try output.line(
      output.styled(Display.record(id), .heading) + "  " + output.styled(what, isHidden ? .loser : .quiet))
  }

  private func print(_ fields: [ShownField]) throws {
    var columns = Columns(output, indent: 2)
    let limit: Int? = isWhole ? nil : 40
    for field in fields {
      let value = field.value.map { Display.value($0, limit: limit) }
      let others = field.othersText(limit: limit)
      try columns.add([
        .init(Display.name(field.name), .quiet), .init(value ?? "not set", value == nil ? .quiet : .plain),
        .init(others ?? "", .quiet),
      ])
    }
    try columns.flush()
  }
}
