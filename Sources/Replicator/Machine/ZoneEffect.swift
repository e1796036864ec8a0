package import EventStore

/// What is to be done for one zone.
package enum ZoneEffect: Hashable, Sendable {
  /// Make the zone at the remote.
  case create
  /// Attach the zone here to its remote log.
  case adopt(IncarnationID)
  /// Read segments of the remote log.
  case fetch(after: ChangeToken)
  /// Fold segments in, which follow a token. Where more are to be folded after them, those that are too much for one commit wait
  /// for these.
  case fold([StoredSegment], after: ChangeToken, isMoreToCome: Bool = false)
  /// Cut the next segment and store the cut, or take the one that is stored.
  case prepare
  /// Bring an asset to the remote that a segment names, or so many chunks of it.
  case upload(AssetReference, IncarnationID, chunksMax: Int?)
  /// Append a segment to the remote log.
  case append(PackedSegment, after: UInt64)
  /// Record that the remote has a segment.
  case acknowledge(SegmentHeader, SegmentPlace)
  /// Find an asset that the remote was not given when a segment that names it was shipped, and that is here now.
  case findUnsentAsset(after: AssetReference?)
  /// Find an asset that the zone names, by a transaction after a position, and that is not here.
  case findAsset(after: AssetReference?, namedAfter: Position?)
  /// Bring an asset here, or so many chunks of it.
  case download(AssetReference, IncarnationID, chunksMax: Int?)
  /// Remove the zone here, unless something in it was never shipped.
  case withdraw(IncarnationID)
  /// Delete the zone at the remote.
  case deleteAtRemote(IncarnationID)
  /// Record that the remote knows of the deletion, or that it does not have the log.
  case finishDeletion(IncarnationID, isTold: Bool = true)
}

/// What came of it.
package enum ZoneResult: Sendable {
  case created(IncarnationID)
  case adopted
  /// The zone was deleted here while the remote made it.
  case deletedMeanwhile(IncarnationID)
  case fetched(FetchOutcome)
  case folded(FoldOutcome)
  /// Nil: nothing is pending.
  case prepared(PackedSegment?)
  /// The same, of a segment that names assets.
  case preparedNaming(PackedSegment, [AssetReference])
  case uploaded(AssetTransfer)
  case appended(AppendOutcome)
  /// The zone's token afterwards.
  case acknowledged(FoldReport)
  /// Nil: there is none.
  case foundUnsentAsset(AssetReference?)
  case foundAsset(WantedAsset)
  case downloaded(AssetTransfer)
  /// Whether the zone was removed here.
  case withdrawn(Bool)
  case deletedAtRemote
  case finishedDeletion
  case failed(SyncFailure)
}

/// How far a page of segments was folded.
package struct FoldOutcome: Hashable, Sendable {
  /// The zone's token afterwards.
  package var token: ChangeToken
  package var report = FoldReport()
  package var segments = 0
  package var bytes = 0
  /// What is wrong with the segment after the token, if the page was not folded to its end.
  package var problem: SyncFailure?
  /// Whether the problem is that the segment has other content under sequences of this store.
  package var isForked = false

  package init(token: ChangeToken) { self.token = token }
}

extension FoldOutcome {
  /// Adds what another page, folded behind it, came to.
  mutating func add(_ more: FoldReport, segments count: Int, bytes byteCount: Int) {
    report.folded += more.folded
    report.known += more.known
    report.retimed += more.retimed
    report.conflicts += more.conflicts
    report.rejected += more.rejected
    report.foldedBeside += more.foldedBeside
    if let moved = more.token { token = moved }
    segments += count
    bytes += byteCount
  }
}
