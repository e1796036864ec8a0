package import EventStore

/// What is to be done for one zone.
package enum ZoneEffect: Hashable, Sendable {
  /// Make the zone at the remote.
  case create
  /// Attach the zone here to its remote log.
  case adopt(IncarnationID)
  /// Fetch again what is damaged here of the snapshot that the zone begins with.
  case mendOrigin
  /// Read segments of the remote log; from its start on, begin with a snapshot if there is one.
  case fetch(after: ChangeToken)
  /// Put back what the remote has lost of the log from an offset on, up to the token.
  case putBack(upTo: ChangeToken, from: UInt64)
  /// Read the log again from an offset on, to its end: it has something else there than the store has read. What it
  /// lacks of that is pending afterwards. If nothing is there, only if it cannot be put back.
  case part(IncarnationID, from: UInt64, isLost: Bool)
  /// Fold segments that follow a token. If more is to come after them, those that are too much for one commit
  /// wait for it.
  case fold([StoredSegment], after: ChangeToken, isMoreToCome: Bool = false)
  /// Cut the next segment and store the cut, or take the one that is stored.
  case prepare
  /// Upload an asset that a segment names. At most `chunksMax` chunks move; nil for any number.
  case upload(AssetReference, IncarnationID, chunksMax: Int?)
  /// Append a segment to the remote log.
  case append(PackedSegment, after: UInt64)
  /// Record that the remote has a segment.
  case acknowledge(SegmentHeader, SegmentPlace)
  /// Make a snapshot of the zone, and put it at the remote, unless another store has.
  ///
  /// - Parameter neededBehind: an offset behind which the remote is to have one; nil if the size of the log decides.
  case makeSnapshot(IncarnationID, neededBehind: UInt64? = nil)
  /// Let the remote's log begin with an older snapshot: entries that are old enough go, and that nobody needs.
  case trim(IncarnationID, olderThanMilliseconds: UInt64)
  /// Find an asset that is here now, and that an earlier segment was shipped without.
  case findUnsentAsset(after: AssetReference?)
  /// Find an asset that is not here, and that a transaction after a position names.
  case findAsset(after: AssetReference?, namedAfter: Position?)
  /// Download an asset. At most `chunksMax` chunks move; nil for any number.
  case download(AssetReference, IncarnationID, chunksMax: Int?)
  /// Forget the stored cut of a segment that the remote does not have and does not take, so that it is cut
  /// again.
  case forgetCut(SegmentHeader)
  /// Open the zone's log again at the remote, which was closed there.
  case reopen(IncarnationID)
  /// Remove the zone here, unless something in it was never shipped; or make it local. If it was only revoked, its log
  /// may come back.
  case withdraw(IncarnationID, isRevoked: Bool = false, ZoneEndAnswer = .remove)
  /// Delete the zone at the remote.
  case deleteAtRemote(IncarnationID)
  /// Record that the remote has deleted the zone, or that it does not have the log.
  case finishDeletion(IncarnationID, remoteHasDeleted: Bool = true)
}

/// The result of an effect. ``ZoneRound/Phase`` says which belongs where.
package enum ZoneResult: Sendable {
  case created(IncarnationID)
  case adopted
  /// The zone was deleted here while the remote made it.
  case deletedMeanwhile(IncarnationID)
  /// The remote was asked for it. What it does not have holds up nothing.
  case mendedOrigin
  case fetched(FetchOutcome)
  case folded(FoldOutcome)
  /// The segment, and the assets that it names. Nil: nothing is pending.
  case prepared(PackedSegment?, naming: [AssetReference] = [])
  case uploaded(AssetTransfer)
  case appended(AppendOutcome)
  case forgotCut
  /// What the store knows of the log now: the zone's token, and whether the log rejects the segment.
  case acknowledged(IngestReport)
  /// Whether it was made.
  case madeSnapshot(Bool)
  /// The offset at which the log begins now; nil if it stays as it was.
  case trimmed(UInt64?)
  /// How many entries were put back, and whether this client may do so.
  case putBack(Int, isAllowed: Bool = true)
  /// Nil: there is none.
  case foundUnsentAsset(AssetReference?)
  case foundAsset(WantedAsset)
  case downloaded(AssetTransfer)
  case reopened
  /// Whether the zone was removed here, or is local.
  case withdrawn(Bool)
  case deletedAtRemote
  case finishedDeletion
  /// The store does not have the zone any more.
  case removedMeanwhile
  case failed(SyncFailure)
}

/// How far a page of segments was folded.
package struct FoldOutcome: Hashable, Sendable {
  /// The zone's token afterwards.
  var token: ChangeToken
  package var report = IngestReport()
  var segments = 0
  var bytes = 0
  var changes = ReceivedChanges()
  /// Why the segment after the token was not folded; nil if the whole page was.
  var problem: SyncFailure?
  /// The offset of the snapshot with which the zone has begun; the log after it is to be read.
  var beganAt: UInt64?
  /// How many records that has, deleted ones too.
  var beganWithRecords: UInt64?
  /// The first offset at which the log has something else than the store had read; nil if it did not part.
  var partedAt: UInt64?
  /// Whether the problem is that the segment has other content under sequences of this store.
  var isForked = false
  /// The segment's offset, if the problem is that this store had sent another one there, ahead of what it had
  /// read.
  var lostAt: UInt64?

  init(token: ChangeToken) { self.token = token }
}

extension FoldOutcome {
  /// Adds the result of segments that were folded after it.
  mutating func add(_ more: IngestReport, segments count: Int, bytes byteCount: Int) {
    report.folded += more.folded
    report.known += more.known
    report.retimed += more.retimed
    report.conflicts += more.conflicts
    report.rejected += more.rejected
    report.forks += more.forks
    report.removed += more.removed
    report.foldedBeside += more.foldedBeside
    if let moved = more.token { token = moved }
    segments += count
    bytes += byteCount
  }

  /// Continues where a snapshot ends, or a log that was read again.
  mutating func begin(again began: FoldOutcome) {
    add(began.report, segments: began.segments, bytes: began.bytes)
    (token, problem, isForked) = (began.token, began.problem, began.isForked)
    (beganAt, beganWithRecords, partedAt) = (began.beganAt, began.beganWithRecords, began.partedAt)
    changes.forget()
  }

  /// Adds what segments change, if any of their transactions was new.
  mutating func addChanges(of segments: [RemoteSegment], _ report: IngestReport, in store: LocalStore) {
    if report.folded > 0 { changes.add(segments, conflicts: report.conflicts, in: store) }
  }
}
