public import OperationFormat

/// What a round did.
public struct SyncReport: Hashable, Sendable {
  /// Each zone that took part, in the order of their identities.
  public package(set) var zones: [ZoneReport] = []
  /// Zones that appeared here, since the remote has them.
  public package(set) var createdZones: [ZoneID] = []
  /// Events of the remote's list of zones that cannot be read. They are not applied here; all others are.
  public package(set) var listProblems: [ZoneListProblem] = []
  /// Why the round ended early; nil if it did not.
  public package(set) var failure: SyncFailure?
  /// How far the remote's clock and this device's differ, as the round found; nil if it did not see the remote's. A round
  /// that only received sees it where an entry was received later than this device's clock shows.
  public package(set) var clockOffset: ClockOffset?

  /// What this store let go of its history, by ``SyncPolicy/history``.
  public package(set) var retired: [RetiredHistory] = []
  /// Why history that was to go could not be retired. It holds up nothing.
  public package(set) var retirementFailure: SyncFailure?

  init() {}

  /// Transactions that were sent, and that the remote has now.
  public var sent: Int { zones.reduce(0) { $0 + $1.sent } }
  public var sentSegments: Int { zones.reduce(0) { $0 + $1.sentSegments } }
  /// Bytes of the segments that were sent.
  public var bytesSent: Int { zones.reduce(0) { $0 + $1.bytesSent } }
  /// Transactions that were new here.
  public var received: Int { zones.reduce(0) { $0 + $1.received } }
  public var receivedSegments: Int { zones.reduce(0) { $0 + $1.receivedSegments } }
  /// Bytes of the segments that were received.
  public var bytesReceived: Int { zones.reduce(0) { $0 + $1.bytesReceived } }
  /// Cells in which what was received caused a conflict.
  public var conflicts: Int { zones.reduce(0) { $0 + $1.conflicts } }
  /// Segments that every replica rejects, among those that were received.
  public var rejectedSegments: Int { zones.reduce(0) { $0 + $1.rejectedSegments } }
  /// Branches of lanes that this store issued again, since another store wrote under its identity.
  public var forks: Int { zones.reduce(0) { $0 + $1.forks } }
  /// Assets that could not be transferred.
  public var assetProblemCount: Int { zones.reduce(0) { $0 + $1.assetProblemCount } }
  /// Whether every zone that took part has what the remote has, and the remote what it has, as far as the
  /// round saw, or the remote said.
  public var isInSync: Bool {
    failure == nil && listProblems.isEmpty
      && zones.allSatisfy { [.inSync, .unchanged, .local, .removed].contains($0.status) }
  }
  /// Whether anything moved, in either direction.
  public var hasMoved: Bool {
    !createdZones.isEmpty
      || zones.contains { zone in
        zone.sentSegments + zone.receivedSegments + zone.sentAssets + zone.receivedAssets > 0
          || zone.status == .removed
      }
  }
}

/// What a round did in one zone.
public struct ZoneReport: Hashable, Sendable {
  public let zone: ZoneID
  /// How the zone stands. Only a round that has done all of its steps says ``ZoneStatus/inSync``.
  public package(set) var status: ZoneStatus
  /// Transactions that were sent, and that the remote has now.
  public package(set) var sent = 0
  public package(set) var sentSegments = 0
  public package(set) var bytesSent = 0
  /// Transactions that were new here.
  public package(set) var received = 0
  public package(set) var receivedSegments = 0
  public package(set) var bytesReceived = 0
  /// Cells in which what was received caused a conflict.
  public package(set) var conflicts = 0
  /// The records that what was received changes, with their fields; nil if they are more than a thousand, or not known.
  public var changed: [Name: Commit.Fields]? { changes.records }
  /// Those of ``changed`` that are in conflict, if what was received caused any conflict.
  public var conflicting: Set<Name> { changes.conflicting }
  /// Transactions of other stores that were removed here: the zone's log was read again, and does not have
  /// them. Their writers send them again if they have them.
  public package(set) var removedTransactions = 0
  /// Segments of this round that every replica rejects, since the log before them makes them invalid.
  /// `ReadTransaction.rejectedSegments(in:limit:)` lists those of all rounds.
  public package(set) var rejectedSegments = 0
  /// How many branches of lanes this store issued again in this round: another store wrote under its identity, and the
  /// remote has that one's changes under the same sequences. Both branches are kept. `ReadTransaction.forks(in:limit:)`
  /// lists those of all rounds.
  public package(set) var forks = 0
  /// Assets that were sent, and that the remote has now.
  public package(set) var sentAssets = 0
  /// Bytes of assets that were sent, of unfinished ones too.
  public package(set) var assetBytesSent: UInt64 = 0
  /// Assets that were received whole.
  public package(set) var receivedAssets = 0
  /// Bytes of assets that were received, of unfinished ones too.
  public package(set) var assetBytesReceived: UInt64 = 0
  /// The first hundred assets that could not be transferred. They hold up nothing: ``status`` does not show
  /// them.
  public package(set) var assetProblems: [AssetProblem] = []
  /// How many assets could not be transferred.
  public package(set) var assetProblemCount = 0

  /// The offset of the snapshot with which the store has begun to read the zone; nil if it has begun with none.
  public package(set) var beganAt: UInt64?
  /// How many entries this store put back that the remote had lost at the end of the zone's log.
  public package(set) var putBack = 0
  /// The first offset at which the zone's log was found to be another one than this store had read: it had lost what was
  /// there, and others have written since. What it lacks is sent again. Nil if it was as before.
  public package(set) var partedAt: UInt64?
  /// Whether a snapshot was made and put at the remote.
  public package(set) var madeSnapshot = false
  /// Why a snapshot that was due was not made. It holds up nothing: ``status`` does not show it.
  public package(set) var snapshotFailure: SyncFailure?
  /// The offset at which this store let the zone's log begin, by ``SyncPolicy/trimMilliseconds``; nil if nothing went.
  public package(set) var trimmedTo: UInt64?
  /// Why the log was not trimmed though it was to be. It holds up nothing: ``status`` does not show it.
  public package(set) var trimFailure: SyncFailure?

  /// How many records the snapshot has with which the store has begun to read the zone, deleted ones too.
  package var beganWithRecords: UInt64?
  /// Whether the log is made again at a remote that does not have it, or has closed it: the store has left another one, say.
  package var restoresLog = false
  /// Why nothing is sent of a parked zone; nil if sending did not fail too.
  package var shippingFailure: SyncFailure?
  /// Whether the remote has a zone of the name of a local one.
  package var isAtRemote = false
  /// Whether a local zone was synced before, and was detached.
  package var wasSynced = false
  /// What had ended the zone's log, which this store has opened again; nil if it has not.
  package var reopened: ZoneFate?

  var changes = ReceivedChanges()

  init(_ zone: ZoneID, _ status: ZoneStatus) {
    self.zone = zone
    self.status = status
  }
}

/// How a zone stands after a round.
public enum ZoneStatus: Hashable, Sendable {
  /// It has what the remote has, and the remote what it has.
  case inSync
  /// It was in sync, and the remote says that nothing has changed since: the round did not read its log.
  /// Such an answer may be late, by at most ``SyncPolicy/everythingMilliseconds``.
  case unchanged
  /// It is only here: nothing of it is shipped until it is attached.
  case local
  /// There is more to do than one round does; the next one continues.
  case unfinished
  /// Fetching waits at an offset, whose segment cannot be folded. Each round tries again. Shipping continues,
  /// unless the code is `laneClosed` or the log is being read again.
  case parked(offset: UInt64, SyncFailure)
  /// The remote's log of the zone is closed. Everything here is kept, and nothing moves until the app
  /// decides.
  case paused(ZoneFate)
  /// The remote has other content under sequences of this store: another store has its identity. Everything
  /// here is kept, and nothing is shipped, until the zone can be fetched up to there: then the store takes
  /// another epoch.
  case forked(offset: UInt64)
  /// It was deleted at the remote and here.
  case removed
  /// It failed. Each round tries again.
  case failed(SyncFailure)
}

extension ZoneStatus {
  /// Why the zone does not move, or not all of it.
  var failure: SyncFailure? {
    switch self {
    case .failed(let failure), .parked(_, let failure): failure
    default: nil
    }
  }
}
