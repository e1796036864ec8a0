import EventStore

extension JSON {
  /// `{"fields":{…},"record":"zone:name","type":"…"}`.
  init(_ record: Record) {
    self = .object([
      "record": .text(record.id), "type": .text(record.type),
      "fields": .object(record.fields.mapValues { JSON($0) }),
    ])
  }

  init(_ head: CellHead) {
    var members = Self.members(of: head.content)
    members["operation"] = .text(head.operation)
    members["timestamp"] = .text(head.timestamp)
    members["time"] = .string(Display.time(head.timestamp))
    self = .object(members)
  }

  /// The content of a head: its value, whether the record is alive and with which type, or where it moved to.
  static func members(of content: CellHead.Content) -> [Name: JSON] {
    switch content {
    case .value(let value): ["value": JSON(value)]
    case .addend(let value), .contribution(let value): ["added": JSON(value)]
    case .element(let value): ["element": JSON(value)]
    case .entry(let key, let value): ["key": .text(key), "value": JSON(value)]
    case .text(let text): ["text": .string(text)]
    case .item(let unit, let value): ["unit": .text(unit), "value": JSON(value)]
    case .alive(let type): ["alive": .bool(true), "type": .text(type)]
    case .dead: ["alive": .bool(false)]
    case .moved(let place): ["alive": .bool(false), "movedTo": .text(place)]
    }
  }

  init(_ conflict: Conflict) {
    self = .members([
      "record": .text(conflict.record), "field": conflict.field.map { .text($0) },
      "key": conflict.key.map { .text($0) },
      "winner": JSON(conflict.winner), "losers": .array(conflict.losers.map { JSON($0) }),
    ])
  }

  init(_ base: Base) {
    self = .object(["incarnation": .text(base.incarnation), "offset": .number(base.offset)])
  }

  init(_ placement: Placement) {
    self = .members([
      "incarnation": .text(placement.incarnation), "offset": .number(placement.offset),
      "received": placement.receivedMilliseconds.map { .number($0) },
    ])
  }
}
