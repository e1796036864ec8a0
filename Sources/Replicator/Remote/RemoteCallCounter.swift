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
  /// Lists of a log's entries from one on.
  public var entryLists = 0
  public var deletes = 0

  public init() {}

  public var total: Int { gets + prefixGets + puts + lists + entryLists + deletes }
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
