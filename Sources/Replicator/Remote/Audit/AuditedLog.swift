internal import EventStore
package import OperationFormat

/// What an audit found in the log of one incarnation of a zone.
package struct AuditedLog: Sendable {
  package var zone: ZoneID
  package var incarnation: IncarnationID
  /// The offset at which it begins: for what was before, a snapshot stands there.
  package internal(set) var first: UInt64 = 1
  /// Whether a snapshot stands for what is before ``first``.
  var isTrimmed = false
  /// Whether where it begins cannot be read or is wrong, and follows only from what is there.
  var isFloorLost = false
  /// A floor with which it cannot begin; nil if none says so, or it cannot be read.
  var wrongFloor: LogFloor?
  /// Its snapshots that are whole.
  package internal(set) var snapshots: [(name: RemoteSnapshot, manifest: SnapshotManifest)] = []
  /// Whether it begins with its first entry, or with a snapshot there that could be read.
  var isBeginRead = true
  /// Why it is closed; nil while it is open.
  package var fate: ZoneFate?
  package var segments: UInt64 = 0
  /// Its last offset, with its seal; nil if it is unknown.
  var lastOffset: UInt64?
  package var transactions: UInt64 = 0
  package var bytes: UInt64 = 0
  /// Assets that its segments name, and that match their hashes.
  package var assets = 0
  /// Assets that its segments name, and that are missing or not whole: their writers may not have had them.
  package var missingAssets: [ContentHash] = []
  /// Assets of which an object cannot be read, or only the manifest is missing.
  var unsoundAssets: [AssetReference] = []
  /// All assets that its segments name.
  var namedAssets: Set<AssetReference> = []
  /// Whether every segment could be read. If not, it is unknown which assets they name.
  var isReadable = true
  /// The offsets of entries that cannot be read, or are missing.
  package var unreadable: [UInt64] = []
  /// The offset of the first entry of which only a newer version can read the content; nil if there is none.
  var firstNewer: UInt64?
  /// Entries that were given up, and seals after which the log continues.
  package internal(set) var tombstones: [LogTombstone] = []
  /// The offsets of those for which the snapshot stands that it begins with.
  private var formerTombstones: [UInt64] = []
  /// Entries that were given up.
  package var givenUp: [LogTombstone] { tombstones.filter { !$0.passesSeal } }
  /// The offsets of seals after which the log continues: the zone was made again.
  package var passedSeals: [UInt64] { tombstones.filter(\.passesSeal).map(\.offset) }
  /// The offsets of amendments that put an entry back.
  package internal(set) var repairs: [UInt64] = []
  /// What readers leave out: segments that they reject by the rules of a log, and entries after the end of a
  /// deleted zone's log. The remote needs no repair for them.
  package internal(set) var consequences: [AuditProblem] = []
  /// How many objects of a discarded log were not removed yet.
  package internal(set) var leftObjects: UInt64 = 0
  /// How many entries come first for which the snapshot stands and of which it does not have all.
  private(set) var skipped: UInt64 = 0
  /// The last offset of which something is known.
  var end: UInt64 { skipped + UInt64(hashes.count) }
  /// The hash of each entry behind ``skipped``; nil if it cannot be read.
  var hashes: [ContentHash?] = []
  /// The log's chain at each of these, as the remote states it, else as it follows; nil if neither is known.
  var chains: [LogChain?] = []
  /// For each of these, the last offset up to it at which the remote states a chain; 0 if there is none.
  private var statedOffsets: [UInt64] = []
  /// When each of these came, in milliseconds since 1970; nil if it does not say so.
  var received: [UInt64?] = []
  /// Up to where records are compacted that are folded up to an entry, from which entry on: from the first that was read.
  private var floors: [(offset: UInt64, floor: UInt64)] = []
  /// Snapshots that no name leads to, or that have no manifest, in the order of their paths: they are still to come, were not
  /// removed whole, or never became whole.
  package internal(set) var unnamedSnapshots: [UnnamedSnapshot] = []
  /// Assets that no segment names, in the order of their hashes: uploads whose segments are still to come, or
  /// never came. Of a deleted log, all that were left.
  package var unnamedAssets: [UnnamedAsset] = []
  /// The last sequence of each replica and epoch, in their order.
  package internal(set) var writers: [Writer] = []

  /// Adds the chain of the next entry.
  ///
  /// - Parameters:
  ///   - statement: the hash of its statement; nil if it cannot be read.
  ///   - stated: what the remote states.
  ///   - floor: that of the log before it. As for readers, nothing at or below it counts as given up.
  /// - Returns: whether the entry continues the log, as far as that can be known.
  mutating func addLink(_ statement: ContentHash?, _ stated: LogChain?, floor: UInt64) -> Bool {
    let offset = skipped + UInt64(chains.count) + 1
    var link = statement.map {
      ChainLink($0, at: offset, stated: stated, after: chains.last ?? .start(of: incarnation))
    }
    let before = statedOffsets.last ?? 0
    if let last = lastTombstone(through: offset), last > max(before, floor) { link?.adopt(stated) }
    statedOffsets.append(stated == nil ? before : offset)
    chains.append(link?.chain)
    return link?.continues ?? true
  }

  /// Adds the entries for which a snapshot stands. The assets that they name are not known.
  mutating func begin(with head: SnapshotHead) {
    skipped = head.foldedThrough
    received += head.received
    for (index, link) in head.links.enumerated() {
      hashes.append(link.hash)
      chains.append(link.chain)
      let offset = skipped + UInt64(index) + 1
      statedOffsets.append(link.isStated ? offset : statedOffsets.last ?? 0)
      if link.isGivenUp { formerTombstones.append(offset) }
    }
    isReadable = false
  }

  /// Whether the entry at an offset, or one before it since the remote last stated a chain, was given up: then the
  /// chain there is not known to all writers.
  ///
  /// - Parameters:
  ///   - offset: behind ``skipped``.
  ///   - floor: what is at or below counts as not given up.
  func isGivenUp(before offset: UInt64, floor: UInt64) -> Bool {
    guard let last = lastTombstone(through: offset), last > floor else { return false }
    return last >= statedOffsets[Int(offset - skipped) - 1]
  }

  /// The offset of the last entry up to one that was given up; nil if none was.
  func lastTombstone(through offset: UInt64) -> UInt64? {
    tombstones.last { $0.offset <= offset }?.offset ?? formerTombstones.last { $0 <= offset }
  }

  /// The hash of the entry at an offset; nil if it is not known.
  func hash(at offset: UInt64) -> ContentHash? {
    offset > skipped && offset <= end ? hashes[Int(offset - skipped) - 1] : nil
  }

  /// The log's chain at an offset; nil if it is not known.
  func chain(at offset: UInt64) -> LogChain? {
    offset > skipped && offset <= end ? chains[Int(offset - skipped) - 1] : nil
  }

  /// Whether it begins with a snapshot: then no other stands for that.
  func begins(with snapshot: RemoteSnapshot) -> Bool { isTrimmed && snapshot.offset == first }

  /// Notes up to where records are compacted that are folded up to an entry.
  mutating func note(floor: UInt64, at offset: UInt64) {
    if floors.last?.floor != floor { floors.append((offset, floor)) }
  }

  /// Whether it has the entry of a snapshot, as far as its chain is known there; nil if it is unknown.
  func hasEntry(of manifest: SnapshotManifest) -> Bool? {
    guard let hash = hash(at: manifest.offset) else { return nil }
    guard hash == manifest.hash else { return false }
    // An entry that was sent again has its hash in another log too.
    if isGivenUp(before: manifest.offset, floor: 0) { return true }
    return chain(at: manifest.offset).map { $0 == manifest.chain } ?? true
  }

  /// Whether it is not the log of a snapshot, by all that is known of it, or the snapshot states another floor than it has.
  func disproves(_ manifest: SnapshotManifest) -> Bool {
    if hasEntry(of: manifest) == false { return true }
    let offset = manifest.offset
    guard offset <= end, [unreadable.first, firstNewer].allSatisfy({ $0.map { $0 > offset } ?? true }),
      let known = floors.last(where: { $0.offset <= offset })?.floor
    else { return false }
    return known != manifest.floor ?? 0
  }

  /// What decides which of its entries may go.
  var outline: LogOutline {
    LogOutline(
      skipped: skipped, received: received,
      writers: writers.map {
        LogOutline.Writer(replica: $0.replica, lastOffset: $0.lastOffset, base: $0.base)
      })
  }

  init(zone: ZoneID, incarnation: IncarnationID) {
    self.zone = zone
    self.incarnation = incarnation
  }

  /// An asset, or a part of one, that no segment names.
  package struct UnnamedAsset: Sendable {
    package var hash: ContentHash
    package var objects: UInt64
    package var bytes: UInt64
  }

  /// A snapshot with which no store begins.
  package struct UnnamedSnapshot: Sendable {
    package var offset: UInt64
    package var maker: ReplicaID
    package var objects: UInt64
    package var bytes: UInt64
  }

  /// A lane of the log.
  package struct Writer: Sendable {
    package var replica: ReplicaID
    package var epoch: UInt32
    /// The last sequence that readers take.
    package var lastSequence: UInt64
    package var segments: UInt64
    /// The offset up to which it had seen the log.
    var base: UInt64
    /// The offset of its last segment that readers take.
    var lastOffset: UInt64
    /// The offset of the segment that closes the lane: readers take nothing of it from there on.
    package var closedAt: UInt64?
  }

  /// Finds the assets that no segment names. An asset that was listed before the log was read, and is not
  /// named at the log's end, has no segment yet.
  ///
  /// - Parameter objects: the parts of assets that were listed, in the order of their paths.
  mutating func findUnnamed(_ objects: [ObjectEntry]) {
    // A reference with a wrong size names the file nevertheless.
    let named = fate == nil ? Set(namedAssets.map(\.hash)) : []
    var found: [UnnamedAsset] = []
    // All objects of an asset are adjacent.
    for object in objects {
      guard let hash = object.name?.asset, !named.contains(hash) else { continue }
      if found.last?.hash != hash { found.append(UnnamedAsset(hash: hash, objects: 0, bytes: 0)) }
      found[found.count - 1].objects += 1
      found[found.count - 1].bytes &+= object.bytes ?? 0
    }
    unnamedAssets = found
  }

  /// Finds the snapshots with which no store begins.
  ///
  /// - Parameters:
  ///   - objects: those of snapshots that were listed, in the order of their paths.
  ///   - used: the other snapshots.
  mutating func findUnnamedSnapshots(_ objects: [ObjectEntry], besides used: [RemoteSnapshot]) {
    let used = Set(used.map { ObjectName.snapshotManifest(of: $0).snapshot })
    var found: [UnnamedSnapshot] = []
    // All objects of a snapshot are adjacent.
    for object in objects {
      guard let snapshot = object.name?.snapshot, !used.contains(snapshot) else { continue }
      if found.last?.offset != snapshot.offset || found.last?.maker != snapshot.maker {
        found.append(UnnamedSnapshot(offset: snapshot.offset, maker: snapshot.maker, objects: 0, bytes: 0))
      }
      found[found.count - 1].objects += 1
      found[found.count - 1].bytes &+= object.bytes ?? 0
    }
    unnamedSnapshots = found
  }
}
