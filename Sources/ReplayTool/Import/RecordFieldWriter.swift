import EventStore

/// Writes what a record is to hold over what it holds, kind by kind; fields that are not named stay.
struct RecordFieldWriter {
  let record: RecordID

  init(_ record: RecordID) { self.record = record }

  /// - Returns: how many fields were changed.
  func write(
    _ fields: RecordFields, over held: RecordFields, _ tx: inout WriteTransaction
  ) throws -> Int {
    try checkKinds(of: fields, over: held)
    var count = 0
    for (field, value) in fields.registers.sorted(by: { $0.key < $1.key })
    where value != held.registers[field] ?? .null {
      try tx.set(field, of: record, to: value)
      count += 1
    }
    for (field, kinds) in fields.merging.sorted(by: { $0.key < $1.key }) {
      for (kind, _) in FieldKind.merging {
        guard let value = kinds[kind], value != held.merging[field]?[kind] else { continue }
        try write(value, kind, over: held.merging[field]?[kind], field, &tx)
        count += 1
      }
    }
    return count
  }

  /// Throws where a field that has a kind would get another one: one of them alone shows. What never had one comes as the
  /// line says it, so that a record of which apps made two kinds of one field comes back as it was.
  private func checkKinds(of fields: RecordFields, over held: RecordFields) throws {
    for field in Set(fields.registers.keys).union(fields.merging.keys).sorted() {
      let present = held.kinds(of: field)
      guard let kind = present.first,
        let other = fields.kinds(of: field).first(where: { !present.contains($0) })
      else { continue }
      throw ToolError.input(
        "kindDiffers",
        "field “\(field)” of \(record) is a \(kind.rawName) in the store, and a \(other.rawName) in the file",
        hint: "give it another name, or leave it out of the line")
    }
  }

  private func write(
    _ value: Value, _ kind: FieldKind, over held: Value?, _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    switch (kind, value) {
    case (.counter, _): try addDifference(value, over: held, field, &tx)
    case (.set, .array(let elements)):
      let present = Set(held?.elements ?? [])
      for element in elements where !present.contains(element) {
        try tx.insert(element, into: field, of: record)
      }
      let wanted = Set(elements)
      for element in held?.elements ?? [] where !wanted.contains(element) {
        try tx.remove(element, from: field, of: record)
      }
    case (.map, .map(let entries)):
      var present: [Name: Value] = [:]
      if case .map(let found) = held { present = found }
      for (key, value) in entries.sorted(by: { $0.key < $1.key }) where present[key] != value {
        try tx.put(value, at: key, in: field, of: record)
      }
      for key in present.keys.sorted() where entries[key] == nil {
        try tx.removeValue(at: key, from: field, of: record)
      }
    case (.list, .array(let elements)):
      if let count = held?.elements.count, count > 0 {
        try tx.removeElements(0..<count, from: field, of: record)
      }
      try tx.insertElements(elements, at: 0, in: field, of: record)
    case (.text, .string(let text)):
      if case .string(let present) = held {
        try tx.removeText(0..<present.unicodeScalars.count, from: field, of: record)
      }
      try tx.insertText(text, at: 0, in: field, of: record)
    case (.contributions, .array(let payloads)):
      let present = held?.elements ?? []
      guard Array(payloads.prefix(present.count)) == present else {
        throw differs(field, "what was contributed cannot be taken back")
      }
      for payload in payloads.dropFirst(present.count) { try tx.contribute(payload, to: field, of: record) }
    default: return
    }
  }

  private func addDifference(
    _ value: Value, over held: Value?, _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    guard let held else { return try tx.add(value, to: field, of: record) }
    guard case (.int(let wanted), .int(let present)) = (value, held) else {
      throw differs(field, "only whole counters can be brought to another count")
    }
    let (difference, overflow) = wanted.subtractingReportingOverflow(present)
    if overflow { throw differs(field, "the difference is too large") }
    try tx.add(.int(difference), to: field, of: record)
  }

  private func differs(_ field: Name, _ why: String) -> ToolError {
    ToolError.input(
      "fieldDiffers", "field “\(field)” of \(record) differs in the store, and \(why)",
      hint: "import into another store, or leave the field out of the line")
  }
}

extension Value {
  fileprivate var elements: [Value] { if case .array(let values) = self { values } else { [] } }
}
