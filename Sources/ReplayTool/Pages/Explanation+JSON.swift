import EventStore

extension Explanation {
  /// - Parameters:
  ///   - nullified: the targets of references that read as missing.
  ///   - members: the changed members of a list's elements: an element has the value that they leave it with in
  ///     `merged`, and what is explained of them is in `members`.
  func json(nullified: [RecordID] = [], members: ChangedMembers? = nil) -> JSON {
    var heads = self.heads.map(\.jsonMembers)
    if let members {
      for (index, head) in self.heads.enumerated() {
        if case .item(_, let value) = head.head.content {
          heads[index]["merged"] = members.merged(value).json
        }
      }
    }
    for (index, loss) in losses.enumerated() {
      guard let loss else { continue }
      heads[index]["lostTo"] = .text(loss.winner.head.operation)
      heads[index]["lostBecause"] = loss.reason.json
    }
    return .members([
      "record": .text(record), "field": field.map { .text($0) },
      "element": element?.json,
      "counter": counter?.value.json,
      "isClamped": counter.map { .bool($0.isClamped) },
      "policy": policy.map { .string("\($0)") }, "isVisible": .bool(isVisible),
      "hiddenWith": missingTarget.map { .text($0) },
      "place": field == nil ? movedTo?.json : nil,
      "readsAsMissing": nullified.isEmpty ? nil : .array(nullified.map { .text($0) }),
      "heads": .array(heads.map { .object($0) }),
      "replaced": .array(
        replaced.map { one in
          var members = one.content.jsonMembers
          members["operation"] = .text(one.operation)
          members["replacedBy"] = .text(one.replacedBy)
          members["replacedAt"] = .number(one.replacedAt.rawValue)
          if one.isRemoved { members["removed"] = .bool(true) }
          members["made"] = one.entry.madeJSON
          return .object(members)
        }),
      "edits": edits.isEmpty
        ? nil
        : .array(
          edits.map { edit in
            var members: [Name: JSON] = ["operation": .text(edit.operation), "made": edit.entry.madeJSON]
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
      "movedFrom": movedFrom.map { .text($0) },
      "retiredThrough": retiredThrough.map { .number($0.rawValue) },
      "compactedThrough": compactedThrough.map { .number($0) },
      "droppedAt": droppedAt.map { .number($0) },
      "members": members?.explanation?.json(),
    ])
  }
}

extension Explanation.ExplainedHead {
  fileprivate var jsonMembers: [Name: JSON] {
    var members = head.content.jsonMembers
    members["operation"] = .text(head.operation)
    members["timestamp"] = .text(head.timestamp)
    members["made"] = entry?.madeJSON
    if entry == nil {
      members[head.operation.transaction.sequence == 0 ? "isCompacted" : "isRetired"] = .bool(true)
    }
    members["hadSeen"] = base?.json
    members["placement"] = placement?.json
    members["formerly"] = formerly.map { .text($0) }
    return members
  }
}

extension LogEntry {
  /// Who made the transaction, and when.
  fileprivate var madeJSON: JSON {
    .members([
      "position": .number(position.rawValue), "author": transaction.author.map { .string($0) },
      "label": transaction.label.map { .string($0) },
      "time": .string(Display.time(transaction.timestamp)), "timestamp": .text(transaction.timestamp),
    ])
  }
}

extension Explanation.Reason {
  fileprivate var json: JSON {
    switch self {
    case .laterTimestamp(let milliseconds): .object(["earlierByMilliseconds": .number(milliseconds)])
    case .laterCounter: "lowerCounter"
    case .greaterReplica: "lesserReplica"
    case .laterSequence: "earlierSequence"
    }
  }
}
