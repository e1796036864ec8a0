import OperationFormat
import Synchronization

/// What is known of a model: one instance, and its fields.
final class ModelSchema<M: Model>: Sendable {
  let model: M
  /// The types of its records: its own, then those of its submodels.
  let types: [Name]
  let definitions: [FieldDefinition]
  /// The properties of the model, with what they are: those of its parent first.
  let properties: [(label: String, field: any ModelField)]
  /// The fields that its parent does not have.
  let ownFields: [any ModelField]
  /// The fields whose content is not a register's value: a row reads them one by one.
  let merging: [any MergingField]
  /// The registers that have former names.
  let renamed: [FieldDefinition]

  fileprivate init() {
    let model = M()
    self.model = model
    types = [M.self].withSubmodels.map { $0.type }
    let own = model.ownProperties
    properties = model.inheritedProperties + own
    ownFields = own.map(\.field)
    definitions = properties.map(\.field.definition)
    merging = properties.compactMap { $0.field as? any MergingField }
    renamed = definitions.filter { $0.kind == .register && !$0.formerNames.isEmpty }
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
private struct ModelSchemas {
  var all: [ObjectIdentifier: any AnyObject & Sendable] = [:]
  /// The one that was asked for last: most are asked for many times in a row.
  var last: (model: ObjectIdentifier, schema: any AnyObject & Sendable)?

  static let shared = Mutex(ModelSchemas())
}

extension Model {
  /// What is known of the model. It is looked up for each change of a field, so nothing in it asks for the type's
  /// metadata, which would cost as much as the rest.
  static var schema: ModelSchema<Self> {
    let model = ObjectIdentifier(Self.self)
    return ModelSchemas.shared.withLock { schemas in
      if let last = schemas.last, last.model == model {
        return unsafeDowncast(last.schema, to: ModelSchema<Self>.self)
      }
      let schema = schemas.all[model].map { unsafeDowncast($0, to: ModelSchema<Self>.self) } ?? ModelSchema()
      schemas.all[model] = schema
      schemas.last = (model, schema)
      return schema
    }
  }

  fileprivate var ownProperties: [(label: String, field: any ModelField)] {
    Mirror(reflecting: self).children.compactMap { child in
      (child.value as? any ModelField).map { (child.label ?? "", $0) }
    }
  }

  fileprivate var inheritedProperties: [(label: String, field: any ModelField)] {
    func all(_ parent: some Model) -> [(label: String, field: any ModelField)] {
      parent.inheritedProperties + parent.ownProperties
    }
    return (self as? any Submodel).map { all($0.parent) } ?? []
  }

  /// Checks what the compiler cannot.
  ///
  /// - Throws: `StoreError` `nameInvalid` if two fields have the same name, or a name is empty or too long,
  ///   if a property is no field, or if a model and its submodel do not name each other.
  static func check() throws {
    try type.check("a model's type", Limits.nameBytesMax)
    for submodel in submodels {
      guard let parent = (submodel as? any Submodel.Type)?.parentType, parent == Self.self else {
        throw StoreError(
          .nameInvalid, "\(self) has the submodel \(submodel), which does not name it as its parent",
          hint: "make it a Submodel with the property `let parent = \(self)()`")
      }
    }
    if let parent = (self as? any Submodel.Type)?.parentType,
      !parent.submodels.contains(where: { $0 == self })
    {
      throw StoreError(
        .nameInvalid, "\(self) has the parent \(parent), which does not name it as a submodel",
        hint: "add \(self).self to `static let submodels` of \(parent)")
    }
    for child in Mirror(reflecting: schema.model).children
    where !(child.value is any ModelField) && !(child.value is any Model) {
      throw StoreError(
        .nameInvalid,
        "the property “\(child.label ?? "")” of the model \(self) is not a field: it would not be stored",
        hint: "declare it as a field, as in `let title = Field<String>(\"title\")`, or compute it")
    }
    for (_, field) in schema.properties {
      if let upcast = (field as? any RegisterField)?.upcast {
        try upcast.check(of: field.definition.name, type)
      }
    }
    var owners: [Name: Name] = [:]
    for definition in schema.definitions {
      for name in Set(definition.names) {
        try name.check("the name of the field “\(name)” of the model “\(type)”", Limits.nameBytesMax)
        guard owners.updateValue(definition.name, forKey: name) == nil else {
          throw StoreError(
            .nameInvalid, "two fields of the model “\(type)” have the name “\(name)”",
            hint: "give each field a name of its own, also among former names")
        }
      }
    }
  }
}

extension [any Model.Type] {
  /// The models and their submodels, and theirs, each once.
  var withSubmodels: [any Model.Type] {
    var found: [any Model.Type] = []
    var left: [any Model.Type] = reversed()
    while let next = left.popLast() {
      if found.contains(where: { $0 == next }) { continue }
      found.append(next)
      left += next.submodels.reversed()
    }
    return found
  }

  /// The kinds that models declare for fields, by the type of their record.
  var fieldKinds: [Name: [Name: Set<FieldKind>]] {
    reduce(into: [:]) { kinds, model in
      for definition in model.definitions {
        kinds[model.type, default: [:]][definition.name, default: []].insert(definition.kind)
        if definition.mergesMembers { kinds[model.type, default: [:]][definition.name]?.insert(.map) }
        for name in definition.formerNames {
          kinds[model.type, default: [:]][name, default: []].insert(.register)
        }
      }
    }
  }
}

extension [any Model.Type] {
  /// The fields of models, as their queries look at them.
  var declaredFields: DeclaredFields {
    reduce(into: DeclaredFields()) { fields, model in
      for field in model.fields { fields.add(field.declaration, to: model.type) }
    }
  }
}

extension ModelField {
  /// The field as a query looks at it.
  fileprivate var declaration: QueryField {
    switch self {
    case let field as any RegisterField: field.queryField(path: [])
    case let field as DecimalCounterField: field.queryField(fallback: .decimal(.empty))
    case let field as CounterField: field.queryField(fallback: .int(0))
    case let field as ProseField: field.queryField(fallback: "")
    case let field as any MergingField: field.queryField()
    default: QueryField(.field(definition.name, definition.kind), formerNames: definition.formerNames)
    }
  }
}

extension Model {
  fileprivate static var fields: [any ModelField] { schema.properties.map(\.field) }
  fileprivate static var definitions: [FieldDefinition] { schema.definitions }
}

extension Submodel {
  fileprivate static var parentType: any Model.Type { Parent.self }
}
