public import EventStore

/// A shared log, at a remote that its user owns: for each zone a totally ordered sequence of segments, and a list of
/// the zones.
///
/// It is the one seam between a store and a remote. Every implementation must pass `RemoteLogConformance` of
/// `StoreTesting`. An implementation may be called from many tasks at once; several processes and machines may
/// use one remote at the same time.
///
/// **What must hold.** Offsets of a zone's incarnation are dense from 1. A segment that was appended is at its offset
/// for ever, whole, and seen by every later call. An error says nothing about whether the call had an effect: the
/// caller repeats it, and the answer of the repetition is the truth.
///
/// **What cannot be read.** An entry that is damaged or missing ends a page, and the next call says so: order demands
/// that what comes behind waits. It does not hold up an append, which goes behind all that is there, and never into a
/// hole. An append passes an entry if its header is another's, and also if nobody can read whose it is: were it
/// this very segment, then it lies there twice, and readers know the second by its sequences. Whoever runs the remote
/// amends such an entry: puts what was there again, or a *tombstone*, which all readers take for an empty entry. The
/// first amendment counts, for everybody, and only where the entry itself cannot be read. A page gives a tombstone as a
/// segment whose bytes are the tombstone's; the token after it has the SHA-256 of these.
public protocol RemoteLog: Sendable {
  /// What it is, for messages, such as `folder:/mnt/team`.
  var name: String { get }

  /// Reads the list of zones after a token.
  ///
  /// - Parameter token: where an earlier page ended; nil to begin at the start, whatever remote it is.
  /// One event that cannot be read stops that event alone: see ``ZoneEventPage/later``. The zones that are known
  /// otherwise go on, and others are made behind it.
  ///
  /// - Throws: ``RemoteError`` `identityMismatch` if the token is of another remote, `wentBack` if the list does not
  ///   have the token's event any more, `notARemote`, `newerFormat`, `damaged`, `unreachable`, `later`, `denied`.
  func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage

  /// Makes a zone unless it is there.
  ///
  /// - Parameters:
  ///   - zone: which one.
  ///   - proposed: the incarnation that a new zone gets: random bits that were never used before.
  /// - Returns: the incarnation of the zone as it is there now: the proposed one, or that of whoever was first.
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``, and `overQuota`.
  func createZone(_ zone: ZoneID, proposing proposed: IncarnationID) async throws(RemoteError)
    -> IncarnationID

  /// Deletes a zone: closes its log, so that nothing is appended after, and adds an event to the list of zones.
  /// Deleting what is deleted already is a success.
  ///
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``; `zoneUnknown` if the remote, its list read to the end, does not
  ///   have it. A store takes that for done, and deletes the zone once the list names it.
  func deleteZone(_ zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError)

  /// Appends a segment to its zone's log, if it is not there yet.
  ///
  /// - Parameters:
  ///   - segment: a whole segment. Its header says for which zone and incarnation.
  ///   - offset: up to where the caller knows the log: no segment at or before it is this one.
  /// - Returns: what became of it; ``AppendOutcome``.
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``; `zoneUnknown`; `wentBack` if nothing lies
  ///   at `offset` and behind it; `damagedSegment` if one that has some of its sequences, and not just these, cannot be
  ///   read.
  func append(_ segment: PackedSegment, after offset: UInt64) async throws(RemoteError) -> AppendOutcome

  /// Reads segments of a zone's log after a token, in their order.
  ///
  /// - Parameters:
  ///   - token: where to go on; `offset` 0 for the start.
  ///   - bytesMax: the page ends before the segment that would exceed it, but has at least one if there is one.
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``; `zoneUnknown`; `wentBack` if the token's segment is not
  ///   there or has another hash; `quarantined` if it was given up since; `damagedSegment`, `newerSegment` or
  ///   `missingSegment` (nothing is there, and something behind it) if the first one after the token cannot be read, or
  ///   the token's own. A page ends before such a segment. The log of a zone that the list of zones names as deleted
  ///   ends there: then it is gone.
  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome

  // MARK: Assets

  /// Says how much there is of an asset.
  ///
  /// - Throws: ``RemoteError``, as ``zoneEvents(after:)``; `zoneUnknown`; `damagedAsset` if what says that it is whole
  ///   cannot be read, or is another asset's. Putting all of it again mends that.
  func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState

  /// Puts a chunk of an asset. The chunks are put in order; what is there already stays, unless it has other bytes.
  ///
  /// - Parameters:
  ///   - bytes: as many as ``AssetManifest/byteCount(ofChunk:of:)`` says.
  ///   - index: which one, from 0.
  ///   - asset: the asset.
  /// - Throws: ``RemoteError``, as ``assetState(_:)``; `mismatch` for another number of bytes.
  func putAssetChunk(_ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset) async throws(RemoteError)

  /// Says that all chunks of an asset were put: from then on it is whole.
  ///
  /// - Returns: ``RemoteAssetState/whole(_:)``; or how many chunks there are, if one is missing.
  /// - Throws: ``RemoteError``, as ``assetState(_:)``.
  func finishAsset(_ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID)
    async throws(RemoteError) -> RemoteAssetState

  /// Reads a chunk of an asset; nil if it is not there. The caller compares it with the manifest.
  ///
  /// - Throws: ``RemoteError``, as ``assetState(_:)``.
  func assetChunk(at index: UInt64, of asset: RemoteAsset) async throws(RemoteError) -> [UInt8]?

  /// Yields whenever something may have changed, coalesced. A remote without push ends the sequence at once; callers
  /// poll besides.
  func changes() -> AsyncStream<Void>
}

extension RemoteLog {
  /// Calls a closure with each page of the list of zones, from its start, until it returns false.
  package func forEachZoneEventPage(
    _ body: (ZoneEventPage) -> Bool
  ) async throws(RemoteError) {
    var token: DatabaseToken?
    while true {
      let page = try await zoneEvents(after: token)
      guard body(page), page.hasMore else { return }
      token = page.token
    }
  }
}

/// A part of a remote's list of zones.
public struct ZoneEventPage: Hashable, Sendable {
  public var events: [ZoneEvent]
  /// Where the page ended. Its offset is that of the last event, and offsets are dense from 1.
  public var token: DatabaseToken
  /// Whether there is more after it.
  public var hasMore: Bool
  /// The offset of the token that it follows. What was given up has an offset, and no event.
  public var startOffset: UInt64
  /// The events of the list that cannot be read, with the last page. The token does not pass the first after it.
  public var problems: [ZoneListProblem] = []
  /// The events behind the first that cannot be read. They come again with each page that ends before that.
  public var later: [ZoneEvent] = []

  /// Creates a page. `startOffset` is the offset of the token that it follows; nil if each offset has an event.
  public init(events: [ZoneEvent], token: DatabaseToken, hasMore: Bool, startOffset: UInt64? = nil) {
    self.events = events
    self.token = token
    self.hasMore = hasMore
    self.startOffset = startOffset ?? token.offset - min(token.offset, UInt64(events.count))
  }
}

/// An event of a remote's list of zones that cannot be read.
public struct ZoneListProblem: Hashable, Sendable, CustomStringConvertible {
  /// Its offset in the list.
  public var offset: UInt64
  public var failure: SyncFailure

  public init(offset: UInt64, failure: SyncFailure) {
    self.offset = offset
    self.failure = failure
  }

  public var description: String { "event \(offset) of the list of zones: \(failure)" }
}

/// A segment as it lies in a remote log.
public struct StoredSegment: Hashable, Sendable {
  public var offset: UInt64
  /// When the remote first received it, in milliseconds since 1970, by the remote's own clock; nil where it has none.
  public var receivedMilliseconds: UInt64?
  public var bytes: [UInt8]

  public init(offset: UInt64, receivedMilliseconds: UInt64?, bytes: [UInt8]) {
    self.offset = offset
    self.receivedMilliseconds = receivedMilliseconds
    self.bytes = bytes
  }
}

/// What a zone's log had after a token.
public enum FetchOutcome: Hashable, Sendable {
  /// Segments of consecutive offsets, the first right after the token; none if there is nothing new.
  case segments([StoredSegment], hasMore: Bool)
  /// The zone's log is closed, and everything before its end was read; of a deleted zone, everything before the first
  /// segment that cannot be read.
  case gone(ZoneFate)
}

/// What became of an append.
public enum AppendOutcome: Hashable, Sendable {
  /// It lies there now.
  case appended(SegmentPlace)
  /// It lay there already, whole: same replica, epoch, sequences and content hash.
  case alreadyThere(SegmentPlace)
  /// Other content lies there under the same replica and epoch and some of the same sequences.
  case fork(SegmentPlace)
  /// The zone's log is closed; nothing was appended.
  case gone(ZoneFate)
}

/// Where a segment lies in its zone's log.
public struct SegmentPlace: Hashable, Sendable {
  public var offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil where it keeps no such times.
  public var receivedMilliseconds: UInt64?

  public init(offset: UInt64, receivedMilliseconds: UInt64? = nil) {
    self.offset = offset
    self.receivedMilliseconds = receivedMilliseconds
  }
}

/// Why a zone's log takes and gives no more.
public enum ZoneFate: Hashable, Sendable {
  /// A user deleted the zone.
  case deleted
  /// The remote threw it away.
  case purged
  /// It goes on under another incarnation.
  case reset(IncarnationID)
}
