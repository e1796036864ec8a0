import EventStore

/// The form of a field's content in a line of exported records.
enum FieldForm {
  /// Any value.
  case value
  /// An integer or a decimal.
  case number
  case text
  /// An array of values.
  case values
  /// An object of values by key.
  case entries
}

extension FieldKind {
  /// The kinds of fields that merge: all but the register.
  static let merging = allCases.filter(\.row.merges)

  /// The name of the kind in lines and messages.
  var name: Name { row.name }

  /// The form of the kind's content in a line.
  var form: FieldForm { row.form }

  private var row: (name: Name, form: FieldForm, merges: Bool) {
    switch self {
    case .register: ("register", .value, false)
    case .counter: ("counter", .number, true)
    case .set: ("set", .values, true)
    case .map: ("map", .entries, true)
    case .list: ("list", .values, true)
    case .text: ("text", .text, true)
    case .contributions: ("contributions", .values, true)
    }
  }
}

extension FieldForm {
  /// The content that a line must have, for messages.
  var shape: String {
    switch self {
    case .value: "a value"
    case .number: #"an integer or {"decimal":"1.5"}"#
    case .text: "a string"
    case .values: "an array of values, such as [1,2],"
    case .entries: #"an object of values by key, such as {"key":1},"#
    }
  }

  func json(_ value: Value) -> JSON {
    switch self {
    case .value, .number, .text: return value.json
    case .values:
      if case .array(let values) = value { return .array(values.map(\.json)) }
    case .entries:
      if case .map(let entries) = value { return .object(entries.mapValues(\.json)) }
    }
    preconditionFailure("a value without the form \(self)")
  }

  /// Reads a value; nil if the JSON has another form.
  func value(_ json: JSON, in path: String) throws(JSONError) -> Value? {
    switch self {
    case .value: return try Value(json, in: path)
    case .number:
      if case .integer = json { return try Value(json, in: path) }
      if case .object(let members) = json, members["decimal"] != nil { return try Value(json, in: path) }
    case .text:
      if case .string(let text) = json { return .string(text) }
    case .values:
      guard case .array(let elements) = json else { return nil }
      var values: [Value] = []
      for json in elements { values.append(try Value(json, in: path)) }
      return .array(values)
    case .entries:
      guard case .object(let members) = json else { return nil }
      var entries: [Name: Value] = [:]
      for (key, json) in members { entries[key] = try Value(json, in: path) }
      return .map(entries)
    }
    return nil
  }
}
