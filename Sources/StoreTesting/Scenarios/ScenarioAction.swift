import OperationFormat

/// What a step does.
indirect enum ScenarioAction: Sendable {
  case write(ScenarioWrite)
  /// Steps one after the other, each a separate write: a repetition, written out.
  case steps([ScenarioStep])
  /// Writes, all in one transaction of the store.
  case transaction([ScenarioStep])
  case clock(milliseconds: Int64)
  case setOnline(Bool)
  case push
  case pull
  /// A push whose acknowledgement is held back.
  case beginPush
  case acknowledgePush
  case sync
  case quiesce
  /// Segments from the end of each zone's log, nil for all.
  case redeliver(segments: Int?, ScenarioOrder)
  case restart
  case wipeLocal
  case loseToken
  case createZone(Name)
  case deleteZone(Name)
  case check(ScenarioAssertion)
  /// Something that no runner can do yet.
  case unsupported(String)
}

/// A write of one record.
enum ScenarioWrite: Sendable {
  case create(ScenarioRecord, fields: [Name: Value])
  case save(ScenarioRecord, fields: [Name: Value])
  case delete(ScenarioRecord)
  /// The record moves to another zone, which is created if it does not exist.
  case move(ScenarioRecord, to: Name)
  /// A change of a field that merges.
  case edit(ScenarioRecord, Name, ScenarioEdit)
  /// The record refers to another one, nil for none, by a rule; nil for the rule that the reference has.
  case setParent(ScenarioRecord, Name?, ReferenceRule?)

  /// The record, and whether the write creates it.
  var target: (record: ScenarioRecord, isNew: Bool) {
    switch self {
    case .create(let record, _): (record, true)
    case .save(let record, _), .delete(let record), .move(let record, _), .edit(let record, _, _),
      .setParent(let record, _, _):
      (record, false)
    }
  }
}

/// A record as a scenario names it.
struct ScenarioRecord: Hashable, Sendable {
  var name: Name
  /// Nil: where the record was created last, else `main`.
  var zone: Name?

  /// The field with the reference that scenarios call the parent.
  static let parentField: Name = "parent"
}

/// A change of a field that merges.
enum ScenarioEdit: Sendable {
  /// An integer or a decimal more in a counter.
  case add(Value)
  /// What makes a counter read a number.
  case setCounter(Value)
  case insert([Value])
  case remove([Value])
  /// Removes all elements of a set that are seen.
  case clearSet
  case insertElements([Value], at: Int)
  case removeElements(at: Int, count: Int)
  case replaceElement(at: Int, Value)
  case moveElement(from: Int, to: Int)
  case insertText(String, at: Int)
  case removeText(at: Int, count: Int)
}

/// What must hold of a list.
enum ScenarioListTest: Sendable {
  case oneOf([[Value]])
  case permutation(of: [Value])
  case hasSubsequence([Value])
}

/// The order of segments that are delivered again.
enum ScenarioOrder: String, Sendable {
  case same, reversed, shuffled
}

/// What must hold.
enum ScenarioAssertion: Sendable {
  case converged
  case exists(ScenarioRecord)
  case absent(ScenarioRecord)
  case field(ScenarioRecord, Name, oneOf: [Value])
  /// A set has these elements and, unless `isWhole` is false, no others.
  case set(ScenarioRecord, Name, [Value], isWhole: Bool)
  case list(ScenarioRecord, Name, ScenarioListTest)
  case text(ScenarioRecord, Name, oneOf: [String])
  /// A set has none of these elements.
  case setExcludes(ScenarioRecord, Name, [Value])
  /// The record that the reference names, nil where it reads as missing.
  case parent(ScenarioRecord, Name?)
  /// No record that is there shows a reference to one that is not.
  case noDanglingParent
  /// Live records of a zone.
  case count(Int, zone: Name)
  /// A record is there although it moved to these zones.
  case survivor(ScenarioRecord, of: [Name])
  case pending(ClosedRange<Int>)
  case lastPushCount(Int)
  case lastPullCount(Int)
}
