package import EventStore

/// What is to be done for one zone.
package enum ZoneEffect: Hashable, Sendable {
  /// Make the zone at the remote.
  case create
  /// Attach the zone here to its remote log.
  case adopt(IncarnationID)
  /// Read segments of the remote log.
  case fetch(after: ChangeToken)
  /// Fold segments in, which follow a token.
  case fold([StoredSegment], after: ChangeToken)
  /// Cut the next segment and store the cut, or take the one that is stored.
  case prepare
  /// Append a segment to the remote log.
  case append(PackedSegment, after: UInt64)
  /// Record that the remote has a segment.
  case acknowledge(SegmentHeader, SegmentPlace)
  /// Remove the zone here, unless something in it was never shipped.
  case withdraw(IncarnationID)
  /// Delete the zone at the remote.
  case deleteAtRemote(IncarnationID)
  /// Record that the remote knows of the deletion.
  case finishDeletion(IncarnationID)
}

/// What came of it.
package enum ZoneResult: Sendable {
  case created(IncarnationID)
  case adopted
  case fetched(FetchOutcome)
  case folded(FoldOutcome)
  /// Nil: nothing is pending.
  case prepared(PackedSegment?)
  case appended(AppendOutcome)
  /// The zone's token afterwards.
  case acknowledged(FoldReport)
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
