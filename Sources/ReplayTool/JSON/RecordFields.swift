import EventStore

// The fields of an exported record, by kind:
//
// | member | holds |
// |---|---|
// | fields | the values of registers, by field |
// | merging | fields that merge, by field; left out if there are none. Each is an object with a member for each of its kinds: |
// | counter | the sum |
// | set, list, contributions | an array of values |
// | map | an object of values by key |
// | text | a text |

/// What a record holds, kind by kind, as an exported line says it.
struct RecordFields: Hashable, Sendable {
  var registers: [Name: Value] = [:]
  /// By field, then by kind. A set is in the order of its encoded elements.
  var merging: [Name: [FieldKind: Value]] = [:]

  init() {}

  init(_ cells: [(field: Name, changes: [FieldChange])]) {
    for (field, changes) in cells { add(changes, to: field) }
  }

  /// - Complexity: linear in the changes
  private mutating func add(_ changes: [FieldChange], to field: Name) {
    var elements: [FieldKind: [Value]] = [:]
    var entries: [Name: Value] = [:]
    for change in changes {
      switch change {
      case .set(let value): registers[field] = value
      case .add(let value): merging[field, default: [:]][.counter] = value
      case .insert(let value): elements[.set, default: []].append(value)
      case .contribute(let value): elements[.contributions, default: []].append(value)
      case .put(let key, let value): entries[key] = value
      case .insertElements(let values, _): merging[field, default: [:]][.list] = .array(values)
      case .insertText(let text, _): merging[field, default: [:]][.text] = .string(text)
      default: break
      }
    }
    for (kind, values) in elements { merging[field, default: [:]][kind] = .array(values) }
    if !entries.isEmpty { merging[field, default: [:]][.map] = .map(entries) }
  }

  /// Of which kinds a field is. A register that was cleared is none.
  func kinds(of field: Name) -> [FieldKind] {
    (registers[field] ?? .null == .null ? [] : [.register])
      + FieldKind.merging.map(\.kind).filter { merging[field]?[$0] != nil }
  }

  /// The assets that the values name.
  var assets: [AssetReference] {
    var assets: [AssetReference] = []
    let merged = merging.sorted { $0.key < $1.key }.flatMap { field in
      field.value.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
    }
    for value in registers.sorted(by: { $0.key < $1.key }).map(\.value) + merged {
      value.appendAssets(to: &assets)
    }
    return assets
  }
}

extension FieldKind {
  /// The kinds of fields that merge, and what they are called.
  static let merging: [(kind: FieldKind, name: Name)] = [
    (.counter, "counter"), (.set, "set"), (.map, "map"), (.list, "list"), (.text, "text"),
    (.contributions, "contributions"),
  ]

  /// What it is called in lines and messages.
  var rawName: String { Self.merging.first { $0.kind == self }?.name.rawValue ?? "register" }

  /// What a line holds for such a field, for messages.
  fileprivate var shape: String {
    switch self {
    case .register: "a value"
    case .counter: #"an integer or {"decimal":"1.5"}"#
    case .map: #"an object of values by key, such as {"key":1},"#
    case .text: "a string"
    case .set, .list, .contributions: "an array of values, such as [1,2],"
    }
  }
}

extension JSON {
  /// A line of exported records.
  init(_ record: Record, _ fields: RecordFields) {
    var merging: [Name: JSON] = [:]
    for (field, kinds) in fields.merging {
      var members: [Name: JSON] = [:]
      for (kind, name) in FieldKind.merging { members[name] = kinds[kind].map { JSON(exported: $0, kind) } }
      merging[field] = .object(members)
    }
    self = .members([
      "record": .text(record.id), "type": .text(record.type),
      "fields": .object(fields.registers.mapValues { JSON($0) }),
      "merging": merging.isEmpty ? nil : .object(merging),
    ])
  }

  private init(exported value: Value, _ kind: FieldKind) {
    switch value {
    case .map(let entries) where kind == .map: self = .object(entries.mapValues { JSON($0) })
    case .array(let values): self = .array(values.map { JSON($0) })
    default: self = JSON(value)
    }
  }
}

extension RecordFields {
  /// Reads the members of a line.
  init(_ members: inout JSONMembers) throws(JSONError) {
    guard case .object(let fields) = try members.require("fields") else {
      throw members.wrong("fields", "an object")
    }
    for (name, json) in fields.sorted(by: { $0.key < $1.key }) {
      registers[name] = try Value(json, in: "fields.\(Display.plain(name.rawValue, limit: 40))")
    }
    if members.isMissing("merging") { return }
    guard case .object(let merged) = try members.require("merging") else {
      throw members.wrong("merging", "an object")
    }
    for (field, json) in merged.sorted(by: { $0.key < $1.key }) {
      let path = "merging.\(Display.plain(field.rawValue, limit: 40))"
      var found = try JSONMembers(json, in: path)
      for (kind, name) in FieldKind.merging where !found.isMissing(name) {
        guard let value = try Self.value(try found.require(name), kind, in: found.child(name)) else {
          throw found.wrong(name, kind.shape)
        }
        merging[field, default: [:]][kind] = value
      }
      try found.finish()
    }
  }

  /// What a field of a kind reads; nil if a line may not hold that for it.
  private static func value(_ json: JSON, _ kind: FieldKind, in path: String) throws(JSONError) -> Value? {
    switch (kind, json) {
    case (.map, .object(let members)):
      var entries: [Name: Value] = [:]
      for (key, json) in members { entries[key] = try Value(json, in: path) }
      return .map(entries)
    case (.set, .array(let elements)), (.list, .array(let elements)), (.contributions, .array(let elements)):
      var values: [Value] = []
      for json in elements { values.append(try Value(json, in: path)) }
      return .array(values)
    case (.counter, .integer), (.text, .string): return try Value(json, in: path)
    case (.counter, .object(let members)) where members["decimal"] != nil: return try Value(json, in: path)
    default: return nil
    }
  }
}
