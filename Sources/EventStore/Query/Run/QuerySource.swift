import OperationFormat

/// What a condition looks at: a record, or an element of one.
protocol QuerySource: ~Copyable, ~Escapable {
  /// What a field of it has, as queries compare it.
  func value(of field: QueryField, _ reader: RecordReader) throws -> Value
  /// Whether a set, an array or a map has an element or a key.
  func contains(_ value: Value, in field: QueryField, _ reader: RecordReader) throws -> Bool
  /// The elements of a list or an array, and the zone of the record that has them.
  func elements(of field: QueryField, _ reader: RecordReader) throws -> (values: [Value], zone: ZoneID)?
}

extension QuerySource where Self: ~Copyable, Self: ~Escapable {
  /// - Parameter condition: as ``QueryCondition/prepared`` makes it.
  func fulfils(_ condition: QueryCondition, _ reader: RecordReader) throws -> Bool {
    switch condition {
    case .always(let isTrue): return isTrue
    case .not(let condition): return try !fulfils(condition, reader)
    case .all(let conditions):
      for condition in conditions where try !fulfils(condition, reader) { return false }
      return true
    case .any(let conditions):
      for condition in conditions where try fulfils(condition, reader) { return true }
      return false
    case .compare(let field, let comparison, let other):
      return try comparison.holds(value(of: field, reader), other)
    case .oneOf(let field, let values): return try values.containsInOrder(value(of: field, reader))
    case .text(let field, let match, let part):
      guard case .string(let text) = try value(of: field, reader) else { return false }
      return match.holds(text.utf8Span.span.bytes, part.utf8Span.span.bytes)
    case .word(let field, let word, let isPrefix):
      guard case .string(let text) = try value(of: field, reader) else { return false }
      return FoldedText.has(word, isPrefix: isPrefix, in: text)
    case .contains(let field, let element): return try contains(element, in: field, reader)
    case .hasElement(let field, let condition):
      guard let (values, zone) = try elements(of: field, reader) else { return false }
      for value in values where try ElementSource(value: value, zone: zone).fulfils(condition, reader) {
        return true
      }
      return false
    case .invalid: return false
    }
  }
}

/// An element of a list or an array.
private struct ElementSource: QuerySource {
  let value: Value
  let zone: ZoneID

  func value(of field: QueryField, _ reader: RecordReader) throws -> Value {
    let value = value.member(field.members)?.compared(in: zone).unlessNull ?? field.fallback
    return field.isFolded ? value.folded : value
  }

  func contains(_ value: Value, in field: QueryField, _ reader: RecordReader) throws -> Bool {
    try self.value(of: field, reader).contains(value)
  }

  func elements(of field: QueryField, _ reader: RecordReader) throws -> (values: [Value], zone: ZoneID)? {
    guard case .array(let values) = try value(of: field, reader) else { return nil }
    return (values, zone)
  }
}

/// An entry of an index that tells of all fields that a condition looks at.
struct EntrySource: QuerySource {
  let index: StoredIndex
  /// Those of the index's parts.
  let values: [Value]

  func value(of field: QueryField, _ reader: RecordReader) throws -> Value {
    guard let part = index.part(with: field) else { preconditionFailure("an index without \(field)") }
    return values[part]
  }

  func contains(_ value: Value, in field: QueryField, _ reader: RecordReader) throws -> Bool {
    try self.value(of: field, reader).contains(value)
  }

  func elements(of field: QueryField, _ reader: RecordReader) throws -> (values: [Value], zone: ZoneID)? {
    nil
  }
}

extension RecordView: QuerySource {
  func value(of field: QueryField, _ reader: RecordReader) throws -> Value {
    guard field.path.isEmpty else {
      return try follow(field, reader) { try $0.value(of: $1, reader) } ?? field.fallback
    }
    guard let value = try stored(field, reader)?.member(field.members)?.upcast(by: field), value != .null
    else {
      return field.isFolded ? field.fallback.folded : field.fallback
    }
    if value.mayNameRecords { return value.compared(in: zone) }
    return field.isFolded ? value.folded : value
  }

  func contains(_ value: Value, in field: QueryField, _ reader: RecordReader) throws -> Bool {
    guard field.path.isEmpty else {
      return try follow(field, reader) { try $0.contains(value, in: $1, reader) } ?? false
    }
    let id = try id
    switch field.subject {
    case .field(let name, .set):
      return try reader.contains(value, inSet: name, withRegisters: field.formerNames, of: id)
    case .field(let name, .map):
      guard case .string(let key) = value else { return false }
      return try reader.value(at: Name(key), of: name, in: id) != nil
    case .field(let name, .list):
      return try reader.elements(ofList: name, field, id).contains { $0.compared(in: id.zone) == value }
    case .field, .name, .each: return try self.value(of: field, reader).contains(value)
    }
  }

  func elements(of field: QueryField, _ reader: RecordReader) throws -> (values: [Value], zone: ZoneID)? {
    guard field.path.isEmpty else {
      return try follow(field, reader) { try $0.elements(of: $1, reader) } ?? nil
    }
    let id = try id
    switch field.subject {
    case .field(let name, .list): return (try reader.elements(ofList: name, field, id), id.zone)
    case .field(let name, .set):
      return (Array(try reader.elements(of: name, withRegisters: field.formerNames, of: id)), id.zone)
    case .field(let name, .map): return (try (reader.entries(of: name, in: id) ?? [:]).map(\.value), id.zone)
    case .field, .name, .each:
      guard case .array(let values) = try value(of: field, reader) else { return nil }
      return (values, id.zone)
    }
  }

  /// Runs a closure on the record that the first step of a field's path leads to, with the field as seen from
  /// there; nil if there is no such record, or not even its zone. One that moved is followed.
  private func follow<R>(
    _ field: QueryField, _ reader: RecordReader, _ body: (borrowing RecordView, QueryField) throws -> R
  ) throws -> R? {
    guard case .reference(let reference)? = try value(of: field.path[0]) else { return nil }
    var rest = field
    rest.path.removeFirst()
    return try reader.withCurrent(reference.target(from: id.zone)) { try body($0, rest) }
  }

  /// What is stored of a field; nil if that is nothing.
  private func stored(_ field: QueryField, _ reader: RecordReader) throws -> Value? {
    switch field.subject {
    case .name: return .string(String(copying: try name))
    // Conditions on it are decided before: see ``QueryCondition/decided(for:in:_:)``.
    case .each: return nil
    case .field(let name, .register):
      guard field.formerNames.isEmpty else { return try latest([name] + field.formerNames, reader) }
      return try value(of: name)
    case .field(let name, .counter): return try reader.sum(of: name, withRegisters: field.formerNames, of: id)
    case .field(let name, .text): return try reader.text(of: name, in: id).map { .string($0) }
    case .field(let name, .set) where !field.formerNames.isEmpty:
      return .int(Int64(try reader.elements(of: name, withRegisters: field.formerNames, of: id).count))
    case .field(let name, let kind): return .int(Int64(try reader.count(of: name, in: id, as: kind)))
    }
  }

  /// The value of the field that was set last.
  private func latest(_ names: [Name], _ reader: RecordReader) throws -> Value? {
    let set = try names.filter { try value(of: $0) != nil }
    return set.isEmpty ? nil : try value(of: reader.latest(of: set, in: id))
  }
}

extension QueryCondition {
  /// The condition with what it says of ``QueryField/each`` decided, for a row that stands for a value.
  func decided(for each: Value, in zone: ZoneID, _ reader: RecordReader) throws -> QueryCondition {
    switch self {
    case .not(let condition): return .not(try condition.decided(for: each, in: zone, reader))
    case .all(let conditions): return .all(try conditions.map { try $0.decided(for: each, in: zone, reader) })
    case .any(let conditions): return .any(try conditions.map { try $0.decided(for: each, in: zone, reader) })
    case .compare(let field, _, _), .oneOf(let field, _), .text(let field, _, _), .word(let field, _, _),
      .contains(let field, _), .hasElement(let field, _):
      guard field.subject == .each else { return self }
      return .always(try ElementSource(value: each, zone: zone).fulfils(self, reader))
    case .always, .invalid: return self
    }
  }
}

extension RecordReader {
  /// What a counter shows that began as registers: its sum, with the numbers that these have. Nil if there is
  /// neither.
  package func sum(of counter: Name, withRegisters names: [Name], of record: RecordID) throws -> Value? {
    let sum = try self.counter(counter, of: record)?.value
    if names.isEmpty { return sum }
    var total = CounterSum()
    for value in try [sum].compactMap(\.self) + registers(names, of: record) {
      switch value {
      case .int, .decimal:
        let bytes = try value.encoded()
        try total.add(bytes.span.bytes)
      default: break
      }
    }
    return total.isEmpty ? nil : total.counter.value
  }

  /// The elements of a set that began as registers with arrays.
  package func elements(of field: Name, withRegisters names: [Name], of record: RecordID) throws -> Set<Value>
  {
    var elements = try elements(of: field, in: record) ?? []
    for value in try registers(names, of: record) {
      if case .array(let others) = value { elements.formUnion(others) }
    }
    return elements
  }

  func elements(ofList name: Name, _ field: QueryField, _ record: RecordID) throws -> [Value] {
    let elements = try list(name, of: record) ?? []
    return field.mergesMembers ? try withMembers(elements, of: name, in: record) : elements
  }

  fileprivate func contains(
    _ value: Value, inSet field: Name, withRegisters names: [Name], of record: RecordID
  ) throws -> Bool {
    for form in value.storedForms(in: record.zone) {
      if try contains(form, in: field, of: record) { return true }
    }
    if names.isEmpty { return false }
    for element in try elements(of: field, withRegisters: names, of: record) {
      if element.compared(in: record.zone) == value { return true }
    }
    return false
  }

  private func registers(_ names: [Name], of record: RecordID) throws -> [Value] {
    var found: [Value] = []
    for name in names {
      if let value = try register(name, of: record) { found.append(value) }
    }
    return found
  }

  /// The value of a field's register, whatever other kinds the field has; nil if it has none.
  package func register(_ field: Name, of record: RecordID) throws -> Value? {
    try withRecord(record) { try $0.register(field) } ?? nil
  }

  /// The field, of some that are set, whose value was set last: its greatest head is the greatest of all.
  package func latest(of fields: [Name], in record: RecordID) throws -> Name {
    if fields.count == 1 { return fields[0] }
    var latest: (name: Name, head: CellHead)?
    for name in fields {
      guard let head = try heads(of: name, .register, record).first else { continue }
      if let latest, (head.timestamp, head.operation) < (latest.head.timestamp, latest.head.operation) {
        continue
      }
      latest = (name, head)
    }
    return latest?.name ?? fields[0]
  }
}

extension [Value] {
  /// Whether values in order have one.
  fileprivate func containsInOrder(_ value: Value) -> Bool {
    var (start, end) = (0, count)
    while start < end {
      let middle = (start + end) / 2
      if self[middle].precedes(value) { start = middle + 1 } else { end = middle }
    }
    return start < count && self[start] == value
  }
}

extension Value {
  fileprivate func upcast(by field: QueryField) -> Value { field.upcast?(self) ?? self }

  fileprivate var unlessNull: Value? { self == .null ? nil : self }

  /// What is at the end of a path of keys; nil if there is nothing.
  fileprivate func member(_ path: [Name]) -> Value? {
    var value = self
    for key in path {
      guard case .map(let entries) = value, let next = entries[key] else { return nil }
      value = next
    }
    return value
  }

  /// Whether an array has an element, or a map a key.
  fileprivate func contains(_ value: Value) -> Bool {
    switch (self, value) {
    case (.array(let elements), _): elements.contains(value)
    case (.map(let entries), .string(let key)): entries[Name(key)] != nil
    default: false
    }
  }

  /// The forms in which an element of a set may be stored in a zone: a reference with each rule, and without
  /// the zone if it is that one.
  fileprivate func storedForms(in zone: ZoneID) -> [Value] {
    guard case .reference(let reference) = self else { return [self] }
    let zones = reference.zone == zone ? [nil, zone] : [reference.zone]
    return zones.flatMap { zone in
      ReferenceRule.allCases.map { .reference(Reference(zone: zone, record: reference.record, rule: $0)) }
    }
  }
}
