import EventStore

// A transaction in JSON, without loss:
//
// {"base":{"incarnation":"…","offset":5},"author":"ann","epoch":0,"label":"…","operations":[…],"parent":"…",
//  "replica":"…","schema":3,"sequence":12,"timestamp":"1700000000000.3","write":77,"zone":"owner/name"}
//
// Parts that the transaction lacks are absent. An operation is one of
//
// {"kind":"create","record":"milk","type":"item"}
// {"kind":"delete","record":"milk"}
// {"kind":"moveAway","record":"milk","to":"zone:name"}
// {"from":"zone:name","kind":"moveHere","record":"milk","type":"item"}
// {"field":"title","kind":"set","record":"milk","type":"item","value":…}
// {"field":"votes","kind":"add","record":"milk","type":"item","value":…}
// {"field":"tags","kind":"insert","record":"milk","type":"item","value":…}; also "remove"
// {"field":"prices","key":"shop","kind":"put","record":"milk","type":"item","value":…}
// {"field":"prices","key":"shop","kind":"removeKey","record":"milk","type":"item"}
// {"after":…,"field":"steps","kind":"insertElements","record":"milk","type":"item","values":[…]}
// {"after":…,"element":…,"field":"steps","kind":"moveElement","record":"milk","type":"item"}
// {"element":…,"field":"steps","kind":"replaceElement","record":"milk","type":"item","value":…}
// {"field":"steps","kind":"removeElements","record":"milk","type":"item","units":[{"count":3,"first":…}]}
// {"after":…,"field":"note","kind":"insertText","record":"milk","text":"…","type":"item"}
// {"field":"note","kind":"removeText","record":"milk","type":"item","units":[{"count":3,"first":…}]}
// {"floor":1200,"kind":"compact"}
// {"kind":77,"payload":"hexadecimal"}
//
// A unit is its number among those of the transaction's own replica and epoch, or "replica.epoch.number".
// Without "after", the units are inserted at the start.
//
// If an operation has the last form, of a kind that this version does not know, "names" is the transaction's
// table of names. The payload may refer to it.

/// The kinds of operations on records; those on fields are ``ChangeWord``.
private enum OperationWord: String {
  case create, delete, moveAway, moveHere

  /// The kind that has no record.
  static let compact = "compact"
}

extension LogEntry {
  /// The transaction with the store's data about it: its position, its time as text, and its arrival.
  var jsonMembers: [Name: JSON] {
    var members = transaction.jsonMembers
    members["position"] = .number(position.rawValue)
    members["time"] = .string(Display.time(transaction.timestamp))
    members["arrived"] = .number(arrivedMilliseconds)
    return members
  }
}

extension LogTransaction {
  var jsonMembers: [Name: JSON] {
    var members: [Name: JSON] = [
      "replica": .text(replica), "epoch": .number(epoch), "sequence": .number(sequence), "zone": .text(zone),
      "timestamp": .text(timestamp), "operations": .array(operations.map(\.json)),
    ]
    members["base"] = base?.json
    members["parent"] = parent.map { .text($0) }
    members["write"] = writeID.map { .number($0) }
    members["author"] = author.map { .string($0) }
    members["label"] = label.map { .string($0) }
    members["schema"] = schemaVersion.map { .number($0) }
    members["names"] = names.map { .array($0.map { .text($0) }) }
    return members
  }
}

extension LogOperation {
  var json: JSON {
    switch self {
    case .create(let record, let type):
      .object([
        "kind": .string(OperationWord.create.rawValue), "record": .text(record), "type": .text(type),
      ])
    case .delete(let record):
      .object(["kind": .string(OperationWord.delete.rawValue), "record": .text(record)])
    case .moveAway(let record, let place):
      .object([
        "kind": .string(OperationWord.moveAway.rawValue), "record": .text(record), "to": .text(place),
      ])
    case .moveHere(let record, let type, let place):
      .object([
        "kind": .string(OperationWord.moveHere.rawValue), "record": .text(record), "type": .text(type),
        "from": .text(place),
      ])
    case .update(let record, let type, let field, let change):
      .object(
        change.jsonMembers.merging([
          "kind": .string(change.word.rawValue), "record": .text(record), "type": .text(type),
          "field": .text(field),
        ]) { $1 })
    case .compact(let floor): .object(["kind": .string(OperationWord.compact), "floor": .number(floor)])
    case .unknown(let kind, let payload):
      .object(["kind": .number(kind), "payload": .string(Hexadecimal.text(payload))])
    }
  }
}

extension LogTransaction {
  /// Reads a transaction, and leaves members that do not belong to a transaction.
  init(_ members: inout JSONMembers) throws(JSONError) {
    self.init(
      replica: try members.identifier("replica"), epoch: try members.integer("epoch"),
      sequence: try members.integer("sequence"),
      zone: try members.zone("zone"),
      timestamp: try members.parsed("timestamp", "a timestamp as milliseconds.counter"), operations: [])
    if !members.isMissing("base") {
      var found = try members.members("base")
      base = try found.base()
      try found.finish()
    }
    parent = try members.parsedIfPresent("parent", "a transaction as replica.epoch.sequence")
    writeID = try members.integerIfPresent("write")
    author = try members.stringIfPresent("author")
    label = try members.stringIfPresent("label")
    schemaVersion = try members.integerIfPresent("schema")
    for (index, operation) in try members.array("operations").enumerated() {
      operations.append(try LogOperation(operation, in: "\(members.child("operations"))[\(index)]"))
    }
    if !members.isMissing("names") {
      var names: [Name] = []
      for name in try members.array("names") {
        guard case .string(let text) = name else { throw members.wrong("names", "an array of strings") }
        names.append(Name(text))
      }
      self.names = names
    }
  }
}

extension LogOperation {
  init(_ json: JSON, in path: String) throws(JSONError) {
    var members = try JSONMembers(json, in: path)
    let kind = try members.require("kind")
    if case .integer(let number) = kind {
      guard let kind = UInt64(exactly: number), let payload = Hexadecimal.bytes(try members.string("payload"))
      else {
        throw JSONError(in: path, "an operation of an unknown kind has a number and a hexadecimal payload")
      }
      self = .unknown(kind: kind, payload: payload)
    } else if case .string(let name) = kind {
      try self.init(named: name, &members, in: path)
    } else {
      throw members.wrong("kind", "the name of a kind or a number")
    }
    try members.finish()
  }

  private init(named name: String, _ members: inout JSONMembers, in path: String) throws(JSONError) {
    if name == OperationWord.compact {
      self = .compact(floor: try members.integer("floor"))
      return
    }
    let record = Name(try members.string("record"))
    guard let word = OperationWord(rawValue: name) else {
      let type = Name(try members.string("type"))
      let field = Name(try members.string("field"))
      guard let change = ChangeWord(rawValue: name) else {
        throw members.wrong("kind", "create, delete, compact, the name of a change, or a number")
      }
      self = .update(record: record, type: type, field: field, try FieldChange(change, &members, in: path))
      return
    }
    switch word {
    case .create: self = .create(record: record, type: Name(try members.string("type")))
    case .delete: self = .delete(record: record)
    case .moveAway: self = .moveAway(record: record, to: try members.parsed("to", "a record as zone:name"))
    case .moveHere:
      self = .moveHere(
        record: record, type: Name(try members.string("type")),
        from: try members.parsed("from", "a record as zone:name"))
    }
  }
}
