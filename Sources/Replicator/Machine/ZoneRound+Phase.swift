import EventStore

extension ZoneRound {
  /// The state of a zone's part of a round. Each phase but the first and the last has one outstanding effect,
  /// and holds what is known only then.
  ///
  /// Every phase with an effect also takes `failed`. Any other result does not belong: see
  /// ``MisplacedResults``.
  ///
  /// | phase | effect | results |
  /// |---|---|---|
  /// | `ready` | none: it has not started | |
  /// | `creating` | `create` | `created` |
  /// | `adopting` | `adopt` | `adopted`, `deletedMeanwhile` |
  /// | `mendingOrigin` | `mendOrigin` | `mendedOrigin` |
  /// | `fetching` | `fetch` | `fetched`; `folded` if the log had to be read again, or the zone has begun with a snapshot |
  /// | `puttingBack` | `putBack` | `putBack` |
  /// | `parting` | `part` | `folded` |
  /// | `folding` | `fold` | `folded` |
  /// | `preparing` | `prepare` | `prepared`; `folded` if the log is being read again |
  /// | `uploading` | `upload` | `uploaded` |
  /// | `appending` | `append` | `appended` |
  /// | `acknowledging` | `acknowledge` | `acknowledged` |
  /// | `makingSnapshot` | `makeSnapshot` | `madeSnapshot` |
  /// | `trimming` | `trim` | `trimmed` |
  /// | `findingUnsentAsset` | `findUnsentAsset` | `foundUnsentAsset` |
  /// | `uploadingUnsentAsset` | `upload` | `uploaded` |
  /// | `findingAsset` | `findAsset` | `foundAsset` |
  /// | `downloading` | `download` | `downloaded` |
  /// | `recutting` | `forgetCut` | `forgotCut` |
  /// | `reopening` | `reopen` | `reopened` |
  /// | `withdrawing` | `withdraw` | `withdrawn` |
  /// | `deletingAtRemote` | `deleteAtRemote` | `deletedAtRemote` |
  /// | `finishingDeletion` | `finishDeletion` | `finishedDeletion` |
  /// | `done` | | |
  ///
  /// In any of them a result may be `removedMeanwhile`: another round, or the user, has removed the zone here.
  enum Phase: Sendable {
    /// Not started.
    case ready
    case creating
    case adopting(ChangeToken)
    /// The log is read from the token on afterwards.
    case mendingOrigin(ChangeToken)
    case fetching(Pass)
    /// The log has something else than the store has read, or nothing, from an offset on.
    case puttingBack(Pass, from: UInt64)
    /// The log is read again from there on.
    case parting(Pass)
    case folding(Pass)
    case preparing(Pass)
    /// The assets that the segment names go before it.
    case uploading(Pass, PackedSegment)
    case appending(Pass, PackedSegment)
    case acknowledging(Pass, PackedSegment)
    case makingSnapshot(IncarnationID)
    case trimming(IncarnationID)
    case findingUnsentAsset(IncarnationID)
    case uploadingUnsentAsset(IncarnationID)
    case findingAsset(IncarnationID)
    case downloading(IncarnationID, AssetReference)
    /// The remote refused the key of the segment.
    case recutting(Pass)
    /// The log is closed, and is opened again.
    case reopening(Pass, ZoneFate)
    case withdrawing(ZoneFate, ZoneEndAnswer)
    case deletingAtRemote(IncarnationID)
    case finishingDeletion(IncarnationID, remoteHasDeleted: Bool)
    /// The report is final.
    case done
  }

  /// What is known of a zone's log while segments move, and how much more may move.
  struct Pass: Sendable {
    /// The log is folded up to it.
    var token: ChangeToken
    /// No segment that is still to be shipped is at or before this offset.
    var shippedThrough: UInt64 = 0
    /// Whether the last page said that more follows.
    var hasMore = false
    var passesLeft = ZoneRound.passesMax
    var pagesLeft = ZoneRound.pagesInPassMax
    var segmentsLeft = ZoneRound.segmentsInPassMax
    /// How often the log has rejected what was shipped.
    var ownRejections = 0
    /// How often the remote has refused the key of a segment.
    var recuts = 0

    init(from token: ChangeToken) { self.token = token }

    /// Whether the pass has shipped anything.
    var hasShipped: Bool { segmentsLeft < ZoneRound.segmentsInPassMax }

    /// Begins the next pass.
    mutating func renew() {
      passesLeft -= 1
      pagesLeft = ZoneRound.pagesInPassMax
      segmentsLeft = ZoneRound.segmentsInPassMax
      move(to: token)
    }

    /// The log is folded up to a token.
    mutating func move(to new: ChangeToken) {
      token = new
      shippedThrough = max(shippedThrough, new.offset)
    }

    /// Nothing is known any more of what was shipped: the log has lost it.
    mutating func forgetShipped() { shippedThrough = 0 }
  }
}
