import EventStore

extension JSON {
  /// - Parameter nullified: the targets of references that read as missing.
  init(_ explanation: Explanation, _ nullified: [RecordID] = []) {
    var heads = explanation.heads.map { Self.members(of: $0) }
    for (index, loss) in explanation.losses.enumerated() {
      guard let loss else { continue }
      heads[index]["lostTo"] = .text(loss.winner.head.operation)
      heads[index]["lostBecause"] = JSON(loss.reason)
    }
    self = .members([
      "record": .text(explanation.record), "field": explanation.field.map { .text($0) },
      "element": explanation.element.map { JSON($0) },
      "counter": explanation.counter.map { JSON($0.value) },
      "isClamped": explanation.counter.map { .bool($0.isClamped) },
      "policy": explanation.policy.map { .string("\($0)") }, "isVisible": .bool(explanation.isVisible),
      "hiddenWith": explanation.missingTarget.map { .text($0) },
      "readsAsMissing": nullified.isEmpty ? nil : .array(nullified.map { .text($0) }),
      "heads": .array(heads.map { .object($0) }),
      "replaced": .array(
        explanation.replaced.map { one in
          var members = Self.members(of: one.content)
          members["operation"] = .text(one.operation)
          members["replacedBy"] = .text(one.replacedBy)
          members["replacedAt"] = .number(one.replacedAt.rawValue)
          if one.isRemoved { members["removed"] = .bool(true) }
          members["made"] = Self.maker(one.entry)
          return .object(members)
        }),
      "edits": explanation.edits.isEmpty
        ? nil
        : .array(
          explanation.edits.map { edit in
            var members: [Name: JSON] = ["operation": .text(edit.operation), "made": Self.maker(edit.entry)]
            switch edit.kind {
            case .removed(let units):
              members["kind"] = "removed"
              members["units"] = .number(units)
            case .replaced: members["kind"] = "replaced"
            case .moved: members["kind"] = "moved"
            case .cleared: members["kind"] = "cleared"
            }
            return .object(members)
          }),
      "movedFrom": explanation.movedFrom.map { .text($0) },
    ])
  }

  private static func members(of head: Explanation.ExplainedHead) -> [Name: JSON] {
    var members = members(of: head.head.content)
    members["operation"] = .text(head.head.operation)
    members["timestamp"] = .text(head.head.timestamp)
    members["made"] = maker(head.entry)
    members["hadSeen"] = head.base.map { JSON($0) }
    members["placement"] = head.placement.map { JSON($0) }
    return members
  }

  private static func maker(_ entry: LogEntry) -> JSON {
    .members([
      "position": .number(entry.position.rawValue), "author": entry.transaction.author.map { .string($0) },
      "label": entry.transaction.label.map { .string($0) },
      "time": .string(Display.time(entry.transaction.timestamp)),
      "timestamp": .text(entry.transaction.timestamp),
    ])
  }

  private init(_ reason: Explanation.Reason) {
    self =
      switch reason {
      case .laterTimestamp(let milliseconds): .object(["earlierByMilliseconds": .number(milliseconds)])
      case .laterCounter: "lowerCounter"
      case .greaterReplica: "lesserReplica"
      case .laterSequence: "earlierSequence"
      }
  }
}
