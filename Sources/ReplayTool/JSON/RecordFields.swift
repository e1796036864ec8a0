import EventStore

// The fields of an exported record, by kind:
//
// | member | content |
// |---|---|
// | fields | the values of registers, by field |
// | merging | fields that merge, by field; absent if there are none. Each is an object with one member for
// each of its kinds: see FieldForm |

/// The contents of a record, kind by kind, as in an exported line.
struct RecordFields: Hashable, Sendable {
  var registers: [Name: Value] = [:]
  /// By field, then by kind. The elements of a set are ordered by their encoded bytes.
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
      case .remove, .removeKey, .moveElement, .replaceElement, .removeElements, .removeText:
        // The contents of a record consist only of insertions.
        break
      }
    }
    for (kind, values) in elements { merging[field, default: [:]][kind] = .array(values) }
    if !entries.isEmpty { merging[field, default: [:]][.map] = .map(entries) }
  }

  /// The kinds of a field. A cleared register is not one of them.
  func kinds(of field: Name) -> [FieldKind] {
    (registers[field] ?? .null == .null ? [] : [.register])
      + FieldKind.merging.filter { merging[field]?[$0] != nil }
  }

  /// The assets that the values refer to.
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

extension RecordFields {
  /// A line of exported records.
  func json(of record: Record) -> JSON {
    var merging: [Name: JSON] = [:]
    for (field, kinds) in self.merging {
      var members: [Name: JSON] = [:]
      for kind in FieldKind.merging { members[kind.name] = kinds[kind].map { kind.form.json($0) } }
      merging[field] = .object(members)
    }
    return .members([
      "record": .text(record.id), "type": .text(record.type),
      "fields": .object(registers.mapValues(\.json)),
      "merging": merging.isEmpty ? nil : .object(merging),
    ])
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
      for kind in FieldKind.merging where !found.isMissing(kind.name) {
        guard let value = try kind.form.value(try found.require(kind.name), in: found.child(kind.name)) else {
          throw found.wrong(kind.name, kind.form.shape)
        }
        merging[field, default: [:]][kind] = value
      }
      try found.finish()
    }
  }
}
