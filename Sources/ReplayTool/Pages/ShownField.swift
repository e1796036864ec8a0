import EventStore

/// What a record shows of a field, and what is stored beside it.
struct ShownField {
  let name: Name
  /// Nil if the app shows nothing, or its default.
  let value: Value?
  /// What is stored under the name in other kinds, which the app does not show.
  var others: [(kind: FieldKind, value: Value)] = []

  /// `also register 5, map ["k": 1]`; nil if nothing else is stored.
  func othersText(limit: Int?) -> String? {
    if others.isEmpty { return nil }
    return "also "
      + others.map { "\($0.kind) \(Display.value($0.value, limit: limit))" }.joined(separator: ", ")
  }
}

extension DeclaredFields {
  /// The fields of a record in the order of their names: a declared one as its kind shows it, others by what
  /// is stored of them first.
  func shownFields(of record: Record, _ transaction: borrowing ReadTransaction) throws -> [ShownField] {
    let stored = record.fields
    guard let declared = types[record.type] else {
      return stored.sorted { $0.key < $1.key }.map { ShownField(name: $0.key, value: $0.value) }
    }
    let cells = try transaction.cells(of: record.id)
    let renamed = declared.filter { !$0.value.formerNames.allSatisfy { cells[$0] == nil } }.keys
    return try Set(cells.keys).union(renamed).sorted().compactMap { name in
      guard let field = declared[name] else {
        return stored[name].map { ShownField(name: name, value: $0) }
      }
      let value = try shown(field, name, cells, of: record.id, transaction)
      let others = FieldKind.allCases.filter { $0 != field.kind && !(field.mergesMembers && $0 == .map) }
        .compactMap { kind in cells[name]?[kind].map { (kind, $0) } }
      return value == nil && others.isEmpty ? nil : ShownField(name: name, value: value, others: others)
    }
  }

  private func shown(
    _ field: QueryField, _ name: Name, _ cells: [Name: [FieldKind: Value]], of record: RecordID,
    _ transaction: borrowing ReadTransaction
  ) throws -> Value? {
    let own = cells[name]?[field.kind]
    switch field.kind {
    case .register:
      let set = ([name] + field.formerNames).filter { cells[$0]?[.register] != nil }
      let latest = try set.count > 1 ? transaction.reader.latest(of: set, in: record) : set.first
      let value = latest.flatMap { cells[$0]?[.register] }
      return value.map { field.upcast?($0) ?? $0 }
    case .counter where !field.formerNames.isEmpty:
      return try transaction.reader.sum(of: name, withRegisters: field.formerNames, of: record) ?? own
    case .set where !field.formerNames.isEmpty:
      let elements = try transaction.reader.elements(of: name, withRegisters: field.formerNames, of: record)
      return elements.isEmpty ? own : .array(elements.sorted { $0.precedes($1) })
    case .list where field.mergesMembers:
      guard case .array(let elements)? = own else { return own }
      guard case .map(let members)? = cells[name]?[.map] else {
        return .array(MergedMembers.merge(elements, [:]))
      }
      return .array(MergedMembers.merge(elements, members))
    case .counter, .set, .map, .list, .text, .contributions: return own
    }
  }
}

// MARK: JSON

extension [ShownField] {
  /// The values by field.
  var json: JSON {
    .object(
      Dictionary(uniqueKeysWithValues: compactMap { field in field.value.map { (field.name, $0.json) } }))
  }

  /// What is stored beside them, by field and kind; nil if nothing is.
  var othersJSON: JSON? {
    let others = filter { !$0.others.isEmpty }
    if others.isEmpty { return nil }
    return .object(
      Dictionary(
        uniqueKeysWithValues: others.map { field in
          let values = field.others.map { ($0.kind.name, $0.value.json) }
          return (field.name, .object(Dictionary(uniqueKeysWithValues: values)))
        }))
  }
}

extension Record {
  /// `{"also":{…},"fields":{…},"record":"zone:name","type":"…"}`; `also` is absent if it is empty.
  func json(_ shown: [ShownField]) -> JSON {
    .members([
      "record": .text(id), "type": .text(type), "fields": shown.json, "also": shown.othersJSON,
    ])
  }
}
