import OperationFormat
import Synchronization

/// What is known of a model: one instance, and its fields.
final class ModelSchema<M: Model>: Sendable {
  let model: M
  let definitions: [FieldDefinition]
  /// The properties of the model, with what they are.
  let properties: [(label: String, field: any ModelField)]
  /// The fields whose content is not a register's value: a row reads them one by one.
  let merging: [any MergingField]
  /// The registers that have former names.
  let renamed: [FieldDefinition]

  private init() {
    let model = M()
    self.model = model
    properties = Mirror(reflecting: model).children.compactMap { child in
      (child.value as? any ModelField).map { (child.label ?? "", $0) }
    }
    definitions = properties.map(\.field.definition)
    merging = properties.compactMap { $0.field as? any MergingField }
    renamed = definitions.filter { $0.kind == .register && !$0.formerNames.isEmpty }
  }

  /// The one of a model.
  static func of(_ model: M.Type) -> ModelSchema<M> {
    ModelSchemas.all.withLock { schemas in
      if let known = schemas[ObjectIdentifier(model)] { return known as! ModelSchema<M> }
      let made = ModelSchema<M>()
      schemas[ObjectIdentifier(model)] = made
      return made
    }
  }

  /// The field that a property of a struct stands for: by the model's property, or by the field's name.
  func field(_ key: String) -> (any ModelField)? {
    (properties.first { $0.label == key } ?? properties.first { $0.field.definition.name == Name(key) })?
      .field
  }

  /// Where the content of a field stands in a row.
  func index(of field: some MergingField) -> Int? { merging.firstIndex { $0.name == field.name } }
}

/// The schemas that were asked for. A model is a type, so there are few.
private enum ModelSchemas {
  static let all = Mutex<[ObjectIdentifier: any AnyObject & Sendable]>([:])
}

extension Model {
  /// Checks what the compiler cannot.
  ///
  /// - Throws: `StoreError` `nameInvalid` if two fields have the same name, or a name is empty or too long.
  static func check() throws {
    try type.check("a model's type", Limits.nameBytesMax)
    var owners: [Name: Name] = [:]
    for definition in ModelSchema.of(Self.self).definitions {
      for name in definition.names {
        try name.check("a field of the model “\(type)”", Limits.nameBytesMax)
        guard owners.updateValue(definition.name, forKey: name) == nil else {
          throw StoreError(
            .nameInvalid, "two fields of the model “\(type)” have the name “\(name)”",
            hint: "give each field a name of its own, also among former names")
        }
      }
    }
  }
}
