import EventStore
import OperationFormat

@testable import Replicator

/// The machine's output, as lines of a ``MachineScript``. They contain every value of an effect and of a
/// report.
extension ReplicatorEffect {
  var lines: [String] {
    switch self {
    case .round(let effect): [effect.line]
    case .setTimer(let timer, let range): ["timer \(timer) \(range.lowerBound)...\(range.upperBound)"]
    case .announce: ["announce"]
    case .report(let report): report.lines
    }
  }
}

extension RoundEffect {
  fileprivate var line: String {
    switch self {
    case .readState: "read state"
    case .askHeads(let tokens, let list):
      "ask heads of \(tokens.map { "\($0.zone)@\($0.offset)" }.joined(separator: ", ")), list \(list.offset)"
    case .fetchZoneEvents(let token): "fetch list after \(token.map { "\($0.offset)" } ?? "nothing")"
    case .forgetPlaceInZoneList: "forget place in list"
    case .applyZoneEvents(let page):
      "apply list from \(page.startOffset) to \(page.token.offset): "
        + (page.events.map(\.text) + page.later.map { "later \($0.text)" }).joined(separator: ", ")
    case .zone(let zone, let effect): "\(zone): \(effect.text(zone))"
    case .reclaim: "reclaim"
    case .retireHistory(let zones, _, _, _):
      "retire history of \(zones.map(\.description).joined(separator: " "))"
    }
  }
}

extension ZoneEvent {
  fileprivate var text: String {
    "\(kind == .created ? "created" : kind == .revoked ? "revoked" : "deleted") \(zone)"
  }
}

extension ZoneEffect {
  fileprivate func text(_ zone: ZoneID) -> String {
    switch self {
    case .create: "create"
    case .adopt(let incarnation): "adopt \(incarnation.text)"
    case .mendOrigin: "mend origin"
    case .fetch(let token): "fetch after \(token.text(zone))"
    case .putBack(let token, let offset): "put back from \(offset) to \(token.text(zone))"
    case .part(_, let offset, let isLost): "part from \(offset)\(isLost ? ", which is lost" : "")"
    case .fold(let segments, let token, let isMoreToCome):
      "fold \(segments.map { "\($0.offset)" }.joined(separator: ", ")) after \(token.text(zone))"
        + (isMoreToCome ? ", more to come" : "")
    case .prepare: "prepare"
    case .upload(let asset, let incarnation, let chunks):
      "upload \(asset.text) of \(incarnation.text), \(Self.text(chunks))"
    case .append(let segment, let offset): "append \(segment.header.text(zone)) after \(offset)"
    case .acknowledge(let header, let place): "acknowledge \(header.text(zone)) at \(place.offset)"
    case .findUnsentAsset(let last): "find unsent asset after \(last.text)"
    case .findAsset(let last, let position):
      "find asset after \(last.text), named after \(position.map { "\($0.rawValue)" } ?? "the start")"
    case .download(let asset, let incarnation, let chunks):
      "download \(asset.text) of \(incarnation.text), \(Self.text(chunks))"
    case .makeSnapshot(let incarnation, nil): "make snapshot of \(incarnation.text)"
    case .makeSnapshot(let incarnation, let offset?):
      "make snapshot of \(incarnation.text), needed behind \(offset)"
    case .trim(let incarnation, let milliseconds): "trim \(incarnation.text) older than \(milliseconds)"
    case .forgetCut(let header): "forget cut \(header.text(zone))"
    case .reopen(let incarnation): "reopen \(incarnation.text)"
    case .withdraw(let incarnation, let isRevoked, let answer):
      "withdraw \(incarnation.text)\(isRevoked ? ", revoked" : "")\(answer == .detach ? ", detach" : "")"
    case .deleteAtRemote(let incarnation): "delete at remote \(incarnation.text)"
    case .finishDeletion(let incarnation, let remoteHasDeleted):
      "finish deletion of \(incarnation.text), \(remoteHasDeleted ? "told" : "not told")"
    }
  }

  private static func text(_ chunksMax: Int?) -> String {
    chunksMax.map { "at most \($0) chunks" } ?? "all chunks"
  }
}

extension IncarnationID {
  fileprivate var text: String { self == incarnation ? "log a" : "another log" }
}

extension ChangeToken {
  /// The offset, and any part that differs from the usual tokens of scripts.
  fileprivate func text(_ zone: ZoneID) -> String {
    self == token(offset, zone: zone) ? "\(offset)" : "\(offset) of another log"
  }
}

extension SegmentHeader {
  fileprivate func text(_ zone: ZoneID) -> String {
    let text = "\(sequences.lowerBound)...\(sequences.upperBound)"
    return self.zone == zone ? text : "\(text) of \(self.zone)"
  }
}

extension AssetReference {
  fileprivate var text: String { "asset \(byteCount)" }
}

extension AssetReference? {
  fileprivate var text: String { map(\.text) ?? "none" }
}

extension SyncFailure {
  fileprivate var text: String {
    var text = "\(code) (\(scope)"
    if let offset { text += ", offset \(offset)" }
    if let newAddress { text += ", now at \(newAddress)" }
    if let retryAfterMilliseconds { text += ", after \(retryAfterMilliseconds) ms" }
    text += ")"
    // The machine's own message.
    return message == "planned" ? text : "\(text): \(message)"
  }
}

extension SyncReport {
  fileprivate var lines: [String] {
    var lines = ["report: \(isInSync ? "in sync" : "not in sync")\(hasMoved ? ", moved" : "")"]
    if let failure { lines.append("  failed: \(failure.text)") }
    lines += createdZones.map { "  created \($0)" }
    lines += listProblems.map { "  event \($0.offset) of the list: \($0.failure.text)" }
    return lines + zones.flatMap(\.lines).map { "  \($0)" }
  }
}

extension ZoneReport {
  fileprivate var lines: [String] {
    let counts: [(String, Int)] = [
      ("sent", sent), ("sent segments", sentSegments), ("sent bytes", bytesSent), ("received", received),
      ("received segments", receivedSegments), ("received bytes", bytesReceived), ("conflicts", conflicts),
      ("removed", removedTransactions), ("rejected segments", rejectedSegments), ("forks", forks),
      ("sent assets", sentAssets),
      ("sent asset bytes", Int(assetBytesSent)), ("received assets", receivedAssets),
      ("received asset bytes", Int(assetBytesReceived)), ("asset problems", assetProblemCount),
    ]
    let done = counts.filter { $0.1 != 0 }.map { "\($0.0) \($0.1)" }
    var lines = ["\(zone): \(status.text)"]
    if isAtRemote { lines.append("  the remote has one of this name") }
    if let shippingFailure { lines.append("  nothing is shipped: \(shippingFailure.text)") }
    if !done.isEmpty { lines.append("  " + done.joined(separator: ", ")) }
    return lines + assetProblems.map { "  \($0.reference.text): \($0.kind)" }
  }
}

extension ZoneStatus {
  fileprivate var text: String {
    switch self {
    case .inSync: "in sync"
    case .unchanged: "unchanged"
    case .local: "local"
    case .unfinished: "unfinished"
    case .parked(let offset, let failure): "parked at \(offset): \(failure.text)"
    case .paused(.deleted): "paused, deleted"
    case .paused(.purged): "paused, purged"
    case .paused(.revoked): "paused, revoked"
    case .paused(.reset): "paused, reset"
    case .forked(let offset): "forked at \(offset)"
    case .removed: "removed"
    case .failed(let failure): "failed: \(failure.text)"
    }
  }
}
