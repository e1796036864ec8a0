internal import EventStore
internal import OperationFormat
internal import Synchronization

/// Objects in memory. Many replicators of one process may share them.
package final class MemoryObjects: ObjectStore {
  struct State {
    var objects: [ObjectName: [UInt8]] = [:] {
      didSet { offsets = nil }
    }
    /// The offsets of the entries of each log, and of the list of zones for nil, in order; nil if they are not known.
    private var offsets: [IncarnationID?: [UInt64]]?

    /// Puts an object, or removes it.
    mutating func set(_ name: ObjectName, to bytes: [UInt8]?) {
      var known = offsets.take()
      objects[name] = bytes
      if let offset = name.offset {
        known?[name.incarnation, default: []].setContains(offset, bytes != nil)
      }
      offsets = known
    }

    /// The offsets of a log's entries, read from the objects where they are not known.
    mutating func offsets(of log: IncarnationID?) -> [UInt64] {
      if let offsets { return offsets[log] ?? [] }
      let found = Dictionary(grouping: objects.keys.filter { $0.offset != nil }, by: \.incarnation)
        .mapValues { $0.compactMap(\.offset).sorted() }
      offsets = found
      return found[log] ?? []
    }
  }

  package let name: String
  let state = Mutex(State())
  private let feed = HintFeed()
  /// The place's clock, in milliseconds since 1970; nil if it has none.
  private let milliseconds: (@Sendable () -> UInt64)?

  package init(name: String = "memory", milliseconds: (@Sendable () -> UInt64)? = nil) {
    self.name = name
    self.milliseconds = milliseconds
  }

  package func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    guard let bytes = object(name) else { return nil }
    guard bytes.count <= bytesMax else { throw .tooLarge(name, UInt64(bytes.count), bytesMax) }
    return bytes
  }

  package func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    object(name).map { ObjectPrefix(bytes: Array($0.prefix(count)), totalBytes: UInt64($0.count)) }
  }

  package func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    let isPut = state.withLock { state in
      guard state.objects[name] == nil else { return false }
      state.set(name, to: bytes)
      return true
    }
    if isPut { feed.tell(put: name) }
    return isPut
  }

  package func putIfAbsent(
    _ name: ObjectName, timed bytes: @escaping @Sendable (UInt64?) -> [UInt8]?
  ) async throws(RemoteError) -> TimedPut {
    let time = milliseconds?()
    guard let bytes = bytes(time) else { return .declined(time) }
    return try await putIfAbsent(name, bytes) ? .put(time) : .exists
  }

  package func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    state.withLock { $0.set(name, to: bytes) }
    feed.tell(put: name)
  }

  /// Does nothing: an object in memory lasts as long as the others.
  package func makeLasting(_ name: ObjectName) async throws(RemoteError) {}

  package func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    guard let offset = name.offset else { return nil }
    let next = state.withLock { state in
      let offsets = state.offsets(of: name.incarnation)
      return offsets[offsets.prefixCount { $0 <= offset }...].first
    }
    return next.map { .entry($0, of: name.incarnation) }
  }

  package func list() async throws(RemoteError) -> [ObjectEntry] {
    let sizes = state.withLock { $0.objects.mapValues(\.count) }
    return sizes.map { ObjectEntry(path: $0.key.description, bytes: UInt64($0.value)) }
      .sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  package func delete(_ name: ObjectName) async throws(RemoteError) {
    state.withLock { $0.set(name, to: nil) }
  }

  package func removeAssets(of incarnation: IncarnationID) async throws(RemoteError) {
    state.withLock { state in
      state.objects = state.objects.filter { !($0.key.incarnation == incarnation && $0.key.goesWithZone) }
    }
  }

  package func changes() -> AsyncStream<RemoteHint> { feed.listen() }

  /// Replaces an object, or removes it.
  func replace(_ name: ObjectName, with bytes: [UInt8]?) {
    state.withLock { $0.set(name, to: bytes) }
  }

  /// The last offset of logs, and of the list of zones.
  func ends(of logs: [IncarnationID]) -> (list: UInt64, logs: [(incarnation: IncarnationID, offset: UInt64)])
  {
    state.withLock { state in
      let list = state.offsets(of: nil).last ?? 0
      return (list, logs.compactMap { log in state.offsets(of: log).last.map { (log, $0) } })
    }
  }

  /// Whether an object closes a log.
  func isSeal(_ name: ObjectName) -> Bool {
    object(name).map { FrameKind(of: $0.span.bytes) == .seal } ?? false
  }

  private func object(_ name: ObjectName) -> [UInt8]? { state.withLock { $0.objects[name] } }
}

extension [UInt64] {
  /// Adds a number to an array in order, or removes it.
  fileprivate mutating func setContains(_ number: UInt64, _ contains: Bool) {
    let index = prefixCount { $0 < number }
    let isThere = index < count && self[index] == number
    if contains, !isThere { insert(number, at: index) }
    if !contains, isThere { remove(at: index) }
  }
}
