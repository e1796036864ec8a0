import OperationFormat

extension IndexDefinition {
  static let partsMax = 8
  static let typesMax = 256

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
    if parts.count(where: \.hasSeveral) > 1 {
      try refuse("has several parts with elements", "use an index for each")
    }
    for part in parts {
      let field = part.queryField
      if !field.path.isEmpty {
        try refuse(
          "is by “\(field)”, a field of another record", "order by the reference, or keep a copy of the field"
        )
      }
      guard case .field(let name, let kind) = field.subject else { continue }
      for name in [name] + field.formerNames { try name.check("a field's name", Limits.nameBytesMax) }
      switch (part.content, kind) {
      case (.value, .register), (.value, .counter), (.value, .text), (.elements, .register),
        (.elements, .set), (.elements, .map), (.elements, .list):
        break
      default:
        try refuse(
          "is by “\(field)”, which has no such values",
          "order by values of registers, counters and texts, or by elements of sets, maps, lists and arrays")
      }
    }
  }
}
