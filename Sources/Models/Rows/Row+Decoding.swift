import OperationFormat

extension Row {
  /// A struct of yours with what the row has.
  ///
  /// ```swift
  /// struct Summary: Codable { var headline: String, likes: Int, tags: Set<Ref<Tag>> }
  /// let summary = try row.decode(Summary.self)
  /// ```
  ///
  /// Its properties have the names of the model's, or those of the fields. One of the name `id` gets the row's
  /// identity, unless the model has such a field.
  ///
  /// - Throws: `DecodingError`.
  public func decode<T: Decodable>(_ type: T.Type) throws -> T {
    var entries: [Name: Value] = ["id": id.value(in: id.zone)]
    let values = try schema.properties.map { try value(of: $0.field) }
    for (property, value) in zip(schema.properties, values) {
      entries[property.field.definition.name] = value
    }
    // The model's properties count more than the names of fields.
    for (property, value) in zip(schema.properties, values) { entries[Name(property.label)] = value }
    return try ValueDecoder.decode(type, from: .map(entries), in: id.zone)
  }

  private func value(of field: any ModelField) throws -> Value {
    if let field = field as? any MergingField {
      guard let index = schema.index(of: field) else { return .null }
      return try field.value(of: contents[index], in: id.zone)
    }
    return try (field as? any RegisterField)?.shownValue(stored(field.definition.name), in: id.zone)
      ?? .null
  }
}
