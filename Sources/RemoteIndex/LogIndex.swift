public import OperationFormat
public import Replicator

/// A zone in an account's list, by its log.
public struct IndexedZone: Hashable, Sendable {
  /// The account, as the server names it: a call for another one does not find the zone.
  public var account: String
  /// The zone, as the account's stores name it.
  public var zone: ZoneID
  /// The incarnation of its log.
  public var log: IncarnationID

  public init(_ zone: ZoneID, of account: String, _ log: IncarnationID) {
    (self.account, self.zone, self.log) = (account, zone, log)
  }
}

/// An account's list of zones.
public struct IndexedList: Hashable, Sendable {
  /// The identity of the list: that of the remote, as the account's stores see it.
  public var remote: RemoteID
  /// How many events it has.
  public var events: UInt64

  public init(remote: RemoteID, events: UInt64) { (self.remote, self.events) = (remote, events) }
}

/// The database of a server: it orders the entries of each log, and keeps the lists of zones of accounts.
///
/// All that a call does is one transaction: it is seen whole or not at all, and once it has returned it survives a crash. An
/// error does not say whether the call had an effect: repeated, it gives the truth. Many servers may use one index. It never
/// looks into the body of a segment.
public protocol LogIndex: Sendable {
  /// For messages, such as `lmdb:/srv/tributary`.
  var name: String { get }

  /// An account's list. The first call makes it.
  func list(of account: String) async throws(RemoteError) -> IndexedList

  /// Events of an account's list after an offset, as they were made, in order; at most `count`.
  func events(
    of account: String, after offset: UInt64, count: Int
  ) async throws(RemoteError) -> [[UInt8]]

  /// Makes a zone, unless the account has an open one of the name.
  ///
  /// - Returns: the log that it has.
  func createZone(_ zone: IndexedZone) async throws(RemoteError) -> IncarnationID

  /// Why a log is closed; nil if it is open.
  ///
  /// - Throws: `RemoteError` `zoneUnknown` if there is none, or it is another zone's.
  func state(of zone: IndexedZone) async throws(RemoteError) -> IndexedState

  /// Closes a log: of a deleted zone for others to read it to its end, else nobody reads it any more, and ``removeStep(of:)``
  /// removes its entries.
  ///
  /// - Throws: `RemoteError` `zoneUnknown`, also if it was closed for another reason.
  func close(_ zone: IndexedZone, _ fate: ZoneFate) async throws(RemoteError)

  /// Opens a closed log again.
  ///
  /// - Throws: `RemoteError` `zoneUnknown`; `later` while its entries are being removed; `nameTaken` if the account has made another zone of the name.
  func reopen(_ zone: IndexedZone) async throws(RemoteError)

  /// Appends segments to a log, in order, each unless the log has it. It ends with the first that is not in the log then.
  ///
  /// - Parameters:
  ///   - segments: whole ones, of that log.
  ///   - offset: the last one that the caller has compared.
  /// - Returns: an outcome for each segment, or for the first ones.
  /// - Throws: `RemoteError` `zoneUnknown`, `wentBack`, `expired`.
  func append(
    _ segments: [PackedSegment], to zone: IndexedZone, after offset: UInt64
  ) async throws(RemoteError) -> [AppendOutcome]

  /// Reads entries after a place: as many as `bytesMax` has room for, at least one if there is one.
  ///
  /// - Throws: `RemoteError` `zoneUnknown`, `wentBack`, `expired`.
  func entries(
    of zone: IndexedZone, after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome

  /// Puts back an entry that a log has lost at its end.
  ///
  /// - Returns: whether the log has it there now.
  func putBack(
    _ entry: StoredSegment, to zone: IndexedZone, after token: ChangeToken
  ) async throws(RemoteError) -> Bool

  /// Lets a log that has no entry begin behind a snapshot.
  ///
  /// - Returns: whether it begins with it now.
  func begin(_ zone: IndexedZone, with floor: IndexedFloor) async throws(RemoteError) -> Bool

  /// Lets a log begin with a snapshot: ``removeStep(of:)`` may remove the entries before.
  ///
  /// - Returns: where it begins now, which may be later.
  /// - Throws: `RemoteError` `zoneUnknown` also if it is closed; `mismatch` if the log has another entry there.
  func raise(_ zone: IndexedZone, to floor: IndexedFloor) async throws(RemoteError) -> UInt64

  /// Removes some entries that nobody needs any more, the first ones first: so that no call takes long.
  ///
  /// - Returns: whether there may be more.
  func removeStep(of zone: IndexedZone) async throws(RemoteError) -> Bool

  /// Where logs end, of those that the account may read.
  func heads(of logs: [IncarnationID], for account: String) async throws(RemoteError) -> [ZoneHead]

  /// Tells what other servers on the same index change; ends at once if nothing tells that.
  func changes() -> AsyncStream<RemoteHint>
}

/// What an index knows of a log.
public struct IndexedState: Hashable, Sendable {
  /// Why it is closed; nil if it is open.
  public var fate: ZoneFate?
  /// Where it begins; nil if that is its first entry.
  public var floor: IndexedFloor?

  public init(fate: ZoneFate?, floor: IndexedFloor?) { (self.fate, self.floor) = (fate, floor) }
}

/// Where a log begins: a snapshot stands for what was before.
public struct IndexedFloor: Hashable, Sendable {
  /// The offset of the snapshot, from 1.
  public var offset: UInt64
  /// The hash of the entry there, and the chain.
  public var hash: ContentHash
  public var chain: LogChain
  /// Who made the snapshot.
  public var maker: ReplicaID
  /// Whether the log has that entry too.
  public var hasEntry: Bool

  public init(offset: UInt64, hash: ContentHash, chain: LogChain, maker: ReplicaID, hasEntry: Bool) {
    (self.offset, self.hash, self.chain, self.maker, self.hasEntry) = (offset, hash, chain, maker, hasEntry)
  }
}
