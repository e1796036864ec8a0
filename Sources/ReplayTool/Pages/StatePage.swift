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
  private var left: Int
  private var isFirst = true

  init(
    output: Output, printsJSON: Bool, isWhole: Bool, at position: UInt64?, limit: Int,
    isInterrupted: @escaping () -> Bool
  ) {
    self.output = output
    self.printsJSON = printsJSON
    self.isWhole = isWhole
    self.position = position
    self.isInterrupted = isInterrupted
    left = limit
  }

  /// Prints one record. It must exist, unless hidden records are shown.
  mutating func print(
    _ id: RecordID, showsHidden: Bool, _ transaction: borrowing ReadTransaction
  ) throws {
    if let record = try transaction.record(id) { return try print(record) }
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
      try page.print(record)
      return page.left > 0
    }
    for name in hidden { try page.print(hidden: RecordID(zone: zone, name: name), transaction) }
    self = page
  }

  /// Prints a note if nothing was printed.
  func end() throws {
    if isFirst, !printsJSON { try output.line(output.styled("no records", .quiet)) }
  }

  private mutating func print(_ record: Record) throws {
    left -= 1
    if printsJSON { return try output.line(record.json) }
    try heading(record.id, Display.name(record.type), isHidden: false)
    try print(record.fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
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
    let held = try transaction.recordOrHidden(id)?.fields ?? [:]
    let fields = held.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    let missing = try transaction.missingTarget(of: id)
    if printsJSON {
      return try output.line(
        .members([
          "record": .text(id), "hidden": .bool(true), "hiddenWith": missing.map { .text($0) },
          "existence": .array(existence.map(\.json)),
          "fields": .object(Dictionary(uniqueKeysWithValues: fields.map { ($0, $1.json) })),
        ]))
    }
    let gone = Self.end(existence)
    let what = gone.map { HeadText.content($0, limit: nil) } ?? "deleted"
    let state = what + (gone.map { " at \(Display.time($0.timestamp))" } ?? "")
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

  private func print(_ fields: [(Name, Value)]) throws {
    var columns = Columns(output, indent: 2)
    for (field, value) in fields {
      let text = isWhole ? Display.value(value, limit: nil) : Display.value(value)
      try columns.add([.init(Display.name(field), .quiet), .init(text)])
    }
    try columns.flush()
  }
}
