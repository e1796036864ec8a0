import EventStore
import OperationFormat
import Replicator

/// Rounds and their effects in words, for a trace.
enum RoundText {
  static func text(_ report: SyncReport) -> String {
    var words = ["sent \(report.sent), received \(report.received)"]
    if let failure = report.failure { words.append("failed: \(failure.code)") }
    for zone in report.zones where zone.status != .inSync {
      words.append("\(zone.zone) \(text(zone.status))")
    }
    return words.joined(separator: "; ")
  }

  static func text(_ status: ZoneStatus) -> String {
    switch status {
    case .inSync: "in sync"
    case .unchanged: "unchanged"
    case .local: "local"
    case .unfinished: "unfinished"
    case .parked(let offset, let failure): "parked at \(offset): \(failure.code)"
    case .paused: "paused"
    case .forked(let offset): "forked at \(offset)"
    case .removed: "removed"
    case .failed(let failure): "failed: \(failure.code)"
    }
  }

  static func text(_ effect: RoundEffect) -> String {
    switch effect {
    case .askHeads(let tokens, _): "asks for the heads of \(tokens.count) logs"
    case .readState: "reads its state"
    case .fetchZoneEvents(let token): "fetches the list of zones after \(token?.offset ?? 0)"
    case .applyZoneEvents(let page): "applies \(page.events.count) events of the list of zones"
    case .forgetPlaceInZoneList: "forgets its place in the list of zones"
    case .reclaim: "reclaims"
    case .retireHistory(let zones, _, _, _): "retires history of \(zones.count) zones"
    case .zone(let zone, let effect): "\(zone): \(text(effect))"
    }
  }

  private static func text(_ effect: ZoneEffect) -> String {
    switch effect {
    case .create: "creates it at the remote"
    case .adopt: "adopts it"
    case .mendOrigin: "fetches its snapshot again"
    case .fetch(let token): "fetches after \(token.offset)"
    case .putBack(let token, let offset): "puts back from \(offset) to \(token.offset)"
    case .part(_, let offset, _): "parts at \(offset)"
    case .fold(let segments, let token, _): "folds \(segments.count) segments after \(token.offset)"
    case .prepare: "cuts"
    case .upload(let asset, _, _): "uploads asset \(asset.hash)"
    case .findUnsentAsset: "looks for an asset that the remote was not given"
    case .findAsset: "looks for an asset that is not here"
    case .download(let asset, _, _): "downloads asset \(asset.hash)"
    case .append(let segment, let offset):
      "appends \(segment.header.sequences.lowerBound)…\(segment.header.sequences.upperBound) after \(offset)"
    case .acknowledge(let header, let place):
      "acknowledges \(header.sequences.lowerBound)…\(header.sequences.upperBound) at \(place.offset)"
    case .makeSnapshot: "makes a snapshot"
    case .trim: "trims its log"
    case .forgetCut: "forgets its cut"
    case .reopen: "opens its log again"
    case .withdraw(_, _, .detach): "makes it local"
    case .withdraw: "withdraws it"
    case .deleteAtRemote: "deletes it at the remote"
    case .finishDeletion: "finishes its deletion"
    }
  }
}
