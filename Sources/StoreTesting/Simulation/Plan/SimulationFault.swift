internal import Replicator

/// What can go wrong in a simulated world, and rare ways of use.
public enum SimulationFault: String, Hashable, Sendable, CaseIterable {
  // The network.
  case requestLost
  case answerLost
  case requestRepeated
  case requestDelayed
  case requestDelayedForDays
  case bodyCut
  case bodyFlipped
  case throttled
  case unavailable
  case denied
  case partition
  // Processes and disks.
  case crash
  case crashInCommit
  case crashInRecovery
  case restart
  case diskFull
  case commitFailed
  case commitUncertain
  case storeWiped
  case tokensForgotten
  case storeCopied
  case storeRestored
  case logImported
  case historyRetired
  case historyCut
  case snapshotRead
  case remoteTrimmed
  // Time.
  case clockJump
  case clockOff
  case remoteClockOff
  case remoteClockJump
  case sleep
  case offlineForMonths
  // The remote.
  case remoteUnmounted
  case remoteForeign
  case remoteOld
  case remoteDamaged
  case remoteTakenBack
  case assetInTheWay
  case hintsLost
  case zoneDeleted
  case zoneRecreated
  case zoneDetached
  case zonePurged
  case zoneReset
  case zoneCompacted
  // Ways of use.
  case groupCommit
  case heldRead
  case secondReplicator
  case zonesChosen
  case newerWriter
  case newerSegment
  case undo
  case pastRead
  // Peers.
  case peerThatLies
  case entryRepeated

  /// How ``denied`` refuses a call: one that only reads by the first three.
  static let refusals: [RemoteError.Code] = [
    .denied, .unauthenticated, .moved, .readOnly, .keyOutdated, .segmentRefused,
  ]

  /// What it is, and how often it occurs in a world that has it.
  public var summary: String {
    switch self {
    case .requestLost: "a call never reaches the remote: 0 to 30 % of the calls"
    case .answerLost: "a call is done and its answer is lost: 0 to 10 %"
    case .requestRepeated: "a call arrives again, at once or much later: 0 to 50 %"
    case .requestDelayed: "a call or its answer takes up to ten seconds: 0 to 30 %"
    case .requestDelayedForDays: "a call arrives after up to 90 days; its caller has long given up: 0 to 3 %"
    case .bodyCut: "bytes that are read end early: 0 to 2 %"
    case .bodyFlipped: "a bit of bytes that are read is wrong: 0 to 2 %"
    case .throttled: "the remote asks to come back later: 0 to 10 %"
    case .unavailable: "the remote fails: 0 to 10 %"
    case .denied: "the remote refuses the user, the call or the segment: 0 to 10 %"
    case .partition: "a device does not reach the remote for a while: half of the seeds"
    case .crash: "a process ends between two effects: 0 to 2 % of the steps"
    case .crashInCommit: "a process ends in a commit, before or after it lasts: 0 to 2 % of the commits"
    case .crashInRecovery: "a process ends again while it starts: 10 % of the crashes"
    case .restart: "a store is closed and opened again"
    case .diskFull: "a commit finds the disk full: 0 to 5 % of the commits"
    case .commitFailed: "a commit fails with an I/O error: 0 to 2 %"
    case .commitUncertain: "a commit lasts and says that it failed: 0 to 2 %"
    case .storeWiped: "a store is deleted and created again: 10 % of the seeds, once"
    case .tokensForgotten: "the tokens of a store are set back to the start of their logs: 10 % of the seeds"
    case .storeCopied:
      "a store is copied once all is at rest, and both write: one takes another identity, or another epoch: 10 % of "
        + "the seeds"
    case .storeRestored:
      "a store's file is put back to an older copy once all is at rest, after it sent what came since: 10 % of the seeds"
    case .logImported:
      "a store's log, with pending transactions, is imported elsewhere; the old store is gone or comes "
        + "back: 10 % of the seeds"
    case .historyRetired:
      "once all is at rest, stores write snapshots, retire their history, or begin with the snapshot of another: 10 % of "
        + "the seeds"
    case .historyCut:
      "stores keep a part of their history, by a policy that their rounds apply: in 10 % of the seeds"
    case .snapshotRead:
      "once all is at rest, stores put snapshots at the remote, some of which are damaged, and a store that lost all begins "
        + "with one: 10 % of the seeds"
    case .remoteTrimmed:
      "the old part of a log is removed once all is at rest, while a device that has written was away: 10 % of the seeds"
    case .peerThatLies:
      "a peer ships parents, bases, sequences and kinds that no replica would, or under another's "
        + "identity: 15 % of the seeds"
    case .entryRepeated:
      "a peer sends an entry again, the same or another, that some stores know by a snapshot alone, once all is at rest: 10 % "
        + "of the seeds"
    case .clockJump: "a wall clock jumps by up to years: 5 % of the devices"
    case .clockOff: "a wall clock is an hour or a time zone off, in 1970 or in 2099: 25 % of the devices"
    case .remoteClockOff: "the remote's clock is in 1970 or in 2099: 15 % of the seeds in which it has one"
    case .remoteClockJump:
      "the remote's clock jumps by an hour, to 1970 or to 2099 and back, or stands still: 25 % of the seeds in which it has one"
    case .sleep: "a machine is suspended: its timers fire late"
    case .offlineForMonths: "a device does not reach the remote for up to 90 days"
    case .remoteUnmounted: "the remote's place is empty: 5 % of the seeds"
    case .remoteForeign: "another remote is in the remote's place: 5 % of the seeds"
    case .remoteOld: "an old copy of the remote is in its place: 5 % of the seeds"
    case .remoteDamaged:
      "an entry is lost or damaged once all is at rest; it is put back, or given up: 15 % of the seeds"
    case .remoteTakenBack:
      "an old copy of the remote takes its place for good, once all is at rest; all read its log again: 10 "
        + "% of the seeds"
    case .assetInTheWay:
      "a file is in the place of a directory of assets, and nothing can be put there: half of the worlds "
        + "with assets"
    case .hintsLost:
      "devices write no hints, and a server always tells them that nothing has changed: a third of the seeds"
    case .zoneDeleted: "a zone is deleted, while others write to it: 10 % of the seeds"
    case .zoneRecreated: "a zone is made again under the name of a deleted one: half of the seeds"
    case .zoneDetached:
      "once all is at rest, devices detach a zone or remove their copies; it is deleted meanwhile, or the remote loses all; "
        + "then they attach it again: 10 % of the seeds"
    case .zonePurged:
      "once all is at rest, the remote's operator purges a zone, and may be cut short, while devices have something unsent; then "
        + "devices make it again: 10 % of the seeds"
    case .zoneReset:
      "once all is at rest, the remote's operator resets a zone, and may be cut short, while devices have something unsent; then "
        + "they send everything again on their own: 10 % of the seeds"
    case .zoneCompacted:
      "once all is at rest, devices name floors of a zone that others have not seen, write without reading them, and end in "
        + "the middle of it: 10 % of the seeds"
    case .groupCommit: "several writes wait and share a commit, one of which may fail"
    case .heldRead: "a read transaction stays open over many commits"
    case .secondReplicator: "two replicators work at one store: 20 % of the devices"
    case .zonesChosen: "a device syncs only some of the zones: 15 % of the devices"
    case .newerWriter: "a newer version writes operations of unknown kinds: 20 % of the seeds"
    case .newerSegment:
      "an older version meets segments of a newer one, until it is upgraded: 10 % of the seeds"
    case .undo: "devices take writes back, and bring them back: 40 % of the seeds"
    case .pastRead: "devices read their stores as they were: 25 % of the seeds"
    }
  }
}
