#if PLANTED_BUGS
  extension PlantedBug {
    /// What it does, in a sentence.
    package var summary: String {
      switch self {
      case .lastWriterByWallClock:
        "A set is ignored if the field has a head with a greater timestamp, seen or not."
      case .noReplicaTieBreak: "Heads of equal timestamps compare by sequence, without their replicas."
      case .replicaTieBreakByNumber:
        "Heads of equal timestamps compare by the numbers that replicas have here."
      case .divisionForgotten: "Registers that are kept apart are written once, and not when they change."
      case .losersLostBeyondFour: "Heads that do not fit into a record's row are dropped."
      case .createKeepsFields: "A create leaves the fields that it has seen."
      case .deleteTakesUnseen: "From a delete on, a transaction takes away heads that it has not seen."
      case .foldInDictionaryOrder:
        "A transaction's operations are folded in the order of a dictionary of cells."
      case .timestampUncapped: "A fetched transaction counts by its own timestamp, whenever it was received."
      case .retimeForgotten: "A cap that becomes known later does not reach the heads that are there."
      case .redeliveredFoldedAgain: "A transaction that is known is folded once more."
      case .seenExcludesBase: "The segment at the base itself does not count as seen."
      case .unknownOperationDropped: "Operations of unknown kinds are left out of a fetched transaction."
      case .contributionAppliedTwice: "What is added to a counter counts twice."
      case .contributionsByClock: "Contributions come by their timestamps, whatever they have seen."
      case .cascadeOfOneStep: "A cascade hides whoever holds a deleted record, and not who holds the holder."
      case .nullifiedStaysShown: "A nullified reference is shown while its target is deleted."
      case .clockWithoutMax: "The clock gives the wall's time, whatever it gave before."
      case .clockWithoutCarry: "The clock's counter begins anew after sixteen, without a carry."
      case .clockDraggedBeyondDrift: "The clock follows a remote timestamp however far ahead it is."
      case .clockIgnoresRemotes: "The clock does not follow remote timestamps."
      case .clockStoredInMilliseconds: "The clock is stored without its counter."
      case .baseFromAcknowledgement:
        "The base moves up to an acknowledged offset, over segments not fetched yet."
      case .oneBaseForSegment: "All transactions of a segment get its greatest base."
      case .pendingCountsAsSeen: "A write counts what the store ships for others as seen."
      case .baseGoesBack: "A token that is forgotten takes the base with it."
      case .baseOneTooLow: "The base stays one behind the last segment that was folded."
      case .tokenBeforeData: "The token is committed before the segments are folded."
      case .tokenInSecondTransaction: "The token is committed after the segments were folded."
      case .tokenHashUncompared: "The remote does not compare the hash of a token."
      case .tokenPassesParked: "A segment that cannot be folded is passed over."
      case .skipOnDecodeError: "A segment that cannot be decoded is passed over."
      case .databaseTokenBeforeEvents: "The token of the list of zones is committed before its events."
      case .pageCountedAsWhole: "Three segments of a page are folded, and the token is the whole page's."
      case .tokenWithoutIncarnation: "A zone's token goes on, offset and all, in the zone's next incarnation."
      case .acknowledgesOneTooMany:
        "An acknowledgement covers one transaction after the segment, if there is one."
      case .timeoutAcknowledges:
        "An append that timed out is taken for done, at the offset that was expected."
      case .acknowledgesAtExpectedOffset:
        "A segment is recorded at the offset that was expected, not its own."
      case .deniedDropsPending: "A segment that the remote denies is pending no more."
      case .lastPendingForgotten: "The last own transaction is not cut until another follows it."
      case .cutNotStored: "A segment is shipped without its cut being stored."
      case .alreadyThereUncompared: "Any segment over the same sequences is taken for the own one."
      case .alreadyThereIsFork: "The own segment, met at the remote, is taken for a fork."
      case .putOverwrites: "Putting an object replaces the one that is there, in memory."
      case .folderPutOverwrites: "Putting an object takes away the one that is there, in a folder."
      case .lostPutTakenAsSuccess: "An offset that another took first is taken for the own segment's."
      case .offsetProbedTooFar: "The search for the log's end passes over an offset, which may stay free."
      case .appendPastSeal: "A segment is put behind the seal of a log."
      case .ownIncarnationAssumed:
        "Whoever makes a zone takes the incarnation that it proposed for the zone's."
      case .bodyHashUnchecked: "The hashes of a segment are not compared with its bytes."
      case .withdrawDropsUnshipped: "A zone deleted at the remote goes, whatever in it was never shipped."
      case .deletionNotTold: "The remote is not told of a zone's deletion."
      case .adoptForgetsHistory: "What a zone had before it was attached is never shipped."
      case .recreatedZoneMerged: "A deleted zone that is kept becomes a part of the next one of its name."
      case .resurrectionOnShip:
        "A zone that the remote has deleted is made there again, to ship what is pending."
      case .emptyListingDeletesAll:
        "A remote whose list of zones is not there is taken for one without zones."
      case .eventsAfterDeletionSkipped:
        "What follows a deletion in a page of the list of zones is passed over."
      case .operationNotLogged: "A set after the seventh operation of a write is folded and not logged."
      case .knownNotCompared: "A transaction that is known is not compared with the remote's."
      case .reclaimTakesOneTooMany: "Taking away a zone's entries takes the one after them too."
      case .failedCommitAcknowledged: "A write whose commit failed is told that it succeeded."
      case .failedWriteCommitted: "What a write that failed had changed is committed."
      case .adoptedLanesNotShipped: "What an import brings that no remote has is not shipped."
      case .parentUnchecked: "A parent is believed, whatever it names."
      case .lineageReplaced: "A lane's later transaction may name a parent, which replaces the first's."
      case .lyingBaseFolded: "A segment is folded that claims to have seen what comes after it."
      case .closedLaneStaysOpen: "A segment is rejected, and its writer's lane stays open."
      case .closedLaneNotRenewed: "A store whose lane was closed takes no other epoch."
      case .rejectedPendingLost: "A store whose lane was closed does not ship again what was rejected."
      case .greatestKindsKept: "Of too many unknown kinds the greatest are noted, and not the least."
      case .pausedOperationForgotten: "An operation that a commit has begun is taken for done by the next."
      case .holeIsEnd: "A missing entry of a log is its end, whatever comes behind."
      case .badSegmentStopsShipping: "A zone whose fetching is parked ships nothing."
      case .badZoneEndsRound: "A zone that fails ends the whole round."
      case .noRetryAfterFailure: "After a failure no timer is set."
      case .laterWaitsForEver: "After a failure that says how long to wait, no timer is set."
      case .noDelayAfterFailure: "After a failure the next try comes at once."
      case .staleAnswerAdopted:
        "A call's answer ties a zone to the log of one of its name that was deleted meanwhile."
      case .wrongRemoteRemembered: "A wrong remote that was seen first counts as the right one for ever."
      case .damagedEventIsOther: "A damaged event of the list of zones is told as a list that went back."
      case .roundFailsAsZone: "What ends a whole round says that it concerns one zone."
      case .zoneListReadOnce: "The list of zones is read only by a store that has never read it."
      case .rereadingKeepsBases:
        "A log that went back and was read again leaves bases that reach beyond its end."
      case .parkedNotTold: "A parked zone is reported as in sync."
      case .segmentBeforeAsset: "A segment is shipped without the assets that it names."
      case .namedAssetCollected: "An asset's file is collected, whatever names it."
      case .unsentAssetForgotten: "What a segment was shipped without is not noted."
      case .absentNeverAskedAgain: "What the remote did not have once is not asked for again."
      }
    }
  }
#endif
