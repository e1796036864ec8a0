public import OperationFormat

/// A shared log at a remote that its user owns: for each zone a totally ordered series of segments, and a
/// list of the zones.
///
/// A store reaches a remote only through this protocol. Every implementation must pass `RemoteLogConformance`
/// of `StoreTesting`. Many tasks may call an implementation at once; several processes and machines may use
/// one remote at the same time.
///
/// **What must hold.** Offsets of a zone's incarnation are dense from 1. An appended segment stays whole at
/// its offset, and every later call sees it. An error does not say whether the call had an effect: the caller
/// repeats it, and the answer of the repetition is the truth.
///
/// **Entries that cannot be read.** An entry that is damaged or missing ends a page, and the next call
/// throws. What follows it waits, because the order demands it. It does not hold up an append: that goes
/// after all entries, and never into a hole. An append passes an entry if its header is another segment's,
/// and also if the header cannot be read. If that was the same segment, the log then has it twice, and
/// readers skip the second by its sequences. The remote's operator amends such an entry: puts the same bytes
/// back, or puts a *tombstone*, which all readers take as an empty entry. The first amendment counts for
/// everybody, and only where the entry itself cannot be read. A page gives a tombstone as a segment with the
/// tombstone's bytes; the token after it has the SHA-256 of these bytes.
///
/// **The chain.** With each segment a remote keeps and gives back the log's chain there, a `LogChain`: it
/// computes it when it appends, from the chain of the entry before and the statement in the segment's header.
/// A read after a token that has another chain than its entry, or another hash, is of another log: `wentBack`. An
/// append is not refused for that: if a remote lets others write its entries, as a folder does, the last one may
/// state a false chain, which all readers leave out, and the log continues from the token's chain. A segment that
/// was stored without a chain is given without one.
///
/// **Accounts.** A remote with accounts shows each of them its own list of zones: those that it owns without an
/// owner, and those of others with their account. It tells zones apart by both, never by the name alone. Only
/// an owner deletes a zone; others get `zoneUnknown`, and their stores then remove the zone only there. After `denied` a
/// store tries again.
public protocol RemoteLog: Sendable {
  /// The remote's name for messages, such as `folder:/mnt/team`.
  var name: String { get }

  /// Checks that the place of the remote does what its log relies on: that of two puts under one name the second is
  /// refused, and that what was put is read whole. A replicator calls it before a store belongs to the remote, so once for
  /// each store. It leaves nothing there. Without an implementation it does nothing.
  ///
  /// - Throws: ``RemoteError`` `unsuitable` if it does not; others as ``RemoteLog/zoneEvents(after:)``. Then the store
  ///   belongs to no remote, and the next round calls it again.
  func probe() async throws(RemoteError)

  /// Reads the list of zones after a token.
  ///
  /// An event that cannot be read holds up only itself: see ``ZoneEventPage/later``. Known zones continue,
  /// and new zones are made after it.
  ///
  /// - Parameter token: where an earlier page ended; nil to begin at the start, whichever remote it is.
  /// - Throws: ``RemoteError`` `identityMismatch` if the token is of another remote, `wentBack` if the list
  ///   does not have the token's event any more, `notARemote`, `newerFormat`, `damaged`, `unreachable`,
  ///   `later`, `denied`.
  func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage

  /// Makes a zone unless it exists.
  ///
  /// - Parameters:
  ///   - zone: the zone.
  ///   - proposed: the incarnation of a new zone: random bits that were never used before.
  /// - Returns: the zone's incarnation at the remote: the proposed one, or that of an earlier caller.
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``, and `overQuota`.
  func createZone(_ zone: ZoneID, proposing proposed: IncarnationID) async throws(RemoteError)
    -> IncarnationID

  /// Deletes a zone: closes its log, so that nothing can be appended, and adds an event to the list of zones.
  /// If the zone is deleted already, that is a success.
  ///
  /// - Throws: ``RemoteError``, as ``RemoteLog/zoneEvents(after:)``; `zoneUnknown` if the remote's list, read
  ///   to the end, does not have the zone, or its log was purged or reset. A store then takes the deletion as done, and
  ///   repeats it if the list names the zone later, or says that it was opened again.
  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError)

  /// Discards all that the remote has of a zone: closes its log, adds an event `purged` to the list of zones, and removes
  /// entries, snapshots and assets. Stores keep their copies, and may open the log again. No store calls it: it is for who
  /// runs the remote. Without an implementation it throws `unsupported`.
  ///
  /// Cut short, the next call continues; until then nobody reads a log with a hole.
  ///
  /// - Throws: ``RemoteError``, as `createZone(_:proposing:)`; `zoneUnknown` if the zone has no open log, and no purged one;
  ///   `later` if it was opened again meanwhile.
  func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError)

  /// As ``purgeZone(_:_:)``, and asks all stores to send everything again: the event is `reset`, and the first store that
  /// comes opens the log again, also while this call works. It is for a log that is to be made anew, such as one that is
  /// damaged beyond repair. What no store has is lost. A purged zone is not reset, and one that was reset is not purged, until a store has
  /// opened its log again. Without an implementation it throws `unsupported`.
  ///
  /// - Throws: ``RemoteError``, as `createZone(_:proposing:)`; `zoneUnknown` if the zone has no open log, and none that was
  ///   reset; `later` if it was opened again while assets were removed: call it again.
  func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError)

  /// Opens the log of a zone again that was deleted, purged or reset, and an event `reopened` is added to the list of zones.
  /// All readers take the seal as an empty entry from then on. A deleted log continues after it. Another has no entries, and
  /// gets them back from the stores, at their offsets: the seal comes where the log gets that far again. If the log is open,
  /// that is a success. Without an implementation it throws `unsupported`.
  ///
  /// - Throws: ``RemoteError``, as ``createZone(_:proposing:)``; `nameTaken` if another zone of the name was made since;
  ///   `zoneUnknown`.
  func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError)

  /// Appends a segment to its zone's log, unless the log has it.
  ///
  /// A remote that keeps receive times states none that is later than ``PackedSegment/formerReceivedMilliseconds``.
  ///
  /// - Parameters:
  ///   - segment: a whole segment. Its header names the incarnation, and the zone without its owner.
  ///   - token: the zone, and the last offset that the caller has compared: the segment is not at or before
  ///     it. Its chain is where the log's chain continues from, unless the remote computes the chain itself.
  /// - Returns: the outcome; see ``AppendOutcome``.
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``; `zoneUnknown`; `wentBack` if nothing is at the
  ///   token's offset or after it; `expired` if the log begins later; `mismatch` if the segment is not whole, or not
  ///   of that log.
  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome

  /// Reads segments of a zone's log after a token, in their order.
  ///
  /// A page ends before a segment that cannot be read. The log of a zone that the list of zones names as
  /// deleted ends there: then the outcome is ``FetchOutcome/gone(_:)``.
  ///
  /// - Parameters:
  ///   - token: the page begins after it; `offset` 0 for the start.
  ///   - bytesMax: the page ends before the segment that would exceed it, but has at least one if there is
  ///     one.
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``; `zoneUnknown`; `wentBack` if the token's segment
  ///   is missing or has another hash; `expired` if the log begins later, with a snapshot; `quarantined` if that
  ///   segment was given up since; `damagedSegment`,
  ///   `newerSegment` or `missingSegment` (nothing is there, and something follows) if the first segment
  ///   after the token cannot be read, or the token's own segment.
  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome

  /// Puts an entry back that a log has lost at its end: unless something is at its offset, and only if the log
  /// up to the offset before is that of the token. Without an implementation it does nothing.
  ///
  /// - Parameters:
  ///   - entry: with the offset after the token's, and all that the remote gave with it.
  ///   - token: the place before it.
  /// - Returns: whether the log has that segment there now.
  /// - Throws: ``RemoteError``, as ``append(_:after:)``.
  func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool

  /// Lets a log that has no entry begin after a snapshot that was put there: for a store that does not have the entries
  /// before. Without an implementation it does nothing.
  ///
  /// - Returns: whether the log begins with that snapshot now.
  /// - Throws: ``RemoteError``, as ``append(_:after:)``.
  func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool

  /// What the remote's clock showed when this client last appended something, in milliseconds since 1970; nil if that
  /// is not known. Without an implementation it is nil.
  ///
  /// It only tells users of clocks that are wrong. It may differ from the receive time that an entry states: a remote
  /// may know that its clock cannot be believed.
  func lastClockMilliseconds() -> UInt64?

  // MARK: Assets

  /// Says how much of an asset the remote has.
  ///
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``; `zoneUnknown`; `damagedAsset` if the manifest
  ///   cannot be read, or is another asset's. To repair that, put all of the asset again.
  func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState

  /// Puts a chunk of an asset. The chunks are put in order. A chunk that exists is replaced only if it has
  /// other bytes.
  ///
  /// - Parameters:
  ///   - bytes: as many as ``AssetManifest/byteCount(ofChunk:of:)`` says.
  ///   - index: the chunk's index, from 0.
  ///   - asset: the asset.
  /// - Throws: ``RemoteError``, as ``assetState(_:)``; `mismatch` for another number of bytes.
  func putAssetChunk(_ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset) async throws(RemoteError)

  /// Puts the manifest of an asset whose chunks were all put: from then on the asset is whole.
  ///
  /// - Returns: ``RemoteAssetState/whole(_:)``; or how many chunks there are, if one is missing.
  /// - Throws: ``RemoteError``, as ``assetState(_:)``.
  func finishAsset(_ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID)
    async throws(RemoteError) -> RemoteAssetState

  /// Reads a chunk of an asset; nil if it is missing. The caller compares it with the manifest.
  ///
  /// - Throws: ``RemoteError``, as ``assetState(_:)``.
  func assetChunk(at index: UInt64, of asset: RemoteAsset) async throws(RemoteError) -> [UInt8]?

  // MARK: Snapshots

  /// Names the snapshots of a zone's log, the newest first; nil if the remote keeps none. Without an implementation it is
  /// nil.
  ///
  /// The answer may be late or wrong: a reader that finds a snapshot missing, damaged or false takes the one before, or reads
  /// the log.
  ///
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``; `zoneUnknown`.
  func snapshots(of zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) -> [RemoteSnapshot]?

  /// Reads what a snapshot has; nil if it is not there, or not whole.
  ///
  /// - Throws: ``RemoteError``, as ``snapshots(of:_:)``.
  func snapshotManifest(of snapshot: RemoteSnapshot) async throws(RemoteError) -> SnapshotManifest?

  /// Reads a part of a snapshot as it is stored; nil if it is not there. The caller compares it with the manifest.
  ///
  /// - Throws: ``RemoteError``, as ``snapshots(of:_:)``.
  func snapshotPart(at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError) -> [UInt8]?

  /// Puts a part of a snapshot. One that exists is replaced only if it has other bytes.
  ///
  /// - Throws: ``RemoteError``, as ``snapshots(of:_:)``; `zoneUnknown` also if the zone was deleted; `overQuota`.
  func putSnapshotPart(_ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError)

  /// Puts the manifest of a snapshot whose parts were all put: from then on ``snapshots(of:_:)`` names it. A remote keeps
  /// the newest ones, and may remove the others.
  ///
  /// - Throws: ``RemoteError``, as ``putSnapshotPart(_:at:of:)``.
  func finishSnapshot(_ manifest: SnapshotManifest, of snapshot: RemoteSnapshot) async throws(RemoteError)

  /// Removes the parts of a snapshot that was not finished, as far as they are there.
  ///
  /// - Parameters:
  ///   - snapshot: which snapshot.
  ///   - parts: how many parts were put, from the first one on.
  /// - Throws: ``RemoteError``, as ``snapshots(of:_:)``.
  func removeSnapshot(_ snapshot: RemoteSnapshot, parts: Int) async throws(RemoteError)

  /// Lets a log begin with a snapshot: the entries before its offset go, and the older snapshots. Without an implementation
  /// it does nothing.
  ///
  /// A reader that asks for what is before gets `expired`, never a log with a hole: also while entries are being removed,
  /// and if the call is cut short; a later one continues. Of several callers the greatest offset counts.
  ///
  /// - Parameters:
  ///   - snapshot: one of which all parts are there: ``snapshots(of:_:)`` names it, and the caller has read it whole, or
  ///     the caller has just put them. It stays, and is named, as long as the log begins with it.
  ///   - manifest: what it has.
  /// - Returns: the offset at which the log begins now; nil if the remote does not trim logs.
  /// - Throws: ``RemoteError``, as ``snapshots(of:_:)``; `zoneUnknown` also if the zone was deleted.
  func trim(to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest) async throws(RemoteError) -> UInt64?

  // MARK: Hints

  /// Yields when something may have changed: see ``RemoteHint``. A remote without push ends the sequence at
  /// once; callers also poll.
  func changes() -> AsyncStream<RemoteHint>

  /// Says in one call where many logs end, and whether the list of zones has grown; nil if the remote cannot
  /// tell. Without an implementation it is nil.
  ///
  /// The answer may be late or incomplete: see ``RemoteHeads``. A remote should answer cheaply rather than
  /// exactly. A caller that needs the truth reads the log.
  ///
  /// - Parameters:
  ///   - tokens: up to where the caller has the logs; at most ``SyncPolicy/headsMax``.
  ///   - list: up to where the caller has the list of zones.
  /// - Throws: ``RemoteError``. The caller then asks for each zone.
  func heads(of tokens: [ChangeToken], list: DatabaseToken) async throws(RemoteError) -> RemoteHeads?

  /// Lets the answers of ``heads(of:list:)`` to others have what this client has appended. It is called after
  /// a round that has sent something, at most once a second. A remote whose appends do that does nothing;
  /// that is the implementation if there is no other. It must fail silently: it only saves time.
  func announce() async
}

extension RemoteLog {
  public func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? { nil }

  public func announce() async {}

  public func probe() async throws(RemoteError) {}

  public func lastClockMilliseconds() -> UInt64? { nil }

  public func beginLog(with snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool { false }

  public func reopenZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    throw RemoteError(
      .unsupported, "\(name) cannot make zone “\(zone)” again",
      hint: "keep the zone as a local one, or move its records to a new zone")
  }

  public func purgeZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    throw RemoteError(
      .unsupported, "\(name) cannot purge zone “\(zone)”",
      hint: "delete the zone, or use the tools of the remote")
  }

  public func resetZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) {
    throw RemoteError(
      .unsupported, "\(name) cannot reset zone “\(zone)”",
      hint: "keep what it has, or use the tools of the remote")
  }

  public func putBack(_ entry: StoredSegment, after token: ChangeToken) async throws(RemoteError) -> Bool {
    false
  }
}

extension RemoteLog {
  /// Calls a closure with each page of the list of zones, from its start, until it returns false. A page that
  /// does not get further is the last, whatever the remote says.
  package func forEachZoneEventPage(
    _ body: (ZoneEventPage) -> Bool
  ) async throws(RemoteError) {
    var token: DatabaseToken?
    while true {
      let page = try await zoneEvents(after: token)
      guard body(page), page.hasMore, page.token != token else { return }
      token = page.token
    }
  }
}
