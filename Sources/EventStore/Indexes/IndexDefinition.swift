public import OperationFormat

/// Which records an index orders, and by what.
///
/// ```swift
/// let byDate = IndexDefinition("by date", of: ["post"], by: [IndexPart(.value(.value(of: "date")))])
/// try await store.declareIndexes([byDate])
/// ```
///
/// An index is kept in the same commit as the records, of local writes and of synced ones. Queries use it
/// where it helps: see `RecordReading.explain(_:)`. Records that are deleted are in none.
public struct IndexDefinition: Hashable, Sendable {
  /// Another one for each index of a store.
  public var name: Name
  /// The types of its records.
  public var types: [Name]
  /// By what they are ordered: by the first, where that is the same by the second, and so on. At most one has
  /// several values of a record.
  public var parts: [IndexPart]
  /// Whether no two records should have the same values. It is not enforced: two devices may each write one
  /// of two. See `RecordReading.duplicates(in:)`.
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
    /// Each word of a text: see ``QueryCondition/word(_:_:isPrefix:)``.
    case words(QueryField)
    /// What each of some fields has, if it has anything: for queries with the same ``RecordQuery/each``.
    case eachOf([QueryField])
  }

  public var content: Content
  /// Greatest first. It matters where a query is sorted by several fields in different directions.
  public var isDescending: Bool

  public init(_ content: Content, isDescending: Bool = false) {
    (self.content, self.isDescending) = (content, isDescending)
  }

  /// The field that it looks at, as a query names it.
  package var queryField: QueryField {
    switch content {
    case .value(let field), .elements(let field), .words(let field): field
    case .eachOf: .each
    }
  }

  /// The fields that it looks at.
  package var queryFields: [QueryField] {
    if case .eachOf(let fields) = content { fields } else { [queryField] }
  }

  /// Whether a record may have several values in it, of which a query looks for one.
  var hasSeveral: Bool {
    switch content {
    case .elements, .words: true
    case .value, .eachOf: false
    }
  }

  /// Whether a record may have several entries by it.
  var makesSeveral: Bool { hasSeveral || !each.isEmpty }

  /// The fields of which it has one entry each; none unless it is of that kind.
  var each: [QueryField] {
    if case .eachOf(let fields) = content { fields } else { [] }
  }
}

extension IndexDefinition {
  /// The names of the fields that it looks at.
  var fieldNames: [Name] {
    parts.flatMap(\.queryFields).flatMap { field -> [Name] in
      guard case .field(let name, _) = field.subject else { return [] }
      return [name] + field.formerNames
    }
  }
}

// MARK: As a value

// How it is stored: `Value.map`, with the keys below. Unknown keys are an error: another version may mean
// more by them.

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
    let kind: Value =
      switch content {
      case .value: "value"
      case .elements: "elements"
      case .words: "words"
      case .eachOf: "each"
      }
    return .map([
      "content": kind, "fields": .array(queryFields.map(\.stored)), "descending": .bool(isDescending),
    ])
  }

  fileprivate init?(stored value: Value) {
    guard case .map(let entries) = value, entries.count == 3, case .array(let stored)? = entries["fields"],
      case .bool(let isDescending)? = entries["descending"], let content = entries["content"]
    else { return nil }
    let fields = stored.compactMap { QueryField(stored: $0) }
    guard fields.count == stored.count, fields.count == 1 || content == "each" else { return nil }
    switch content {
    case "value": self.init(.value(fields[0]), isDescending: isDescending)
    case "elements": self.init(.elements(fields[0]), isDescending: isDescending)
    case "words": self.init(.words(fields[0]), isDescending: isDescending)
    case "each": self.init(.eachOf(fields), isDescending: isDescending)
    default: return nil
    }
  }
}

extension QueryField {
  fileprivate var stored: Value {
    var entries: [Name: Value] = [
      "former": .array(formerNames.map { .string($0.rawValue) }),
      "members": .array(members.map { .string($0.rawValue) }), "fallback": fallback,
      "folded": .bool(isFolded), "upcast": upcast?.stored ?? .null,
      "merging": .bool(mergesMembers),
    ]
    if case .field(let name, let kind) = subject {
      entries["name"] = .string(name.rawValue)
      entries["kind"] = .int(Int64(kind.rawValue))
    }
    return .map(entries)
  }

  fileprivate init?(stored value: Value) {
    guard case .map(let entries) = value, case .array(let former)? = entries["former"],
      case .array(let members)? = entries["members"], let fallback = entries["fallback"],
      case .bool(let isFolded)? = entries["folded"], let storedUpcast = entries["upcast"],
      case .bool(let mergesMembers)? = entries["merging"]
    else { return nil }
    var subject = Subject.name
    if entries.count > 6 {
      guard entries.count == 8, case .string(let name)? = entries["name"],
        case .int(let kind)? = entries["kind"],
        let kind = UInt32(exactly: kind).flatMap({ FieldKind(rawValue: $0) })
      else { return nil }
      subject = .field(Name(name), kind)
    }
    self.init(
      subject, formerNames: former.compactMap(\.name), members: members.compactMap(\.name),
      fallback: fallback,
      isFolded: isFolded, upcast: ValueUpcast(stored: storedUpcast))
    self.mergesMembers = mergesMembers
    guard storedUpcast == .null || upcast != nil else { return nil }
    guard formerNames.count == former.count, self.members.count == members.count else { return nil }
  }
}

extension Value {
  fileprivate var name: Name? {
    if case .string(let text) = self { Name(text) } else { nil }
  }
}
