internal import EventStore
internal import Synchronization

/// Gives hints to all who listen.
public final class HintFeed: Sendable {
  private struct State {
    var listeners: [UInt64: AsyncStream<RemoteHint>.Continuation] = [:]
    var next: UInt64 = 0
    var isFinished = false
  }

  /// Hints that may wait for a listener. If more come, anything may have changed.
  private static let waitingMax = 16

  private let state = Mutex(State())

  public init() {}

  /// Begins to listen.
  public func listen() -> AsyncStream<RemoteHint> { listen { _ in } }

  /// Begins to listen.
  ///
  /// - Parameter begin: called with the listener, for a source of hints of its own.
  func listen(_ begin: (AsyncStream<RemoteHint>.Continuation) -> Void) -> AsyncStream<RemoteHint> {
    AsyncStream(bufferingPolicy: .bufferingNewest(Self.waitingMax)) { continuation in
      let number = state.withLock { state in
        state.next += 1
        state.listeners[state.next] = continuation
        return state.next
      }
      // A source that begins sets another handler. The next hint finds out then.
      continuation.onTermination = { [self] _ in state.withLock { $0.listeners[number] = nil } }
      begin(continuation)
      if state.withLock({ $0.isFinished }) { continuation.finish() }
    }
  }

  /// Ends the streams of all who listen, and of all who begin to.
  public func finish() {
    let listeners = state.withLock { state in
      state.isFinished = true
      return state.listeners.values.map { $0 }
    }
    for listener in listeners { listener.finish() }
  }

  /// Says that an object was put.
  func tell(put name: ObjectName) {
    if let hint = RemoteHint(put: name) { tell(hint) }
  }

  /// Gives a hint.
  public func tell(_ hint: RemoteHint) {
    // In the order in which they came: the first to wake may decide what is shipped first. Outside the lock: a
    // task that is being cancelled holds its own while it takes this one.
    let listeners = state.withLock { $0.listeners.sorted { $0.key < $1.key } }
    let gone = listeners.filter { !$0.value.tell(hint) }.map(\.key)
    guard !gone.isEmpty else { return }
    state.withLock { state in
      for number in gone { state.listeners[number] = nil }
    }
  }
}

extension AsyncStream<RemoteHint>.Continuation {
  /// Gives a hint. If one is lost because too many wait, anything may have changed.
  ///
  /// - Returns: whether anybody still listens.
  @discardableResult
  package func tell(_ hint: RemoteHint) -> Bool {
    switch yield(hint) {
    case .terminated: return false
    case .dropped: yield(.anything)
    default: break
    }
    return true
  }
}

extension RemoteHint {
  /// What the put of an object changes; nil for a part of an asset or of a snapshot.
  init?(put name: ObjectName) {
    if name.isBesideLog { return nil }
    switch (name.incarnation, name.offset) {
    case (let log?, let offset?): self = .logs([log: offset])
    case (nil, _?): self = .zones
    // An amendment, or what others say about the ends of logs.
    default: self = .logs([:])
    }
  }
}
