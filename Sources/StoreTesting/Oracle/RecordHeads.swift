package import EventStore
package import OperationFormat

/// All heads of one record by the model, and what they amount to.
package struct RecordHeads: Hashable, Sendable {
  package var name: Name
  /// The heads of its existence, greatest first. A record without any is one that nobody wrote about.
  package var existence: [CellHead]
  /// The cells of fields that have heads, in the order of their names, then their kinds; the heads greatest first.
  package var fields: [Field]

  /// The heads of one field.
  package struct Field: Hashable, Sendable {
    package var name: Name
    package var kind: FieldKind
    package var heads: [CellHead]
  }

  /// The record's type if it is visible, else nil.
  ///
  /// - Parameter policies: the policies of the types that have another than `latest`.
  package func visibleType(_ policies: [Name: ExistencePolicy]) -> Name? {
    let types = existence.map { head -> Name? in
      if case .alive(let type) = head.content { type } else { nil }
    }
    return Oracle.visibleType(types) { policies[$0] ?? .latest }
  }

  /// The record as it reads, nil if it is not visible.
  package func record(in zone: ZoneID, _ policies: [Name: ExistencePolicy]) -> Record? {
    guard let type = visibleType(policies) else { return nil }
    var values: [Name: Value] = [:]
    for field in fields {
      switch field.kind {
      case .register:
        if case .value(let value) = field.heads[0].content, value != .null { values[field.name] = value }
      case .counter:
        if values[field.name] == nil { values[field.name] = Self.sum(of: field.heads) }
      }
    }
    return Record(id: RecordID(zone: zone, name: name), type: type, fields: values)
  }

  /// What a counter reads, where the sum is a value.
  package static func sum(of heads: [CellHead]) -> Value? {
    heads.reduce(.int(0)) { sum, head in
      guard let sum, case .contribution(let value) = head.content else { return nil }
      return NaiveSum.sum(sum, value)
    }
  }

  /// The cells in conflict, existence first, as nil, then the fields by name. A record's existence is in conflict only
  /// where its heads disagree about it.
  package var conflicts: [(field: Name?, heads: [CellHead])] {
    var conflicts: [(field: Name?, heads: [CellHead])] = []
    if Set(existence.map(\.content)).count > 1 { conflicts.append((nil, existence)) }
    for field in fields where field.kind == .register && field.heads.count > 1 {
      conflicts.append((field.name, field.heads))
    }
    return conflicts
  }
}
