#if PLANTED_BUGS
  import Synchronization

  /// A known bug, compiled in to test the simulator: with one of them planted it must find a failing seed.
  ///
  /// They exist only where `PLANTED_BUGS` is in the environment of the build, which takes a scratch path of its own:
  ///
  /// ```sh
  /// PLANTED_BUGS=1 swift build -c release --scratch-path .build-planted --product replay
  /// ```
  ///
  /// `checkouts`, `repositories` and `workspace-state.json` of another scratch path can be copied there first: then nothing
  /// is fetched. What was compiled cannot: its commands name the scratch path, so the libraries below are compiled again,
  /// about a minute once, and a module cache that was copied along is refused.
  ///
  /// Each sits at the place where the mistake would be made, in a block `#if PLANTED_BUGS`. The numbers at a case are
  /// the invariants that find it. A word in brackets is what the world must have for it to show.
  ///
  /// Some are bugs that were there once: they keep their finders honest.
  ///
  /// To come with their features: a clone not noticed; an epoch not raised after a restore; pending re-issued by a clone;
  /// a tombstone collected too early; a snapshot without its tail, or with its maker's
  /// pending; a compaction that drops a segment's last operation; own order lost at a bootstrap; an unknown operation
  /// folded late out of order.
  package enum PlantedBug: String, CaseIterable, Sendable {
    // MARK: Fold

    /// 4, 9, 11: clocks that are off.
    case lastWriterByWallClock
    /// 3, 4: equal timestamps.
    case noReplicaTieBreak
    /// 3, 4: equal timestamps.
    case replicaTieBreakByNumber
    /// 3, 4: five concurrent heads.
    case losersLostBeyondFour
    /// 3, 4, 11: large registers beside something that merges.
    case divisionForgotten
    /// 4: a record made anew.
    case createKeepsFields
    /// 3, 4: a delete concurrent with an update.
    case deleteTakesUnseen
    /// 3, 4, 5: several operations on a record in a transaction; unequal traces of one seed.
    case foldInDictionaryOrder
    /// 3, 4: a remote with receive times, and a clock that is ahead.
    case timestampUncapped
    /// 3, 4: a remote with receive times, and a clock that is ahead.
    case retimeForgotten
    /// 3, 4, 5, 10: redelivery.
    case redeliveredFoldedAgain
    /// 3, 9: local writes go a shorter way.
    case seenExcludesBase
    /// 3, 12: operations of a later version.
    case unknownOperationDropped
    /// 3, 4: something that is added to a counter.
    case contributionAppliedTwice
    /// 3, 4: contributions, and clocks that are off.
    case contributionsByClock
    /// 3, 4: two cascades in a row.
    case cascadeOfOneStep
    /// 3, 4: a nullified reference whose target was deleted.
    case nullifiedStaysShown

    // MARK: Clock

    /// 8: two writes in a millisecond, or a remote clock that is ahead.
    case clockWithoutMax
    /// 8: sixteen writes while the clock is ahead of the wall's.
    case clockWithoutCarry
    /// 8: another's clock that is ahead by hours.
    case clockDraggedBeyondDrift
    /// 8, if it asks for more: a write is after all that it has seen within the drift.
    case clockIgnoresRemotes
    /// 8: two writes in a millisecond.
    case clockStoredInMilliseconds

    // MARK: Base

    /// 3, 4, 9: an append behind segments that were not fetched yet, then a write.
    case baseFromAcknowledgement
    /// 3, 4, 7: two writes in one segment, with a fetch between them.
    case oneBaseForSegment
    /// 3, 4, 9: tokens forgotten, then a write before the next round.
    case baseGoesBack
    /// 4, 9: a write over what came last.
    case baseOneTooLow
    /// 3, 4: a write over what the store ships for a peer that is gone.
    case pendingCountsAsSeen

    // MARK: Token

    /// 2, 6: a crash or a failed fold between two commits.
    case tokenBeforeData
    /// 6, 9: a write, a crash or another replicator between two commits.
    case tokenInSecondTransaction
    /// 3, 6: a remote that was rolled back, and went on.
    case tokenHashUncompared
    /// 2, 6, 16: a segment that parks.
    case tokenPassesParked
    /// 2, 6, 16: a body that was flipped on its way.
    case skipOnDecodeError
    /// 2, 6: a crash between two commits.
    case databaseTokenBeforeEvents
    /// 2, 6: a page of over three segments.
    case pageCountedAsWhole
    /// 6, 14: a zone that is deleted and made anew while a store has something pending in it.
    case tokenWithoutIncarnation

    // MARK: Acknowledgement and what is pending

    /// 1, 2: a write between a cut and its acknowledgement.
    case acknowledgesOneTooMany
    /// 2, 6: a request that was lost.
    case timeoutAcknowledges
    /// 2, 6, 7: another's append between a fetch and the own one.
    case acknowledgesAtExpectedOffset
    /// 2: a remote that denies an append.
    case deniedDropsPending
    /// 2, 14: any write.
    case lastPendingForgotten
    /// 7, if it asks for more: no two segments of a replica overlap unless it was copied. An answer lost while parked.
    case cutNotStored
    /// 1, 2, 7: a store that was copied or restored.
    case alreadyThereUncompared
    /// 14, 16: an answer lost while parked, or an append delivered twice; no store was copied.
    case alreadyThereIsFork

    // MARK: Remote

    /// 1, 2, 3: two appends at once, objects in memory.
    case putOverwrites
    /// 1, 2, 3: two appends at once, a folder.
    case folderPutOverwrites
    /// 1, 2: two appends at once, objects.
    case lostPutTakenAsSuccess
    /// 2, 14: an append behind another's.
    case offsetProbedTooFar
    /// 1, 13: a zone deleted between a fetch and an append.
    case appendPastSeal
    /// 2, 14: two stores make one zone at once, objects.
    case ownIncarnationAssumed
    /// 3, 4, 7: a body that was flipped on its way.
    case bodyHashUnchecked

    /// 2, 14: another remote in the place when a process starts.
    case wrongRemoteRemembered
    /// 17: an event of the list of zones that was flipped on its way.
    case damagedEventIsOther

    // MARK: Zones

    /// 1, 13: a zone deleted while another store has something pending in it.
    case withdrawDropsUnshipped
    /// 13: a synced zone that is deleted.
    case deletionNotTold
    /// 2: a zone with a history that is attached.
    case adoptForgetsHistory
    /// 13: a zone that is deleted and made anew while a store has something pending in it.
    case recreatedZoneMerged
    /// 13: a zone deleted while another store has something pending in it.
    case resurrectionOnShip
    /// 13: a remote that is missing, another one, or rolled back.
    case emptyListingDeletesAll
    /// 2, 16: a page of the list of zones in which something follows a deletion.
    case eventsAfterDeletionSkipped

    /// 7: two replicators, a zone that is deleted and made anew while a call for it is under way.
    case staleAnswerAdopted

    // MARK: Log

    /// 5, 2: a write of over seven operations.
    case operationNotLogged
    /// 7: a store that was copied or restored.
    case knownNotCompared
    /// 1, 5: a deleted zone beside others.
    case reclaimTakesOneTooMany
    /// 1, 11: a commit that fails.
    case failedCommitAcknowledged
    /// 5, 11: a write that throws, or a fold that fails.
    case failedWriteCommitted

    // MARK: What a log may not say

    /// 2, 3: a log that is imported with pending transactions, whose old store is gone.
    case adoptedLanesNotShipped
    /// 3, 16: a peer that names a parent that nobody has.
    case parentUnchecked
    /// 5, 16: a peer that names a parent later than in its first transaction.
    case lineageReplaced
    /// 5, 16: a peer that claims to have seen what comes later.
    case lyingBaseFolded
    /// 16: a peer that goes on after a hole in its sequences.
    case closedLaneStaysOpen
    /// 2: a peer that writes under another's identity.
    case closedLaneNotRenewed
    /// 3, 10: a peer that writes under the identity of one that has something pending.
    case rejectedPendingLost
    /// 12: a peer that invents more kinds than are noted.
    case greatestKindsKept
    /// 5: a segment that is too much for one commit.
    case pausedOperationForgotten
    /// 16: a remote that loses an entry in the middle of a log.
    case holeIsEnd

    // MARK: Rounds

    /// 14: an error of the list of zones that others have of one zone.
    case roundFailsAsZone
    /// 14: a segment that parks while something is pending.
    case badSegmentStopsShipping
    /// 2, 14: several zones, one of which fails.
    case badZoneEndsRound
    /// 2, 14: a round that fails, in a replicator that runs.
    case noRetryAfterFailure
    /// 2, 14: a remote that asks to come later.
    case laterWaitsForEver
    /// 14: a remote that is away for long.
    case noDelayAfterFailure
    /// 2: a zone that is made after another store's first round.
    case zoneListReadOnce
    /// 16: a segment that parks.
    case parkedNotTold
    /// 3, 14: a remote that was put back to an old copy.
    case rereadingKeepsBases

    // MARK: Assets: in worlds that have some

    /// 19: any asset.
    case segmentBeforeAsset
    /// 5: space that is taken back.
    case namedAssetCollected
    /// 19: an asset that one zone names and that is not there, since it came by another.
    case unsentAssetForgotten
    /// 19: an asset that comes to the remote late.
    case absentNeverAskedAgain
  }

  extension PlantedBug {
    /// Whether only worlds with assets can show it.
    package var isOfAssets: Bool {
      switch self {
      case .segmentBeforeAsset, .namedAssetCollected, .unsentAssetForgotten, .absentNeverAskedAgain: true
      default: false
      }
    }

    /// The planted one's place among the cases; the greatest number for none.
    private static let planted = Atomic<UInt8>(.max)

    /// Plants a bug in this process in the place of any other, or none.
    package static func plant(_ bug: PlantedBug?) { planted.store(bug?.place ?? .max, ordering: .relaxed) }

    /// Whether this process has it now.
    package var isPlanted: Bool { Self.planted.load(ordering: .relaxed) == place }

    /// An enumeration of fewer than 256 cases without values is one byte, counted from 0.
    private var place: UInt8 { unsafeBitCast(self, to: UInt8.self) }
  }
#endif
