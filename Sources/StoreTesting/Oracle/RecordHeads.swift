import EventStore
import OperationFormat

/// All heads of one record by the model, and the values that they show.
struct RecordHeads: Hashable, Sendable {
  var name: Name
  /// The heads of its existence, greatest first. A record without any was never written.
  var existence: [CellHead]
  /// The first of the operations that created it.
  var creation: CellHead?
  /// The cells of fields that have heads, in the order of their names, then their kinds; the heads greatest
  /// first.
  var fields: [Field]

  /// The heads of one cell of a field; of a set or a map those of all elements, in the order of the elements.
  struct Field: Hashable, Sendable {
    var name: Name
    var kind: FieldKind
    var heads: [CellHead]
    /// Of a list or a text, which has no heads of its own.
    var parts: [UnitOrderPart] = []
    /// Of contributions, in the order in which a reducer gets them.
    var payloads: [Value] = []
  }

  init(name: Name, existence: [CellHead], fields: [Field]) {
    self.name = name
    self.existence = existence
    self.fields = fields
  }

  /// The record's type if it is alive, else nil. A cascade may still hide a record that is alive.
  ///
  /// - Parameter policies: the policies of the types that have another than `latest`.
  func visibleType(_ policies: [Name: ExistencePolicy]) -> Name? {
    let types = existence.map { head -> Name? in
      if case .alive(let type) = head.content { type } else { nil }
    }
    return Oracle.visibleType(types) { policies[$0] ?? .latest }
  }

  /// What the fields read, by the first of a field's cells that has a value.
  ///
  /// - Parameter shown: what a value reads, nil for nothing.
  func values(_ shown: (Value) -> Value?) -> [Name: Value] {
    var values: [Name: Value] = [:]
    for field in fields where values[field.name] == nil {
      values[field.name] = field.kind.model.value(of: field, shown)
    }
    return values
  }

  /// What a counter reads; nil if the sum is no value.
  static func sum(of heads: [CellHead]) -> Value? {
    heads.reduce(.int(0)) { sum, head in
      guard let sum, case .addend(let value) = head.content else { return nil }
      return NaiveSum.sum(sum, value)
    }
  }

  /// The cells in conflict: the record's existence, whose field is nil, then the fields by name and those of
  /// a map by key. The existence is in conflict only if its heads disagree. Fields are in conflict only while
  /// one of those heads says that the record exists.
  var conflicts: [(field: Name?, key: Name?, heads: [CellHead])] {
    var conflicts: [(field: Name?, key: Name?, heads: [CellHead])] = []
    if Set(existence.map(\.content)).count > 1 { conflicts.append((nil, nil, existence)) }
    guard
      existence.contains(where: { if case .alive = $0.content { true } else { false } })
    else { return conflicts }
    for field in fields {
      for (key, heads) in field.kind.model.conflicts(in: field) { conflicts.append((field.name, key, heads)) }
    }
    return conflicts.sorted { ($0.field ?? "", $0.key ?? "") < ($1.field ?? "", $1.key ?? "") }
  }
}

extension RecordHeads.Field {
  /// The visible text.
  var text: String { String(decoding: parts.flatMap(\.text), as: UTF8.self) }

  /// The heads of the values of a list's elements, in the order of the list.
  var items: [[CellHead]] {
    var values: [UnitReference: [CellHead]] = [:]
    for part in parts {
      for item in part.items {
        values[UnitReference(maker: part.first.maker, number: item.number)] = item.values
      }
    }
    return parts.filter(\.isVisible).flatMap { part in
      (part.first.number..<part.first.number + part.count).compactMap { number in
        values[part.element ?? UnitReference(maker: part.first.maker, number: number)]
      }
    }
  }

  /// The heads element by element.
  var elements: [[CellHead]] {
    var elements: [[CellHead]] = []
    for head in heads {
      if let last = elements.last, last[0].content.element == head.content.element {
        elements[elements.count - 1].append(head)
      } else {
        elements.append([head])
      }
    }
    return elements
  }
}
