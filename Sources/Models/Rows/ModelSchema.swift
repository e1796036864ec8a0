import OperationFormat
import Synchronization

/// What is known of a model: one instance, and its fields.
final class ModelSchema<M: Model>: Sendable {
  let model: M
  let definitions: [FieldDefinition]
  /// The fields whose content is not a register's value: a row reads them one by one.
  let merging: [any MergingField]
  /// The registers that have former names.
  let renamed: [FieldDefinition]

  private init() {
    let model = M()
    let fields = Mirror(reflecting: model).children.compactMap { $0.value as? any ModelField }
    self.model = model
    definitions = fields.map(\.definition)
    merging = fields.compactMap { $0 as? any MergingField }
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

  /// Where the content of a field stands in a row.
  func index(of field: some MergingField) -> Int? { merging.firstIndex { $0.core === field.core } }
}

/// The schemas that were asked for. A model is a type, so there are few.
private enum ModelSchemas {
  static let all = Mutex<[ObjectIdentifier: any AnyObject & Sendable]>([:])
}

extension Model {
  /// Checks what the compiler cannot.
  ///
  /// - Throws: ``StoreError`` `nameInvalid` if two fields have the same name, or a name is empty or too long.
  static func check() throws {
    try type.check("a model's type")
    var owners: [Name: Name] = [:]
    for definition in ModelSchema.of(Self.self).definitions {
      for name in [definition.name] + definition.formerNames {
        try name.check("a field of the model “\(type)”")
        guard owners.updateValue(definition.name, forKey: name) == nil else {
          throw StoreError(
            .nameInvalid, "two fields of the model “\(type)” have the name “\(name)”",
            hint: "give each field a name of its own, also among former names")
        }
      }
    }
  }
}

extension Name {
  fileprivate func check(_ what: String) throws {
    guard !(1...Limits.nameBytesMax ~= byteCount) else { return }
    throw StoreError(
      .nameInvalid, "the name of \(what) has \(byteCount) bytes",
      hint: "use 1 to \(Limits.nameBytesMax) bytes of UTF-8")
  }
}
