import OperationFormat

extension IndexDefinition {
  static let partsMax = 8
  static let typesMax = 256
  static let eachMax = 16

  /// - Throws: ``StoreError`` `definitionInvalid`.
  func check() throws {
    try name.check("an index's name", Limits.nameBytesMax)
    for type in types { try type.check("a type's name", Limits.nameBytesMax) }
    func refuse(_ what: String, _ hint: String) throws {
      throw StoreError(.definitionInvalid, "the index “\(name)” \(what)", hint: hint)
    }
    if types.isEmpty || types.count > Self.typesMax {
      try refuse("is of \(types.count) types", "name 1 to \(Self.typesMax) types")
    }
    if parts.isEmpty || parts.count > Self.partsMax {
      try refuse("has \(parts.count) parts", "order by 1 to \(Self.partsMax) fields")
    }
    if parts.count(where: \.makesSeveral) > 1 {
      try refuse("has several parts with several values", "use an index for each")
    }
    for part in parts {
      if case .eachOf(let fields) = part.content, fields.isEmpty || fields.count > Self.eachMax {
        try refuse("is by each of \(fields.count) fields", "name 1 to \(Self.eachMax) fields")
      }
      for field in part.queryFields { try check(field, part.content, refuse) }
    }
  }

  private func check(
    _ field: QueryField, _ content: IndexPart.Content, _ refuse: (String, String) throws -> Void
  ) throws {
    if !field.path.isEmpty {
      try refuse(
        "is by “\(field)”, a field of another record", "order by the reference, or keep a copy of the field")
    }
    guard case .field(let name, let kind) = field.subject else {
      if field.subject == .each { try refuse("is by each of no fields", "name the fields") }
      return
    }
    if case .values(let table)? = field.upcast, table.keys.contains(where: \.mayNameRecords) {
      try refuse("is by “\(field)”, of which references become other values", "order by another field")
    }
    for name in [name] + field.formerNames { try name.check("a field's name", Limits.nameBytesMax) }
    switch (content, kind) {
    case (.value, .register), (.value, .counter), (.value, .text), (.elements, .register), (.elements, .set),
      (.elements, .map), (.elements, .list), (.words, .register), (.words, .text), (.eachOf, .register),
      (.eachOf, .counter):
      break
    default:
      try refuse(
        "is by “\(field)”, which has no such values",
        "order by values of registers, counters and texts, by elements of sets, maps, lists and arrays, or by words "
          + "of texts")
    }
  }
}
