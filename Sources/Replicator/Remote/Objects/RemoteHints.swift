internal import EventStore
internal import OperationFormat
internal import Synchronization

/// What this process knows about the ends of logs without asking for each: what it has seen itself, and what
/// other writers say in the ``HintObject``.
///
/// What it has seen counts as long as the object continues: then every later change is in it, unless its
/// writer was killed, is of an older version, or lost a race with another. Where the object does not continue,
/// nothing is known, and all logs are asked for.
final class RemoteHints: Sendable {
  /// The most logs whose ends are kept.
  private static let endsMax = 1 << 16

  fileprivate struct State {
    /// The write of the object after which all that changes is in the object; nil if it was not read.
    var stamp: HintObject.Stamp?
    var remote: RemoteID?
    /// Ends of logs that were seen since.
    var ends: [IncarnationID: UInt64] = [:]
    /// The end of the list of zones; nil if it was not seen since.
    var listOffset: UInt64?
    /// What this process has appended, and has not written into the object.
    var own: [IncarnationID: UInt64] = [:]
    var ownListOffset: UInt64 = 0
    /// Logs that have something of this process which it may not have written into the object: the answer to its put was
    /// lost. Where they end is not known yet.
    var found: Set<IncarnationID> = []
    /// What its last write had. The next look shows whether another writer has overwritten it.
    var written: [IncarnationID: UInt64] = [:]
    /// Whether it was overwritten, so that it is to be written again.
    var isOverwritten = false
  }

  private let objects: any ObjectStore
  private let makeRandom: @Sendable () -> UInt64
  private let isReadOnly: Bool
  /// Reads which remote it is.
  typealias Identity = @Sendable () async throws(RemoteError) -> RemoteID
  fileprivate let state = Mutex(State())

  init(_ objects: any ObjectStore, isReadOnly: Bool, makeRandom: @escaping @Sendable () -> UInt64) {
    self.objects = objects
    self.isReadOnly = isReadOnly
    self.makeRandom = makeRandom
  }

  // MARK: What this process sees and does

  /// A log was read to its end.
  func didSee(_ incarnation: IncarnationID, end offset: UInt64) {
    state.withLock { state in
      state.note(incarnation, offset, max: Self.endsMax)
      if state.found.remove(incarnation) != nil { state.announce(incarnation, offset) }
    }
  }

  /// A log has an entry of this process already, which was to be put.
  func didFindOwn(_ incarnation: IncarnationID) {
    state.withLock { if $0.found.count < HintObject.logsMax { $0.found.insert(incarnation) } }
  }

  /// An entry was put at the end of a log, or is the seal there.
  func didPut(_ incarnation: IncarnationID, at offset: UInt64) {
    state.withLock { state in
      state.note(incarnation, offset, max: Self.endsMax)
      state.announce(incarnation, offset)
    }
  }

  /// The list of zones of a remote was read to its end, and each event could be read.
  func didSeeList(of remote: RemoteID, end offset: UInt64) {
    state.withLock { state in
      if state.remote == remote { state.listOffset = offset }
    }
  }

  /// The list of zones was not read to its end, or has to be read again.
  func forgetList() { state.withLock { $0.listOffset = nil } }

  /// An event was put at the end of the list of zones, or what was to be put is before that end.
  func didPutEvent(at offset: UInt64) {
    state.withLock { $0.ownListOffset = max($0.ownListOffset, offset) }
  }

  // MARK: Looking

  /// Reads the object before anything else is, so that what is seen from then on counts. Does nothing if it
  /// was read before.
  func begin() async {
    if state.withLock({ $0.stamp == nil }) { _ = await look() }
  }

  /// What is known of logs and of the list of zones; nil if the object cannot be read.
  ///
  /// It costs one read. What another writer has overwritten is written again.
  func heads(
    of tokens: [ChangeToken], list: DatabaseToken, _ identity: Identity
  ) async -> RemoteHeads? {
    var found = await look()
    // Without an object, nobody could tell the end of anything.
    if found == nil || state.withLock({ $0.isOverwritten }) { found = await write(over: found, identity) }
    guard let found, found.remote == list.remote else { return nil }
    return state.withLock { state in
      var heads = RemoteHeads(zones: [])
      for token in tokens {
        if let end = state.ends[token.incarnation] {
          heads.zones.append(ZoneHead(token.incarnation, offset: end))
        }
      }
      heads.isListUnchanged = state.listOffset == list.offset && found.listOffset <= list.offset
      return heads
    }
  }

  /// Writes what this process has appended, and has not written yet.
  func announce(_ identity: Identity) async {
    guard state.withLock({ !$0.own.isEmpty || $0.ownListOffset > 0 }) else { return }
    _ = await write(over: await look(), identity)
  }

  /// Reads the object, and takes over what it says; nil if there is none, or it cannot be read.
  private func look() async -> HintObject? {
    var found: HintObject?
    do throws(RemoteError) {
      if let bytes = try await objects.get(.hint, bytesMax: HintObject.bytesMax) {
        found = Self.decode(bytes)
      }
    } catch {
      // The next call of the remote meets what is wrong with it.
    }
    let object = found
    state.withLock { $0.take(object, max: Self.endsMax) }
    return object
  }

  /// Nil for an object that is damaged or newer: it is overwritten.
  private static func decode(_ bytes: [UInt8]) -> HintObject? {
    do throws(FormatError) { return try HintObject(decoding: bytes.span.bytes) } catch { return nil }
  }

  /// Writes the object with what this process has appended. What others write at the same time is lost, and
  /// they write it again.
  ///
  /// - Returns: what was written; `before` if it could not be.
  private func write(over before: HintObject?, _ identity: Identity) async -> HintObject? {
    guard !isReadOnly else { return before }
    var object: HintObject
    let own: [IncarnationID: UInt64]
    do throws(RemoteError) {
      let remote = try await identity()
      // That of another remote was copied here.
      object = before.flatMap { $0.remote == remote ? $0 : nil } ?? HintObject(of: remote)
      let stamp = HintObject.Stamp.random(makeRandom)
      let listOffset: UInt64
      (own, listOffset) = state.withLock { ($0.own, $0.ownListOffset) }
      let logs = own.map { HintObject.Log(incarnation: $0.key, offset: $0.value) }
      object.add(logs.sorted { $0.incarnation < $1.incarnation }, listOffset: listOffset, stamp)
      try await objects.overwrite(.hint, object.bytes)
    } catch {
      // The next look finds that it is missing, or another client asks for all logs a while later.
      return before
    }
    let written = object
    state.withLock { state in
      state.take(written, max: Self.endsMax)
      state.written = own
      state.own = state.own.filter { own[$0.key] != $0.value }
      state.isOverwritten = false
    }
    return written
  }
}

extension RemoteHints.State {
  fileprivate mutating func note(_ incarnation: IncarnationID, _ offset: UInt64, max most: Int) {
    // What is seen before the object was read may have changed before that too.
    guard stamp != nil else { return }
    if ends.count >= most { ends = [:] }
    ends[incarnation] = Swift.max(ends[incarnation] ?? 0, offset)
  }

  fileprivate mutating func announce(_ incarnation: IncarnationID, _ offset: UInt64) {
    // More have no room in the object, and then it says only that much has changed.
    guard own.count <= HintObject.logsMax || own[incarnation] != nil else { return }
    own[incarnation] = Swift.max(own[incarnation] ?? 0, offset)
  }

  /// Takes over an object. If it does not continue what was known, nothing is known any more.
  fileprivate mutating func take(_ object: HintObject?, max most: Int) {
    let news = stamp.flatMap { object?.logs(since: $0) }
    if news == nil || object?.remote != remote {
      (ends, listOffset) = ([:], nil)
      if !written.isEmpty, object?.remote == remote {
        own.merge(written) { Swift.max($0, $1) }
        isOverwritten = true
      }
    }
    written = [:]
    (stamp, remote) = (object?.stamp, object?.remote)
    guard let object else { return }
    for log in news ?? [] { note(log.incarnation, log.offset, max: most) }
    if ownListOffset <= object.listOffset { ownListOffset = 0 }
  }
}
