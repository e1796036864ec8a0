import EventStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// A line of an exported log is an object with one member, which names the kind of line:
//
// | member | holds |
// |---|---|
// | store | the first line: "version" of this form; "replica" and "epoch" of the store |
// | policy | "type", "policy": latest, deleteWins or updateWins |
// | deletion | a zone that must be deleted at the remote: "zone", "incarnation" |
// | zone | "zone", "attachment": local or attached; "base", and "token" with its "hash", if it was synced; "assets": "eager" if that is its policy |
// | segment | "zone", "incarnation", "offset", "replica", "epoch", "first", "last", "hash", "received", "rejected", "chain", "chainStated": false if the remote did not state it; "limit" if it was offered again with one; "first" and "last" are 0 for an entry that was given up; "rejected" is the number of the `SegmentRejection`, absent if the segment was folded |
// | contested | a pending lane that had seen what the log lost: "zone", "replica", "epoch", "first": its first such sequence, "base": the last offset that it had seen and the log still has |
// | limit | transactions that had seen what the log lost, and were offered again: "zone", "replica", "epoch", "first", "last"; "incarnation", "offset": up to where they have seen the log at most |
// | reissued | a lane whose first transactions its store had issued again: "zone", "replica", "epoch"; "formerReplica", "formerEpoch", "first": the lane before, and the first of it; "count"; "place": where the log has other transactions of that lane, absent if it only took no more; "issued": when, in milliseconds since 1970 |
// | transaction | as in LogTransaction+JSON.swift, with "arrived", "position", "time" and "sha256" of its bytes |
// | end | the last line: "lines", the number of lines before it. A file of version 1 has none |
//
// If the line of a transaction would be too long, it has instead of the transaction's parts "bytes": its
// bytes in base64, and its "zone", since the bytes do not state the zone's owner. An earlier program wrote no
// "zone" there.

/// The kinds of lines of an exported log: the name of the line's one member.
enum LineWord: String {
  case store, policy, deletion, zone, segment, contested, limit, reissued, transaction, end
}

extension LineWord {
  func json(_ content: JSON) -> JSON { .object([Name(rawValue): content]) }
}

extension ExportedLine {
  /// The version of the form of an exported log.
  static let formVersion = 2

  /// - Parameter bytes: the canonical bytes of a transaction.
  func json(bytes: [UInt8] = []) -> JSON {
    switch self {
    case .header(let identity):
      return LineWord.store.json(
        .object([
          "version": .number(Self.formVersion), "replica": .text(identity.replica),
          "epoch": .number(identity.epoch),
        ]))
    case .policy(let type, let policy):
      return LineWord.policy.json(.object(["type": .text(type), "policy": .string("\(policy)")]))
    case .deletion(let zone, let incarnation):
      return LineWord.deletion.json(.object(["zone": .text(zone), "incarnation": .text(incarnation)]))
    case .zone(let zone, let attachment, let token, let base, let assets):
      return LineWord.zone.json(
        .members([
          "zone": .text(zone), "attachment": .string("\(attachment)"), "base": base?.json,
          "token": token.map {
            .object([
              "incarnation": .text($0.base.incarnation), "offset": .number($0.base.offset),
              "hash": .text($0.hash),
            ])
          },
          // A program that does not know the member refuses the file.
          "assets": assets == .lazy ? nil : .string("\(assets)"),
        ]))
    case .segment(let segment):
      return LineWord.segment.json(
        .members([
          "zone": .text(segment.zone), "incarnation": .text(segment.place.incarnation),
          "offset": .number(segment.place.offset), "replica": .text(segment.replica),
          "epoch": .number(segment.epoch), "first": .number(segment.sequences.lowerBound),
          "last": .number(segment.sequences.upperBound), "hash": .text(segment.hash),
          "received": segment.receivedMilliseconds.map { .number($0) },
          "rejected": segment.rejection.map { .number($0.rawValue) },
          "chain": segment.chain.map { .text($0) },
          "chainStated": segment.chain == nil || segment.isChainStated ? nil : .bool(false),
          "limit": segment.limit.map { .number($0) },
        ]))
    case .contested(let contested):
      return LineWord.contested.json(
        .members([
          "zone": .text(contested.zone), "replica": .text(contested.lane.replica),
          "epoch": .number(contested.lane.epoch), "first": .number(contested.first),
          "base": .number(contested.baseMax),
        ]))
    case .limit(let limit):
      return LineWord.limit.json(
        .members([
          "zone": .text(limit.zone), "replica": .text(limit.lane.replica), "epoch": .number(limit.lane.epoch),
          "first": .number(limit.sequences.lowerBound), "last": .number(limit.sequences.upperBound),
          "incarnation": .text(limit.base.incarnation), "offset": .number(limit.base.offset),
        ]))
    case .reissued(let reissued):
      return LineWord.reissued.json(
        .members([
          "zone": .text(reissued.zone), "replica": .text(reissued.lane.replica),
          "epoch": .number(reissued.lane.epoch), "formerReplica": .text(reissued.former.replica),
          "formerEpoch": .number(reissued.former.epoch), "first": .number(reissued.first),
          "count": .number(reissued.count), "place": reissued.branch?.json,
          "issued": .number(reissued.milliseconds),
        ]))
    case .transaction(let entry):
      var members = entry.jsonMembers
      members["sha256"] = .text(ContentHash(of: bytes.span.bytes))
      return LineWord.transaction.json(.object(members))
    }
  }
}

extension JSON {
  /// The last line of an exported log.
  ///
  /// - Parameter lines: the number of lines before it.
  static func endLine(after lines: UInt64) -> JSON { LineWord.end.json(.object(["lines": .number(lines)])) }
}

extension LogEntry {
  /// The line of a transaction in its compact form.
  func compactLine(bytes: [UInt8]) -> JSON {
    LineWord.transaction.json(
      .object([
        "position": .number(position.rawValue), "arrived": .number(arrivedMilliseconds),
        "zone": .text(transaction.zone), "bytes": .string(Data(bytes).base64EncodedString()),
        "sha256": .text(ContentHash(of: bytes.span.bytes)),
      ]))
  }
}
