import EventStore

// The change of a field in JSON: the word of its kind, and its members besides kind, record, type and field.
// The table is in LogTransaction+JSON.swift.

/// The kinds of changes: their words in JSON and for people.
enum ChangeWord: String {
  case set, add, insert, remove, put, removeKey
  case insertElements, moveElement, replaceElement, removeElements, insertText, removeText
  case contribute
}

extension FieldChange {
  var word: ChangeWord {
    switch self {
    case .set: .set
    case .add: .add
    case .insert: .insert
    case .remove: .remove
    case .put: .put
    case .removeKey: .removeKey
    case .insertElements: .insertElements
    case .moveElement: .moveElement
    case .replaceElement: .replaceElement
    case .removeElements: .removeElements
    case .insertText: .insertText
    case .removeText: .removeText
    case .contribute: .contribute
    }
  }

  /// Reads the members of a change, and leaves all others.
  init(_ word: ChangeWord, _ members: inout JSONMembers, in path: String) throws(JSONError) {
    switch word {
    case .set: self = .set(try members.value(in: path))
    case .add: self = .add(try members.value(in: path))
    case .insert: self = .insert(try members.value(in: path))
    case .remove: self = .remove(try members.value(in: path))
    case .put: self = .put(key: Name(try members.string("key")), try members.value(in: path))
    case .removeKey: self = .removeKey(Name(try members.string("key")))
    case .insertElements:
      var values: [Value] = []
      for value in try members.array("values") { values.append(try Value(value, in: path)) }
      self = .insertElements(values, after: try members.unitIfPresent("after"))
    case .moveElement:
      self = .moveElement(try members.unit("element"), after: try members.unitIfPresent("after"))
    case .replaceElement: self = .replaceElement(try members.unit("element"), try members.value(in: path))
    case .removeElements: self = .removeElements(try members.runs(in: path))
    case .insertText:
      self = .insertText(try members.string("text"), after: try members.unitIfPresent("after"))
    case .removeText: self = .removeText(try members.runs(in: path))
    case .contribute: self = .contribute(try members.value(in: path))
    }
  }
}

extension FieldChange {
  var jsonMembers: [Name: JSON] {
    switch self {
    case .set(let value), .add(let value), .insert(let value), .remove(let value), .contribute(let value):
      ["value": value.json]
    case .put(let key, let value): ["key": .text(key), "value": value.json]
    case .removeKey(let key): ["key": .text(key)]
    case .insertElements(let values, let origin):
      Self.after(origin, ["values": .array(values.map(\.json))])
    case .moveElement(let element, let origin): Self.after(origin, ["element": element.json])
    case .replaceElement(let element, let value): ["element": element.json, "value": value.json]
    case .removeElements(let runs), .removeText(let runs): ["units": .array(runs.map(\.json))]
    case .insertText(let text, let origin): Self.after(origin, ["text": .string(text)])
    }
  }

  private static func after(_ origin: UnitReference?, _ members: [Name: JSON]) -> [Name: JSON] {
    var members = members
    members["after"] = origin?.json
    return members
  }
}

extension UnitReference {
  var json: JSON { maker == nil ? .number(number) : .text(self) }
}

extension UnitSpan {
  fileprivate var json: JSON { .object(["first": first.json, "count": .number(count)]) }
}

extension JSONMembers {
  fileprivate mutating func value(in path: String) throws(JSONError) -> Value {
    try Value(try require("value"), in: path)
  }

  fileprivate mutating func unitIfPresent(_ key: Name) throws(JSONError) -> UnitReference? {
    isMissing(key) ? nil : try unit(key)
  }

  fileprivate mutating func unit(_ key: Name) throws(JSONError) -> UnitReference {
    switch try require(key) {
    case .integer(let number):
      if let number = UInt64(exactly: number) { return UnitReference(number: number) }
    case .string(let text):
      if let unit = UnitReference(text), unit.maker != nil { return unit }
    default: break
    }
    throw wrong(key, "a unit as a number or replica.epoch.number")
  }

  fileprivate mutating func runs(in path: String) throws(JSONError) -> [UnitSpan] {
    var runs: [UnitSpan] = []
    for run in try array("units") {
      var members = try JSONMembers(run, in: path)
      runs.append(UnitSpan(first: try members.unit("first"), count: try members.integer("count")))
      try members.finish()
    }
    return runs
  }
}
