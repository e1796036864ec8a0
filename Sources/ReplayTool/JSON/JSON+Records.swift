import EventStore

extension JSON {
  /// `{"fields":{…},"record":"zone:name","type":"…"}`.
  init(_ record: Record) {
    self = .object([
      "record": .text(record.id), "type": .text(record.type), "fields": .object(record.fields.mapValues { JSON($0) }),
    ])
  }

  init(_ head: CellHead) {
    var members: [Name: JSON] = [
      "operation": .text(head.operation), "timestamp": .text(head.timestamp),
      "time": .string(Display.time(head.timestamp)),
    ]
    switch head.content {
    case .value(let value): members["value"] = JSON(value)
    case .alive(let type):
      members["alive"] = .bool(true)
      members["type"] = .text(type)
    case .dead: members["alive"] = .bool(false)
    }
    self = .object(members)
  }

  init(_ conflict: Conflict) {
    self = .members([
      "record": .text(conflict.record), "field": conflict.field.map { .text($0) },
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
