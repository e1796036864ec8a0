package import OperationFormat

/// The fields that apps have declared, by the type of their record: each as the app's queries look at it.
///
/// The store keeps them for tools, which do not know the app's models.
package struct DeclaredFields: Hashable, Sendable {
  package private(set) var types: [Name: [Name: QueryField]] = [:]

  package init() {}

  package var isEmpty: Bool { types.isEmpty }

  /// A declared field of a type. Without a type, the field as all types declare it that have it; nil if there
  /// is none, or if they differ.
  package func field(_ name: Name, of type: Name?) -> QueryField? {
    if let type { return types[type]?[name] }
    var found: QueryField?
    for fields in types.values {
      guard let field = fields[name] else { continue }
      if let found, found != field { return nil }
      found = field
    }
    return found
  }

  package mutating func add(_ field: QueryField, to type: Name) {
    guard case .field(let name, _) = field.subject else { return }
    types[type, default: [:]][name] = field
  }

  /// Takes over the types of others, in place of its own of the same names.
  package mutating func replaceTypes(by other: DeclaredFields) { types.merge(other.types) { $1 } }
}

extension DeclaredFields {
  /// The fields of which the app has declared one kind.
  init(_ kinds: [Name: [Name: Set<FieldKind>]]) {
    for (type, fields) in kinds {
      for (field, kinds) in fields {
        if let kind = kinds.first, kinds.count == 1 { add(QueryField(.field(field, kind)), to: type) }
      }
    }
  }
}

extension QueryField {
  /// The kind of its field. The record's name counts as a register.
  package var kind: FieldKind {
    if case .field(_, let kind) = subject { kind } else { .register }
  }
}

// MARK: As a value

// How types are stored: a map of their names, each with a map of its fields, each with a map of the keys
// below. Only `kind` is always there. Unknown keys are of a later version, and are ignored.

extension DeclaredFields {
  var stored: [Name: Value] { types.mapValues { .map($0.mapValues(\.declaration)) } }

  /// Fields of which a later version says what this one does not know are left out.
  init(stored: [Name: Value]) throws(FormatError) {
    for (type, fields) in stored {
      guard case .map(let fields) = fields else { throw Self.damage("a map of fields") }
      for (name, declaration) in fields {
        guard case .map(let entries) = declaration, case .int(let kind)? = entries["kind"] else {
          throw Self.damage("a field with a kind")
        }
        guard let kind = UInt32(exactly: kind).flatMap({ FieldKind(rawValue: $0) }),
          let field = QueryField(name, kind, entries)
        else { continue }
        add(field, to: type)
      }
    }
  }

  static func damage(_ expected: String) -> FormatError {
    FormatError(.damaged, at: 1, in: "declared fields", expected: expected, found: "another value")
  }
}

extension QueryField {
  fileprivate var declaration: Value {
    var entries: [Name: Value] = ["kind": .int(Int64(kind.rawValue))]
    if !formerNames.isEmpty { entries["former"] = .array(formerNames.map { .string($0.rawValue) }) }
    if fallback != .null { entries["fallback"] = fallback }
    if let upcast { entries["upcast"] = upcast.stored }
    if mergesMembers { entries["merging"] = true }
    return .map(entries)
  }

  fileprivate init?(_ name: Name, _ kind: FieldKind, _ entries: [Name: Value]) {
    self.init(.field(name, kind), fallback: entries["fallback"] ?? .null)
    if case .array(let names)? = entries["former"] {
      formerNames = names.compactMap { if case .string(let text) = $0 { Name(text) } else { nil } }
    }
    if let stored = entries["upcast"] {
      guard let upcast = ValueUpcast(stored: stored) else { return nil }
      self.upcast = upcast
    }
    mergesMembers = entries["merging"] == true
  }
}
