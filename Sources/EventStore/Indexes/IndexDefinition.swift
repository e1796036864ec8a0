public import OperationFormat

/// Which records an index orders, and by what.
///
/// ```swift
/// let byDate = IndexDefinition("by date", of: ["post"], by: [IndexPart(.value(.value(of: "date")))])
/// try await store.declareIndexes([byDate])
/// ```
///
/// An index is kept in the same commit as the records, whoever writes. Queries use it where it helps: see
/// `RecordReading.explain(_:)`. Records that are deleted are in none.
public struct IndexDefinition: Hashable, Sendable {
  /// Another one for each index of a store.
  public var name: Name
  /// The types of its records.
  public var types: [Name]
  /// By what they are ordered: by the first, where that is the same by the second, and so on. At most one has several
  /// values of a record.
  public var parts: [IndexPart]
  /// Whether no two records should have the same values. It is a wish: two devices may fulfil it each for itself. See
  /// `RecordReading.duplicates(in:)`.
  public var isUnique: Bool

  /// - Parameters:
  ///   - name: another one for each index of a store, 1 to 128 bytes of UTF-8.
  ///   - types: the types of its records.
  ///   - parts: by what they are ordered, at most 8.
  ///   - isUnique: whether no two records should have the same values.
  public init(_ name: Name, of types: [Name], by parts: [IndexPart], isUnique: Bool = false) {
    (self.name, self.types, self.parts, self.isUnique) = (name, types, parts, isUnique)
  }
}

/// One thing by which an index orders records.
public struct IndexPart: Hashable, Sendable {
  public enum Content: Hashable, Sendable {
    /// What a field has.
    case value(QueryField)
    /// Each element of a set, a list, or an array in a register; each key of a map.
    case elements(QueryField)
  }

  public var content: Content
  /// Greatest first. It matters where a query is sorted by several fields in different directions.
  public var isDescending: Bool

  public init(_ content: Content, isDescending: Bool = false) {
    (self.content, self.isDescending) = (content, isDescending)
  }

  /// The field that it looks at.
  package var queryField: QueryField {
    switch content {
    case .value(let field), .elements(let field): field
    }
  }

  /// Whether a record may have several values in it.
  var hasSeveral: Bool {
    if case .elements = content { true } else { false }
  }
}

extension IndexDefinition {
  /// The names of the fields that it looks at.
  var fieldNames: [Name] {
    parts.flatMap { part -> [Name] in
      guard case .field(let name, _) = part.queryField.subject else { return [] }
      return [name] + part.queryField.formerNames
    }
  }
}

// MARK: As a value

// How it is stored: `Value.map`, with the keys below. Unknown keys are an error: another version may mean more by them.

extension IndexDefinition {
  var stored: Value {
    .map([
      "name": .string(name.rawValue), "types": .array(types.map { .string($0.rawValue) }),
      "parts": .array(parts.map(\.stored)), "unique": .bool(isUnique),
    ])
  }

  init?(stored value: Value) {
    guard case .map(let entries) = value, entries.count == 4, case .string(let name)? = entries["name"],
      case .array(let types)? = entries["types"], case .array(let parts)? = entries["parts"],
      case .bool(let isUnique)? = entries["unique"]
    else { return nil }
    self.init(
      Name(name), of: types.compactMap(\.name), by: parts.compactMap { IndexPart(stored: $0) },
      isUnique: isUnique)
    guard self.types.count == types.count, self.parts.count == parts.count else { return nil }
  }
}

extension IndexPart {
  fileprivate var stored: Value {
    var entries: [Name: Value] = ["field": queryField.stored, "descending": .bool(isDescending)]
    switch content {
    case .value: entries["content"] = "value"
    case .elements: entries["content"] = "elements"
    }
    return .map(entries)
  }

  fileprivate init?(stored value: Value) {
    guard case .map(let entries) = value, entries.count == 3, let field = entries["field"],
      case .bool(let isDescending)? = entries["descending"], let field = QueryField(stored: field)
    else { return nil }
    switch entries["content"] {
    case "value": self.init(.value(field), isDescending: isDescending)
    case "elements": self.init(.elements(field), isDescending: isDescending)
    default: return nil
    }
  }
}

extension QueryField {
  fileprivate var stored: Value {
    var entries: [Name: Value] = [
      "former": .array(formerNames.map { .string($0.rawValue) }),
      "members": .array(members.map { .string($0.rawValue) }), "fallback": fallback,
    ]
    if case .field(let name, let kind) = subject {
      entries["name"] = .string(name.rawValue)
      entries["kind"] = .int(Int64(kind.rawValue))
    }
    return .map(entries)
  }

  fileprivate init?(stored value: Value) {
    guard case .map(let entries) = value, case .array(let former)? = entries["former"],
      case .array(let members)? = entries["members"], let fallback = entries["fallback"]
    else { return nil }
    var subject = Subject.name
    if entries.count > 3 {
      guard entries.count == 5, case .string(let name)? = entries["name"],
        case .int(let kind)? = entries["kind"],
        let kind = UInt32(exactly: kind).flatMap({ FieldKind(rawValue: $0) })
      else { return nil }
      subject = .field(Name(name), kind)
    }
    self.init(
      subject, formerNames: former.compactMap(\.name), members: members.compactMap(\.name), fallback: fallback
    )
    guard formerNames.count == former.count, self.members.count == members.count else { return nil }
  }
}

extension Value {
  fileprivate var name: Name? {
    if case .string(let text) = self { Name(text) } else { nil }
  }
}
