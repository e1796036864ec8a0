import EventStore
import OperationFormat

extension JSON {
  /// A file of a remote log. Without operations, their count takes their place.
  init(_ file: SegmentFile, withOperations: Bool) {
    var members: [Name: JSON] = ["kind": .string(Self.word(file.kind)), "byteCount": .number(file.byteCount)]
    if let envelope = file.envelope {
      members["offset"] = .number(envelope.offset)
      members["receivedMilliseconds"] = envelope.receivedMilliseconds.map { .number($0) }
    }
    if let seal = file.seal {
      members["offset"] = .number(seal.offset)
      members["seal"] = Self.seal(seal.kind)
    }
    if let tombstone = file.tombstone {
      members["offset"] = .number(tombstone.offset)
      members["givenUp"] = Self.tombstone(tombstone)
    }
    if let header = file.header {
      members["header"] = Self.header(header)
      if file.problem == nil {
        members["transactions"] = .array(
          file.transactions.map { transaction in
            var members = Self.members(of: transaction)
            members["time"] = .string(Display.time(transaction.timestamp))
            if !withOperations {
              members["operations"] = .number(transaction.operations.count)
              members["names"] = nil
            }
            return .object(members)
          })
      }
    }
    members["problem"] = file.problem.map { problem in
      .object([
        "code": .text(problem.error.code), "at": .string(problem.isInBody ? "body" : "file"),
        "offset": .number(problem.error.offset), "subject": .string(problem.error.subject),
        "expected": .string(problem.error.expected), "found": .string(problem.error.found),
        "hint": .string(problem.error.hint),
      ])
    }
    self = .object(members)
  }

  private static func word(_ kind: FrameKind) -> String {
    switch kind {
    case .segment: "segment"
    case .envelope: "envelope"
    case .seal: "seal"
    case .zoneEvent: "zoneEvent"
    case .tombstone: "tombstone"
    }
  }

  static func tombstone(_ tombstone: LogTombstone) -> JSON {
    .members([
      "milliseconds": .number(tombstone.milliseconds), "note": .string(tombstone.note),
      "byteCount": tombstone.content.map { .number($0.byteCount) },
      "hash": tombstone.content.map { .text($0.hash) },
      "incarnation": tombstone.incarnation.map { .text($0) },
    ])
  }

  private static func seal(_ kind: LogSeal.Kind) -> JSON {
    switch kind {
    case .deleted: .object(["kind": "deleted"])
    case .purged: .object(["kind": "purged"])
    case .reset(let incarnation): .object(["kind": "reset", "incarnation": .text(incarnation)])
    }
  }

  private static func header(_ header: SegmentHeader) -> JSON {
    .object([
      "zone": .text(header.zone), "incarnation": .text(header.incarnation),
      "replica": .text(header.replica), "epoch": .number(header.epoch),
      "firstSequence": .number(header.sequences.lowerBound),
      "lastSequence": .number(header.sequences.upperBound), "base": .number(header.base),
      "baseHash": header.base == 0 ? .null : .text(header.baseHash),
      "operationCount": .number(header.operationCount),
      "leastTimestamp": .text(header.timestamps.lowerBound),
      "greatestTimestamp": .text(header.timestamps.upperBound), "codec": .number(header.codec.rawValue),
      "unpackedBytes": .number(header.unpackedBytes), "packedBytes": .number(header.packedBytes),
      "contentHash": .text(header.contentHash),
      "previousHash": header.previousHash == .zero ? .null : .text(header.previousHash),
    ])
  }
}
