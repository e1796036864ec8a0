internal import Synchronization

/// The number of calls of each kind that a remote made to its folder or memory: the cost of a round there.
public struct RemoteCalls: Hashable, Sendable {
  /// Objects read whole.
  public var gets = 0
  /// Objects whose beginning was read.
  public var prefixGets = 0
  /// Puts, also of objects that existed.
  public var puts = 0
  public var lists = 0
  public var deletes = 0

  public init() {}

  public var total: Int { gets + prefixGets + puts + lists + deletes }
}

/// Counts a remote's calls.
public final class RemoteCallCounter: Sendable {
  private let state = Mutex(RemoteCalls())

  public init() {}

  /// The calls so far, failed ones too.
  public var calls: RemoteCalls { state.withLock { $0 } }

  /// Begins at zero again.
  public func reset() { state.withLock { $0 = RemoteCalls() } }

  func add(_ kind: WritableKeyPath<RemoteCalls, Int>) { state.withLock { $0[keyPath: kind] += 1 } }
}

/// An object store whose calls are counted.
struct CountingObjects: ObjectStore {
  let objects: any ObjectStore
  let counter: RemoteCallCounter

  var name: String { objects.name }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    counter.add(\.gets)
    return try await objects.get(name, bytesMax: bytesMax)
  }

  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    counter.add(\.prefixGets)
    return try await objects.getPrefix(name, count)
  }

  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    counter.add(\.puts)
    return try await objects.putIfAbsent(name, bytes)
  }

  func makeLasting(_ name: ObjectName) async throws(RemoteError) { try await objects.makeLasting(name) }

  func list() async throws(RemoteError) -> [ObjectEntry] {
    counter.add(\.lists)
    return try await objects.list()
  }

  func delete(_ name: ObjectName) async throws(RemoteError) {
    counter.add(\.deletes)
    try await objects.delete(name)
  }

  func changes() -> AsyncStream<Void> { objects.changes() }
}
