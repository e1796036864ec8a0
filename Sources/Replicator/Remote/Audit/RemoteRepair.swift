package import EventStore
package import OperationFormat

/// Puts back what a remote has lost, from a store that has it: entries that cannot be read or are missing,
/// and those that a log lost at its end. It does not change the store.
package struct RemoteRepair: Sendable {
  package enum Outcome: Hashable, Sendable {
    /// The entry can be read again.
    case putBack
    /// The store does not have the entry.
    case notInStore
    /// The store has it only in the snapshot that its records begin with.
    case retired
    /// It was given up before, and the store has it.
    case givenUp
    /// The remote has another segment there than the store.
    case replaced
    /// The store's segment cannot be the one that was there, or cannot be packed again.
    case refused(String)
  }

  package struct Step: Sendable {
    package var place: EntryPlace
    package var outcome: Outcome
  }

  /// What became of a snapshot that is not whole.
  package struct SnapshotStep: Sendable {
    /// What was damaged of the snapshot, the first of it.
    package var name: ObjectName
    package var snapshot: RemoteSnapshot
    package var outcome: Outcome
    /// Whether the log begins with it: then no other stands for it.
    package var isBegin: Bool
  }

  package private(set) var steps: [Step] = []
  package private(set) var snapshots: [SnapshotStep] = []
  /// The manifests of assets that were made again.
  package private(set) var manifests: [ObjectName] = []
  let remote: ObjectRemote
  private var entries: LogEntries { remote.entries }
  private let events: ZoneListEntries
  let store: LocalStore
  private let zone: ZoneID?

  /// - Parameter zone: the only zone to repair; nil for all.
  package init(_ remote: any LogOfObjects, from store: LocalStore, zone: ZoneID? = nil) {
    self.remote = remote.log
    events = ZoneListEntries(objects: self.remote.objects)
    self.store = store
    self.zone = zone
  }

  /// Notes what became of a snapshot, in place of what was noted of it before.
  mutating func note(_ step: SnapshotStep) {
    snapshots.removeAll {
      $0.name == step.name || $0.name.snapshot != nil && $0.name.snapshot == step.name.snapshot
    }
    snapshots.append(step)
  }

  private mutating func note(_ place: EntryPlace, _ outcome: Outcome) {
    steps.append(Step(place: place, outcome: outcome))
  }

  // MARK: The list of zones

  /// Puts back events of the list of zones: those that create a zone which the store knows.
  package mutating func repairEvents(_ offsets: [UInt64]) async throws {
    let known = try store.read { try $0.remoteLogs() }
    let token = try store.syncState().databaseToken
    for offset in offsets {
      let place = EntryPlace(offset: offset)
      let list = try await remote.zones.read()
      let logs = known.map(\.incarnation)
      guard let lost = try await LostEvent(at: offset, logs, list, events) else { continue }
      guard lost.followsEvent else {
        note(place, .refused("the event before it cannot be read either"))
        continue
      }
      var candidates: [(bytes: [UInt8], log: IncarnationID)] = []
      for log in known where !lost.logsThere.contains(log.incarnation) {
        let event = ZoneEvent(kind: .created, zone: log.zone, incarnation: log.incarnation)
        candidates.append((try event.encode(at: offset, after: lost.previous), log.incarnation))
      }
      var expected = try await previousHash(namedAt: offset + 1)
      // An event that was put after it since names the damaged one.
      if expected == lost.content { expected = nil }
      if token?.offset == offset { expected = expected ?? token?.hash }
      if let expected {
        candidates.removeAll { ContentHash(of: $0.bytes.span.bytes) != expected }
      } else {
        // Nothing says which event it was: its log must exist, and it must be the only candidate.
        for candidate in candidates where try await !entries.hasAny(of: candidate.log, from: 1) {
          candidates.removeAll { $0.log == candidate.log }
        }
      }
      guard candidates.count == 1, let found = candidates.first else {
        note(place, .notInStore)
        continue
      }
      // A zone must not have two open logs: readers would lose the one that they ship to.
      let live = try list.read { list in
        known.first { $0.incarnation == found.log }.flatMap { list.openLog(of: $0.zone) }
      }
      guard live == nil || live == found.log else {
        note(place, .refused("its zone was made again since: give the event up instead"))
        continue
      }
      try await put(found.bytes, at: place)
    }
  }

  /// Puts the lost end of the list of zones back: all events that the store has read; or, if it does not know them all, the
  /// event of each log that it syncs, and that no event names. If nothing of such a log exists, the remote went back to
  /// before the zone was made, or is a new one that replaces a lost one.
  ///
  /// Zone, incarnation, offset and the event before it determine an event. If the store's token determines
  /// their order, the bytes are those that were lost. Otherwise the events are new.
  package mutating func addLostEvents() async throws {
    try await addReadEvents()
    let logs = try store.syncState().zones.compactMap { state in
      state.attachment == .attached ? state.token.map { EntryPlace.Log(state.zone, $0.incarnation) } : nil
    }
    let lost = try await lostEvents(of: logs)
    guard !lost.isEmpty else { return }
    let list = try await remote.zones.read().read { $0.token }
    if let token = try store.syncState().databaseToken {
      var order = OrderOfEvents(logs: lost, last: token)
      for (offset, bytes) in try order.find(after: list) ?? [] {
        let place = EntryPlace(offset: offset)
        // Two adjacent lost events look like the list's end.
        if case .readable = try await remote.amendments.state(of: place) { continue }
        try await put(bytes, at: place)
      }
    }
    for log in try await lostEvents(of: lost) where zone == nil || log.zone == zone {
      // One at a time: the event before may have filled a hole, and more can be read now.
      let end = try await remote.zones.read().offset
      guard try await lostEvents(of: [log]) == [log],
        try await remote.createZone(log.zone, proposing: log.incarnation) == log.incarnation
      else { continue }
      if let offset = try await offset(of: log, after: end) { note(EntryPlace(offset: offset), .putBack) }
    }
  }

  /// Where the store is to read again, with its list of zones, if that is not the one that the remote has now: others have
  /// added events where some were lost, or the store does not know which were. Reading a zone again behind what was read of
  /// it removes nothing.
  ///
  /// - Returns: a zone that the store syncs, and an offset of its log; nil if the store can read on.
  package func rereading() async throws -> (zone: ZoneID, offset: UInt64)? {
    let state = try store.syncState()
    guard let token = state.databaseToken, token.offset > 0,
      let read = state.zones.lazy.filter({ $0.attachment == .attached }).compactMap(\.token).first
    else { return nil }
    switch try await events.read(token.offset) {
    case .event(_, _, token.hash)?, .tombstone?, .unreadable?: return nil
    case .event?, nil: return (read.zone, read.offset + 1)
    }
  }

  /// Puts all events back that the list has lost at its end, if the store has read just them behind the list's last one:
  /// also those of zones that it does not have, and of deletions. The hash in its token proves it.
  ///
  /// A log whose deletion is put back is sealed first, as by the deletion. If this is cut short there, the next reader adds
  /// the same event.
  ///
  /// It comes before an audit, which adds the events of logs that were closed, in another order.
  package mutating func addReadEvents() async throws {
    guard let token = try store.syncState().databaseToken else { return }
    let (end, isWhole) = try await remote.zones.read().read { ($0.token, $0.unreadable.isEmpty) }
    guard isWhole, end.offset < token.offset,
      let events = try store.read({ try $0.zoneEvents(after: end.offset) })
    else { return }
    var (lost, hash): ([(event: ZoneEvent, bytes: [UInt8])], ContentHash) = ([], end.hash)
    for event in events {
      let bytes = try event.encode(at: end.offset + UInt64(lost.count) + 1, after: hash)
      hash = ContentHash(of: bytes.span.bytes)
      lost.append((event, bytes))
    }
    guard hash == token.hash else { return }
    let last = Dictionary(lost.map { ($0.event.incarnation, $0.event.kind) }, uniquingKeysWith: { $1 })
    for (index, (event, bytes)) in lost.enumerated() {
      let place = EntryPlace(offset: end.offset + UInt64(index) + 1)
      // Two adjacent lost events look like the list's end.
      if case .readable = try await remote.amendments.state(of: place) { continue }
      if let kind = LogSeal.Kind(ending: event.kind), last[event.incarnation] == event.kind {
        try await remote.seal(event.zone, event.incarnation, kind)
      }
      try await put(bytes, at: place)
    }
  }

  /// The offset of the event that made a log, if it is after another one.
  private func offset(of log: EntryPlace.Log, after end: UInt64) async throws -> UInt64? {
    var offset = end
    while let found = try await events.read(offset + 1) {
      offset += 1
      if found.event == ZoneEvent(kind: .created, zone: log.zone, incarnation: log.incarnation) {
        return offset
      }
    }
    return nil
  }

  /// The logs that no event of the list of zones names, and whose zones have no other one.
  ///
  /// An event that cannot be read may name one of them: it is put back or given up first.
  private func lostEvents(of logs: [EntryPlace.Log]) async throws -> [EntryPlace.Log] {
    try await remote.zones.read().read { list in
      guard list.unreadable.isEmpty else { return [] }
      return logs.filter { list.log($0.incarnation) == nil && list.openLog(of: $0.zone) == nil }
    }
  }

  /// The hash of the event before it that the event at an offset names; nil if none can be read there.
  private func previousHash(namedAt offset: UInt64) async throws -> ContentHash? {
    guard case .event(_, let previous, _)? = try await events.read(offset) else { return nil }
    return previous
  }

  // MARK: Logs

  /// Puts back segments of the logs that the store knows.
  ///
  /// - Parameter audit: of the remote as it is now.
  package mutating func repairLogs(_ audit: RemoteAudit) async throws {
    let logs = Dictionary(
      audit.logs.map { (EntryPlace.Log($0.zone, $0.incarnation), $0) },
      uniquingKeysWith: { first, _ in first })
    for known in try store.read({ try $0.remoteLogs() }) where zone == nil || known.zone == zone {
      let id = EntryPlace.Log(known.zone, known.incarnation)
      guard let log = logs[id], let end = log.lastOffset else { continue }
      // Nobody appends to a closed log: only entries that hold up readers are put back there.
      let differ = log.fate == nil ? try differing(log, known.last) : []
      for (offset, outcome) in differ { note(EntryPlace(log: id, offset: offset), outcome) }
      for offset in log.unreadable { try await repair(EntryPlace(log: id, offset: offset)) }
      // If others have appended to a log that differs from the store's, the store's later entries do not
      // follow.
      guard log.fate == nil, known.last > end, !differ.contains(where: { $0.outcome == .replaced }) else {
        continue
      }
      for offset in end + 1...known.last {
        let before = steps.count
        try await repair(EntryPlace(log: id, offset: offset))
        guard steps.count > before, steps[steps.count - 1].outcome == .putBack else { break }
      }
    }
  }

  /// The offsets at which the remote has something else than the store knows.
  private func differing(
    _ log: AuditedLog, _ last: UInt64
  ) throws -> [(offset: UInt64, outcome: Outcome)] {
    let givenUp = Set(log.tombstones.map(\.offset))
    return try store.read { transaction in
      var differing: [(offset: UInt64, outcome: Outcome)] = []
      for (index, found) in log.hashes.enumerated() {
        let offset = log.skipped + UInt64(index) + 1
        guard offset <= last, let found,
          let known = try transaction.segmentHash(at: offset, of: log.zone, log.incarnation), known != found
        else { continue }
        differing.append((offset, givenUp.contains(offset) ? .givenUp : .replaced))
      }
      return differing
    }
  }

  /// Puts an entry back that is unreadable or missing, if the store has it.
  private mutating func repair(_ place: EntryPlace) async throws {
    guard let log = place.log else { return }
    do {
      let found = try store.read {
        try $0.segmentCopy(at: place.offset, of: log.zone, log.incarnation)
      }
      guard let found else {
        // Of the entries that were given up, only that of a deletion that was taken back is known.
        let passed = try LogTombstone(passingSealOf: log.incarnation, at: place.offset).encode()
        let hash = try store.read { try $0.segmentHash(at: place.offset, of: log.zone, log.incarnation) }
        guard hash == ContentHash(of: passed.span.bytes) else {
          return note(place, try hasRetired(place.offset, of: log) ? .retired : .notInStore)
        }
        return try await put(passed, at: place)
      }
      let packed = try SegmentPacker.pack(found.cut)
      if case .unreadable(_, let header?, _) = try await remote.amendments.state(of: place),
        !header.isSame(as: packed.header)
      {
        return note(place, .refused("its header can be read, and differs from that of the store's segment"))
      }
      if case .segment(let header)? = try await remote.amendments.damagedAmendment(of: place),
        !header.isSame(as: packed.header)
      {
        return note(place, .refused("something else was put back there before, and is damaged"))
      }
      let bytes = SegmentEnvelope.encode(
        offset: place.offset, receivedMilliseconds: found.receivedMilliseconds, chain: found.chain,
        segment: packed.bytes.span.bytes)
      try await put(bytes, at: place)
    } catch let error as StoreError {
      note(place, error.code == .retired ? .retired : .refused("\(error)"))
    } catch let error as FormatError {
      note(place, .refused("\(error)"))
    } catch let error as RemoteError where Self.entryCodes.contains(error.code) {
      note(place, .refused(error.message))
    }
  }

  private func hasRetired(_ offset: UInt64, of log: EntryPlace.Log) throws -> Bool {
    guard let origin = try store.origin(of: log.zone) else { return false }
    return origin.incarnation == log.incarnation && offset <= origin.offset
  }

  /// Errors that concern only one place.
  static let entryCodes: [RemoteError.Code] = [
    .damaged, .damagedSegment, .missingSegment, .newerFormat, .newerSegment, .denied,
  ]

  // MARK: Assets

  /// Makes manifests again that are damaged or missing, of assets whose chunks all exist. An asset's name is
  /// the hash of its bytes, so that needs no store.
  ///
  /// - Parameter audit: of the remote as it is now.
  package mutating func repairManifests(_ audit: RemoteAudit) async throws {
    for log in audit.logs where log.fate == nil {
      for reference in log.unsoundAssets {
        let asset = RemoteAsset(reference, of: log.zone, log.incarnation)
        do throws(RemoteError) {
          guard let manifest = try await manifest(of: asset),
            case .whole = try await remote.finishAsset(manifest, of: log.zone, log.incarnation)
          else { continue }
          manifests.append(.assetManifest(of: reference.hash, in: log.incarnation))
        } catch {
          // The next audit reports what cannot be repaired.
          guard error.code == .damagedAsset || Self.entryCodes.contains(error.code) else { throw error }
        }
      }
    }
  }

  /// The manifest of an asset, made from its chunks; nil unless they are the whole asset.
  private func manifest(of asset: RemoteAsset) async throws(RemoteError) -> AssetManifest? {
    var hashes: [ContentHash] = []
    var hasher = ContentHasher()
    for index in 0..<AssetManifest.chunkCount(of: asset.reference) {
      guard let chunk = try await remote.assetChunk(at: index, of: asset),
        chunk.count == AssetManifest.byteCount(ofChunk: index, of: asset.reference)
      else { return nil }
      hashes.append(ContentHash(of: chunk.span.bytes))
      hasher.update(chunk.span.bytes)
    }
    guard hasher.finish() == asset.reference.hash else { return nil }
    return AssetManifest(asset: asset.reference, chunks: hashes)
  }

  private mutating func put(_ bytes: [UInt8], at place: EntryPlace) async throws {
    do {
      try await putBack(bytes, at: place)
    } catch let error as RemoteError where Self.entryCodes.contains(error.code) {
      note(place, .refused(error.message))
    }
  }

  private mutating func putBack(_ bytes: [UInt8], at place: EntryPlace) async throws {
    let isOccupied: Bool
    switch try await remote.amendments.state(of: place) {
    case .unreadable: isOccupied = true
    case .hole, .end: isOccupied = false
    case .givenUp: return note(place, .givenUp)
    case .newer: return note(place, .refused("a newer version can read it"))
    case .readable: return note(place, .replaced)
    }
    if isOccupied, case .tombstone? = try await remote.amendments.damagedAmendment(of: place) {
      // Stores that have read the tombstone do not have the entry.
      return note(
        place, .refused("it was given up, and its tombstone is damaged: give it up again with --quarantine"))
    }
    let state = try await remote.amendments.putBack(bytes, at: place, isOccupied: isOccupied)
    switch (state, try await remote.amendments.has(bytes, at: place, isOccupied: isOccupied)) {
    case (_, true): note(place, .putBack)
    case (.givenUp, _): note(place, .givenUp)
    default: note(place, .replaced)
    }
  }
}

extension SegmentHeader {
  /// Whether both describe one segment, however it is packed.
  fileprivate func isSame(as other: SegmentHeader) -> Bool {
    var packed = other
    (packed.codec, packed.packedBytes) = (codec, packedBytes)
    return self == packed
  }
}

extension LogSeal.Kind {
  /// The seal of a log that an event ends; nil if the event ends none, or names another log.
  fileprivate init?(ending event: ZoneEvent.Kind) {
    switch event {
    case .deleted: self = .deleted
    case .purged: self = .purged
    case .reset: self = .reset
    default: return nil
    }
  }
}
