import EventStore

extension CellHead {
  var json: JSON {
    var members = content.jsonMembers
    members["operation"] = .text(operation)
    members["timestamp"] = .text(timestamp)
    members["time"] = Display.knownTime(timestamp).map { .string($0) }
    return .object(members)
  }
}

extension CellHead.Content {
  /// The value, whether the record is alive and with which type, or where it moved to.
  var jsonMembers: [Name: JSON] {
    switch self {
    case .value(let value): ["value": value.json]
    case .addend(let value), .contribution(let value): ["added": value.json]
    case .element(let value): ["element": value.json]
    case .entry(let key, let value): ["key": .text(key), "value": value.json]
    case .text(let text): ["text": .string(text)]
    case .item(let unit, let value): ["unit": .text(unit), "value": value.json]
    case .alive(let type): ["alive": .bool(true), "type": .text(type)]
    case .dead: ["alive": .bool(false)]
    case .moved(let place): ["alive": .bool(false), "movedTo": .text(place)]
    }
  }
}

extension RecordPlace {
  /// `{"is":"here","record":"zone:name"}`; `elsewhere` and `nowhere` are the others.
  var json: JSON {
    let word =
      switch self {
      case .here: "here"
      case .elsewhere: "elsewhere"
      case .nowhere: "nowhere"
      }
    return .object(["is": .string(word), "record": .text(record)])
  }
}

extension Conflict {
  var json: JSON {
    .members([
      "record": .text(record), "field": field.map { .text($0) }, "key": key.map { .text($0) },
      "winner": winner.json, "losers": .array(losers.map(\.json)),
    ])
  }
}

extension Base {
  var json: JSON { .object(["incarnation": .text(incarnation), "offset": .number(offset)]) }
}

extension Placement {
  var json: JSON {
    .members([
      "incarnation": .text(incarnation), "offset": .number(offset),
      "received": receivedMilliseconds.map { .number($0) },
    ])
  }
}
