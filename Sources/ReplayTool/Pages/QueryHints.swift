import EventStore
import OperationFormat

/// Says of a query what may be mistyped: a type, a field or a value that no record has.
///
/// It asks the declared fields, the names that the store knows and, if the query has found nothing, the first
/// records of its zones.
struct QueryHints {
  /// How many records are looked at.
  private static let recordsMax = 1000
  /// How many names a hint lists.
  private static let namesMax = 12

  private let query: RecordQuery
  private let declared: DeclaredFields
  /// Whether the query has found nothing.
  private var isEmpty = false
  private let isInterrupted: () -> Bool
  /// The first records by their types, with their fields.
  private var seen: [Name: [Record]] = [:]
  /// Whether those are all records.
  private var areAll = false

  init(_ query: RecordQuery, _ declared: DeclaredFields, isInterrupted: @escaping () -> Bool) {
    (self.query, self.declared, self.isInterrupted) = (query, declared, isInterrupted)
  }

  /// The hints, safe to print.
  ///
  /// - Parameter isEmpty: whether the query has found nothing.
  func all(isEmpty: Bool, _ transaction: borrowing ReadTransaction) throws -> [String] {
    var hints = self
    hints.isEmpty = isEmpty
    if isEmpty { try hints.look(transaction) }
    if let hint = try hints.typeHint(transaction) { return [hint] }
    var found: [String] = []
    let asked = query.condition.comparisons + query.order.map { ($0.field, []) }
    for (field, values) in asked {
      guard let name = field.path.first ?? field.name else { continue }
      if let hint = try hints.fieldHint(name, transaction) ?? hints.valueHint(name, field, values),
        !found.contains(hint)
      {
        found.append(hint)
      }
    }
    return found
  }

  /// Reads the first records.
  private mutating func look(_ transaction: borrowing ReadTransaction) throws {
    var hints = self
    var count = 0
    for zone in try query.zones ?? transaction.zones() {
      try transaction.forEachRecord(in: zone) { record in
        if isInterrupted() { throw Interrupted() }
        count += 1
        if count > Self.recordsMax { return false }
        hints.seen[record.type, default: []].append(record)
        return true
      }
    }
    hints.areAll = count <= Self.recordsMax
    self = hints
  }

  private func typeHint(_ transaction: borrowing ReadTransaction) throws -> String? {
    guard let type = query.types?.first, declared.types[type] == nil, seen[type] == nil else { return nil }
    guard try areAll && isEmpty || !transaction.knows(type) else {
      return isEmpty && !declared.isEmpty
        ? "the app declares no type “\(Display.name(type))”: \(list(declared.types.keys))" : nil
    }
    let known = Set(declared.types.keys).union(seen.keys)
    let place = query.zones == nil ? "the store" : areAll ? "what was asked" : "the store"
    return "no record has the type “\(Display.name(type))”"
      + (known.isEmpty ? "" : "; \(place) has \(list(known))")
  }

  private func fieldHint(_ name: Name, _ transaction: borrowing ReadTransaction) throws -> String? {
    let type = query.types?.first
    if declared.field(name, of: type) != nil { return nil }
    let records = type.map { seen[$0] ?? [] } ?? seen.values.flatMap(\.self)
    if records.contains(where: { $0[name] != nil }) { return nil }
    let fields = type.flatMap { declared.types[$0]?.keys }.map { Set($0) } ?? []
    let known = fields.union(records.prefix(64).flatMap { $0.fields.keys })
    if try areAll && isEmpty || !transaction.knows(name) {
      let whose = type.map { " of the type “\(Display.name($0))”" } ?? ""
      return "no record\(whose) has the field “\(Display.name(name))”"
        + (known.isEmpty || type == nil ? "" : "; they have \(list(known))")
    }
    guard let type, !fields.isEmpty else { return nil }
    return
      "the app declares no field “\(Display.name(name))” of “\(Display.name(type))”; it declares \(list(fields))"
  }

  /// Says that a field never has a value of the kind that it is compared with.
  private func valueHint(_ name: Name, _ field: QueryField, _ values: [Value]) -> String? {
    let wanted = Set(values.filter { $0 != .null }.map(\.sort))
    guard isEmpty, field.path.isEmpty, field.members.isEmpty, !wanted.isEmpty else { return nil }
    let what = "“\(Display.name(name))”"
    switch field.kind {
    case .counter where !wanted.contains(Value.number):
      return "\(what) is a counter: it is compared with a number, not with \(list(wanted))"
    case .text where !wanted.contains(Value.text):
      return "\(what) is a text: it is compared with a text, not with \(list(wanted))"
    case .set, .map, .list, .contributions:
      guard !wanted.contains(Value.number) else { return nil }
      return "\(what) is a \(field.kind), of which = and < compare the count: ask for an element with "
        + (field.kind == .map ? "contains or has ( )" : "contains, or has ( ) for a condition")
    case .counter, .text: return nil
    case .register: break
    }
    let records = query.types?.first.map { seen[$0] ?? [] } ?? seen.values.flatMap(\.self)
    let found = Set(
      records.compactMap { $0[name] }.filter { $0 != .null }.map { field.upcast?($0) ?? $0 }.map(\.sort))
    guard !found.isEmpty, found.isDisjoint(with: wanted) else { return nil }
    let place =
      areAll
      ? "in all records" : "in the records that were looked at, the first \(Display.count(Self.recordsMax))"
    return "\(what) has \(list(found)) \(place), never \(list(wanted))"
  }

  private func list(_ names: some Sequence<Name>) -> String {
    Display.list(names.sorted().map { Display.name($0) }, max: Self.namesMax)
  }

  private func list(_ words: Set<String>) -> String { words.sorted().joined(separator: " or ") }
}

extension QueryField {
  /// The field's own name; nil for the record's name.
  fileprivate var name: Name? { if case .field(let name, _) = subject { name } else { nil } }
}

extension QueryCondition {
  /// The fields that it looks at, each with the values that it is compared with.
  fileprivate var comparisons: [(field: QueryField, values: [Value])] {
    switch self {
    case .always, .invalid: []
    case .not(let condition): condition.comparisons.map { ($0.field, []) }
    case .all(let conditions), .any(let conditions): conditions.flatMap(\.comparisons)
    case .compare(let field, .notEqual, _): [(field, [])]
    case .compare(let field, _, let value): [(field, [value])]
    case .oneOf(let field, let values): [(field, values)]
    case .text(let field, _, _), .word(let field, _, _), .contains(let field, _), .hasElement(let field, _):
      [(field, [])]
    }
  }
}

extension Value {
  fileprivate static let number = "a number"
  fileprivate static let text = "a text"

  /// What it is, in a few words. All kinds of numbers are one.
  fileprivate var sort: String {
    switch self {
    case .int, .double, .decimal: Self.number
    case .string: Self.text
    case .null: "null"
    case .bool: "true or false"
    case .bytes: "bytes"
    case .date: "a date"
    case .uuid: "a UUID"
    case .reference: "a reference"
    case .asset: "an asset"
    case .array: "an array"
    case .map: "a map"
    }
  }
}
