import EventStore
import OperationFormat

extension SegmentFile {
  /// Without operations, their count takes their place.
  func json(withOperations: Bool) -> JSON {
    var members: [Name: JSON] = ["kind": .string(kind.word), "byteCount": .number(byteCount)]
    if let envelope {
      members["offset"] = .number(envelope.offset)
      members["receivedMilliseconds"] = envelope.receivedMilliseconds.map { .number($0) }
      members["chain"] = envelope.chain.map { .text($0) }
    }
    if let seal {
      members["offset"] = .number(seal.offset)
      members["seal"] = seal.kind.json
    }
    if let tombstone {
      members["offset"] = .number(tombstone.offset)
      members["givenUp"] = tombstone.passesSeal ? nil : tombstone.json
      members["madeAgain"] = tombstone.passesSeal ? .bool(true) : nil
    }
    if let header {
      members["header"] = header.json
      if problem == nil {
        members["transactions"] = .array(
          transactions.map { transaction in
            var members = transaction.jsonMembers
            members["time"] = .string(Display.time(transaction.timestamp))
            if !withOperations {
              members["operations"] = .number(transaction.operations.count)
              members["names"] = nil
            }
            return .object(members)
          })
      }
    }
    members["problem"] = problem.map { problem in
      .object([
        "code": .text(problem.error.code), "at": .string(problem.isInBody ? "body" : "file"),
        "offset": .number(problem.error.offset), "subject": .string(problem.error.subject),
        "expected": .string(problem.error.expected), "found": .string(problem.error.found),
        "hint": .string(problem.error.hint),
      ])
    }
    return .object(members)
  }
}

extension FrameKind {
  fileprivate var word: String {
    switch self {
    case .segment: "segment"
    case .envelope: "envelope"
    case .seal: "seal"
    case .zoneEvent: "zoneEvent"
    case .tombstone: "tombstone"
    case .snapshot: "snapshot"
    case .floor: "floor"
    }
  }
}

extension LogTombstone {
  var json: JSON {
    .members([
      "milliseconds": .number(milliseconds), "note": .string(note),
      "byteCount": content.map { .number($0.byteCount) }, "hash": content.map { .text($0.hash) },
      "incarnation": incarnation.map { .text($0) },
    ])
  }
}

extension LogSeal.Kind {
  fileprivate var json: JSON {
    switch self {
    case .deleted: .object(["kind": "deleted"])
    case .purged: .object(["kind": "purged"])
    case .reset: .object(["kind": "reset"])
    }
  }
}

extension SegmentHeader {
  fileprivate var json: JSON {
    .members([
      "version": .number(version), "zone": .text(zone), "incarnation": .text(incarnation),
      "replica": .text(replica), "epoch": .number(epoch),
      "firstSequence": .number(sequences.lowerBound),
      "lastSequence": .number(sequences.upperBound), "base": .number(base),
      "baseProof": base == 0 ? .null : .text(baseProof),
      "operationCount": isSealed ? nil : .number(operationCount),
      "leastTimestamp": isSealed ? nil : .text(timestamps.lowerBound),
      "greatestTimestamp": isSealed ? nil : .text(timestamps.upperBound), "codec": .number(codec.rawValue),
      "keyID": keyID == 0 ? nil : .number(keyID),
      "unpackedBytes": isSealed ? nil : .number(unpackedBytes), "packedBytes": .number(packedBytes),
      "contentHash": .text(contentHash),
      "previousHash": previousHash == .zero ? .null : .text(previousHash),
      "device": device.map { .text($0) }, "former": former.map { $0.json },
    ])
  }
}

extension FormerPlace {
  fileprivate var json: JSON {
    .object(["incarnation": .text(incarnation), "offset": .number(offset), "base": .number(base)])
  }
}
