public import EventStore

/// A remote in memory, for tests and previews. Any number of replicators of the process may share it.
///
/// It is not a mock: it keeps its log by the same algorithm as a folder.
public struct MemoryRemote: RemoteLog, LogOfObjects {
  package let log: ObjectRemote
  package let objects: MemoryObjects

  /// Makes an empty remote.
  ///
  /// - Parameters:
  ///   - identity: which remote it is.
  ///   - name: its name in messages.
  ///   - counter: counts the calls.
  ///   - receivedMilliseconds: the remote's clock, in milliseconds since 1970; nil to keep no receive times.
  public init(
    identity: RemoteID, name: String = "memory", counter: RemoteCallCounter? = nil,
    receivedMilliseconds: (@Sendable () -> UInt64)? = nil
  ) {
    objects = MemoryObjects(name: name)
    objects.replace(.marker, with: RemoteMarker(remote: identity).bytes)
    log = ObjectRemote(
      objects, counter: counter, hasHints: false,
      clock: receivedMilliseconds.map { .keeper($0) } ?? .none)
  }

  /// The same remote as another process would see it: without this one's cached list of zones.
  public func reopened() -> MemoryRemote { MemoryRemote(self) }

  private init(_ other: MemoryRemote) {
    objects = other.objects
    log = ObjectRemote(objects, hasHints: false, clock: other.log.clock)
  }

  /// The heads as they are: this remote is never late.
  public func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    let ends = objects.ends(of: tokens.map(\.incarnation))
    let heads = ends.logs.map { log in
      ZoneHead(
        log.incarnation, offset: log.offset, isClosed: objects.isSeal(.entry(of: log.incarnation, log.offset))
      )
    }
    let isSame = try await log.zones.identity() == list.remote
    return RemoteHeads(zones: heads, isListUnchanged: isSame && ends.list == list.offset)
  }
}
