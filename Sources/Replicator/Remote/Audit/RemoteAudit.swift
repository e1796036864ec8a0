package import OperationFormat

/// Reads a remote whole and checks what it says against itself: every segment's hashes, each writer's chain and
/// sequences, the hash that each segment names for its base, and the assets that the segments name. It changes nothing.
package struct RemoteAudit: Sendable {
  /// One life of a zone.
  package struct Log: Sendable {
    package var zone: ZoneID
    package var incarnation: IncarnationID
    /// Why it is closed; nil while it is open.
    package var fate: ZoneFate?
    package var segments: UInt64 = 0
    /// Where it ends, its seal counted; nil if that could not be seen.
    var lastOffset: UInt64?
    package var transactions: UInt64 = 0
    package var bytes: UInt64 = 0
    /// Assets that its segments name, and that are there as their hashes say.
    package var assets = 0
    /// Assets that its segments name, and that are not there, or not whole: their writers may not have had them.
    package var missingAssets: [ContentHash] = []
    /// Those of which an object cannot be read, or the manifest alone is missing.
    var unsoundAssets: [AssetReference] = []
    /// All that its segments name.
    var namedAssets: Set<AssetReference> = []
    /// Whether every segment could be read: else nobody knows what they name.
    var isReadable = true
    /// The offsets that nobody can read, or where nothing lies, though something is behind.
    package internal(set) var unreadable: [UInt64] = []
    /// Entries that were given up.
    package internal(set) var tombstones: [LogTombstone] = []
    /// The offsets of which another object counts than the one that lies there, and what holds for both.
    package internal(set) var repairs: [UInt64] = []
    /// What readers leave out: segments that every one of them rejects by the rules of a log, and what is behind the end of
    /// a deleted zone's. That is nothing to be mended at the remote.
    package internal(set) var consequences: [Problem] = []
    /// The hash of what is at each offset, from 1; nil where nobody can read it.
    package internal(set) var hashes: [ContentHash?] = []
    /// What lies there of assets that no segment names, in the order of their hashes: uploads whose segments are still
    /// to come, or never came. Of a deleted log, all that was left.
    package var unnamedAssets: [UnnamedAsset] = []
    /// What readers have taken of each lane.
    var lanes: [LaneID: Lane] = [:]

    /// The last sequence of each replica and epoch, in their order.
    package var writers: [Writer] {
      lanes.sorted { $0.key < $1.key }
        .map { id, lane in
          Writer(
            replica: id.replica, epoch: id.epoch, lastSequence: lane.last, segments: lane.segments,
            closedAt: lane.closedAt)
        }
    }
  }

  /// An asset, or a part of one, that no segment names.
  package struct UnnamedAsset: Sendable {
    package var hash: ContentHash
    package var objects: UInt64
    package var bytes: UInt64
  }

  package struct Writer: Sendable {
    package var replica: ReplicaID
    package var epoch: UInt32
    /// The last that readers take.
    package var lastSequence: UInt64
    package var segments: UInt64
    /// The offset of the segment by which readers close the lane: they take nothing of it from there on.
    package var closedAt: UInt64?
  }

  package struct Problem: Sendable {
    /// Where it is: a path below the remote's place.
    package var place: String
    package var message: String
    /// The entry that it is about, or the event of the list of zones; nil where it is about none.
    package var entry: EntryPlace?
    /// The asset that it is about; nil where it is about none.
    package var asset: AssetReference?
    /// The log that it is about where no event of the list of zones names that log; else nil.
    package var unnamedLog: IncarnationID?
    /// Whether it is that this user may not read what is there: nothing is known to be lost.
    package var isDenied = false
  }

  package internal(set) var logs: [Log] = []
  /// The segments of all logs.
  var segmentCount: UInt64 = 0
  package internal(set) var problems: [Problem] = []
  /// The offsets of events of the list of zones that nobody can read.
  package private(set) var unreadableEvents: [UInt64] = []
  /// Events of the list of zones that were given up.
  package private(set) var eventTombstones: [LogTombstone] = []

  /// Reads every log of a remote, or those of one zone.
  ///
  /// - Parameters:
  ///   - zone: the zone to read alone.
  ///   - objects: what was there before, for a remote of objects: each of it must be reached from the list of zones and
  ///     the start of its log.
  ///   - progress: called after each page, with the segments so far; what it throws ends the audit.
  package init(
    of remote: any RemoteLog, zone: ZoneID? = nil, objects: [ObjectEntry] = [],
    progress: (UInt64) throws -> Void = { _ in }
  ) async throws {
    var events: [ZoneEvent] = []
    var unreadable: [ZoneListProblem] = []
    var end: UInt64 = 0
    try await remote.forEachZoneEventPage { page in
      events += page.events + page.later
      unreadable += page.problems
      end = page.token.offset
      return true
    }
    for problem in unreadable {
      let entry = EntryPlace(offset: problem.offset)
      problems.append(Problem(place: "\(entry)", message: "\(problem.failure)", entry: entry))
      unreadableEvents.append(problem.offset)
    }
    logs = Self.logs(namedBy: events).filter { zone == nil || $0.zone == zone }
    let names = objects.compactMap(\.name)
    if let remote = remote as? any LogOfObjects {
      eventTombstones = try await tombstones(of: names, remote)
    }
    // By the log that they are of; nil for the list of zones.
    let namesOfLogs = Dictionary(grouping: names, by: \.incarnation)
    for index in logs.indices {
      let names = namesOfLogs[logs[index].incarnation] ?? []
      try await read(index, remote, names.compactMap(\.offset).sorted(), progress)
      try await checkAmendments(index, remote, names)
      try await checkAssets(index, remote)
    }
    let isWhole = zone == nil && unreadableEvents.isEmpty
    checkAreReached(
      names, namesOfLogs, list: isWhole ? end : nil, named: Set(events.map(\.incarnation)))
    var parts: [IncarnationID: [ObjectEntry]] = [:]
    for object in objects where object.name?.isOfAsset ?? false {
      if let incarnation = object.name?.incarnation { parts[incarnation, default: []].append(object) }
    }
    for index in logs.indices where logs[index].isReadable {
      findUnnamed(index, parts[logs[index].incarnation] ?? [])
    }
  }

  /// The logs that are their zones' only ones: the name of the zone tells which log is meant.
  package var onlyLogs: Set<IncarnationID> {
    var lives: [ZoneID: Int] = [:]
    for log in logs { lives[log.zone, default: 0] += 1 }
    return Set(logs.lazy.filter { lives[$0.zone] == 1 }.map(\.incarnation))
  }

  /// The logs that the events of a list of zones name, in their order.
  ///
  /// The event of a log's beginning may have been given up, or nobody can read it: then the event of its end names it.
  package static func logs(namedBy events: [ZoneEvent]) -> [Log] {
    var logs: [Log] = []
    var indices: [IncarnationID: Int] = [:]
    var live: [ZoneID: Int] = [:]
    for event in events where [.created, .reset, .deleted, .purged].contains(event.kind) {
      let index = indices[event.incarnation] ?? logs.count
      if index == logs.count {
        logs.append(Log(zone: event.zone, incarnation: event.incarnation))
        indices[event.incarnation] = index
      }
      switch event.kind {
      case .deleted: logs[index].fate = .deleted
      case .purged: logs[index].fate = .purged
      default:
        if event.kind == .reset, let before = live[event.zone] {
          logs[before].fate = .reset(event.incarnation)
        }
        live[event.zone] = index
      }
    }
    return logs
  }

  /// Notes folders that every remote has, and this one has lost.
  package mutating func note(missingFolders: [String]) {
    problems += missingFolders.map {
      Problem(place: "\($0)/", message: "this folder is missing, and what was in it")
    }
  }

  /// Finds what a log has of assets that none of its segments names. What was listed before the log was read, and is
  /// not named at its end, was not yet named when it was put, or never is.
  private mutating func findUnnamed(_ index: Int, _ objects: [ObjectEntry]) {
    // A reference that says a wrong size names the file all the same.
    let named = logs[index].fate == nil ? Set(logs[index].namedAssets.map(\.hash)) : []
    var found: [UnnamedAsset] = []
    // In the order of their paths, so that all of one asset are together.
    for object in objects {
      guard let hash = object.name?.asset, !named.contains(hash) else { continue }
      if found.last?.hash != hash { found.append(UnnamedAsset(hash: hash, objects: 0, bytes: 0)) }
      found[found.count - 1].objects += 1
      found[found.count - 1].bytes &+= object.bytes ?? 0
    }
    logs[index].unnamedAssets = found
  }

  /// Notes what no event of the list of zones leads to.
  ///
  /// - Parameters:
  ///   - names: all objects, and those of each log and of the list of zones, in the same order.
  ///   - offset: the list's last one; nil unless all of the list was read.
  ///   - named: the logs that its events name. One that was given up may have named a log, which readers do not find since.
  private mutating func checkAreReached(
    _ names: [ObjectName], _ namesOfLogs: [IncarnationID?: [ObjectName]], list offset: UInt64?,
    named: Set<IncarnationID>
  ) {
    func note(_ name: ObjectName?, _ message: String) {
      if let name { problems.append(Problem(place: "\(name)", message: message)) }
    }
    if let offset {
      note(
        namesOfLogs[nil]?.first { $0.offset ?? 0 > offset },
        "the list of zones ends at event \(offset): one between is missing")
    }
    for index in logs.indices {
      let incarnation = logs[index].incarnation
      guard let fate = logs[index].fate, let last = logs[index].lastOffset else { continue }
      let behind = (namesOfLogs[incarnation] ?? []).filter { $0.offset ?? 0 > last }
      let message = "its log is closed at offset \(last)"
      if fate == .deleted {
        // Every reader ends before it, and nobody needs it: there is nothing to mend.
        logs[index].consequences += behind.map { Problem(place: "\($0)", message: message) }
      } else {
        note(behind.first, message)
      }
    }
    guard offset != nil else { return }
    var known = named
    for name in names {
      guard let log = name.incarnation, known.insert(log).inserted else { continue }
      problems.append(
        Problem(
          place: "\(name)", message: "no event of the list of zones names its log", unnamedLog: log))
    }
  }

  /// Checks the assets that a log's segments name. What a closed log has is nobody's any more.
  private mutating func checkAssets(_ index: Int, _ remote: any RemoteLog) async throws {
    let log = logs[index]
    guard log.fate == nil else { return }
    let sorted = log.namedAssets.sorted {
      ($0.hash.description, $0.byteCount) < ($1.hash.description, $1.byteCount)
    }
    for reference in sorted {
      let asset = RemoteAsset(reference, of: log.zone, log.incarnation)
      do throws(RemoteError) {
        let state = try await remote.assetState(asset)
        guard case .whole(let manifest) = state else {
          logs[index].missingAssets.append(reference.hash)
          if state == .partial(chunks: AssetManifest.chunkCount(of: reference)) {
            logs[index].unsoundAssets.append(reference)
          }
          continue
        }
        if try await isWhole(asset, manifest, remote) { logs[index].assets += 1 }
      } catch {
        let isDenied = error.code == .denied
        guard error.code == .damagedAsset || isDenied else { throw error }
        let place = error.object ?? .assetManifest(of: reference.hash, in: log.incarnation)
        problems.append(
          Problem(
            place: "\(place)", message: error.description, asset: isDenied ? nil : reference,
            isDenied: isDenied))
        logs[index].unsoundAssets.append(reference)
      }
    }
  }

  /// Whether every chunk of an asset is as its manifest says, and the whole as its hash.
  private mutating func isWhole(
    _ asset: RemoteAsset, _ manifest: AssetManifest, _ remote: any RemoteLog
  ) async throws(RemoteError) -> Bool {
    var hasher = ContentHasher()
    for (index, hash) in manifest.chunks.enumerated() {
      let chunk = try await remote.assetChunk(at: UInt64(index), of: asset)
      guard let chunk, ContentHash(of: chunk.span.bytes) == hash else {
        let place = ObjectName.assetChunk(UInt64(index), of: asset.reference.hash, in: asset.incarnation)
        problems.append(
          Problem(
            place: "\(place)", message: chunk == nil ? "it is missing" : "it has other bytes",
            asset: asset.reference))
        return false
      }
      hasher.update(chunk.span.bytes)
    }
    if hasher.finish() == asset.reference.hash { return true }
    let place = ObjectName.assetManifest(of: asset.reference.hash, in: asset.incarnation)
    problems.append(
      Problem(
        place: "\(place)", message: "its chunks are those of another asset", asset: asset.reference))
    return false
  }
}
