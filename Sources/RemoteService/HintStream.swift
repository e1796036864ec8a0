internal import HTTPTypes
internal import OperationFormat
internal import Replicator
internal import Synchronization

/// Server-sent events that say what has changed: only hints. A client asks for the rest.
///
/// The events are `heads`, with a line `INCARNATION OFFSET` for each log; `zones`; and `anything`. A comment comes now and
/// then, so that a client knows that the stream is alive.
final class HintStream: Sendable {
  /// Between two events.
  private static let pause = Duration.milliseconds(200)
  /// After so long without an event a comment comes.
  private static let beat = Duration.seconds(20)

  private let bus: HintBus
  private let number: UInt64
  private let mailbox: HintMailbox
  private let clock: NetworkClock
  private let didEnd: @Sendable () -> Void
  private let last = Mutex(Last.nothing)

  /// - Parameter didEnd: called once nobody reads it any more.
  init(_ bus: HintBus, _ clock: NetworkClock, didEnd: @escaping @Sendable () -> Void) {
    (self.bus, self.clock, self.didEnd) = (bus, clock, didEnd)
    (number, mailbox) = bus.listen()
  }

  deinit {
    bus.end(number)
    didEnd()
  }

  /// The events. What changes while nobody reads comes as one.
  var bytes: AsyncStream<[UInt8]> {
    AsyncStream { [self] in
      await next()
    } onCancel: { [mailbox] in
      mailbox.close()
    }
  }

  /// What was said last.
  private enum Last {
    /// A comment shows at once whether what is between the two ends lets a stream through.
    case nothing
    case comment
    case event
    case end
  }

  private func next() async -> [UInt8]? {
    switch last.withLock({ $0 }) {
    case .nothing: return say(": hints\n\n", .comment)
    case .comment: break
    case .event: try? await clock.sleep(Self.pause)
    case .end: return nil
    }
    let timer = Task { [clock, mailbox] in
      try? await clock.sleep(Self.beat)
      if !Task.isCancelled { mailbox.wake() }
    }
    defer { timer.cancel() }
    guard let hints = await mailbox.next() else {
      // The server stops: its clients are not to come back all at one time.
      return say("retry: \(1000 + clock.makeRandom() % 29_000)\n\n", .end)
    }
    return hints.isEmpty ? say(":\n\n", .comment) : say(hints.map(Self.event).joined(), .event)
  }

  private func say(_ text: String, _ what: Last) -> [UInt8] {
    last.withLock { $0 = what }
    return Array(text.utf8)
  }

  private static func event(_ hint: RemoteHint) -> String {
    switch hint {
    case .zones: "event: zones\ndata:\n\n"
    case .anything: "event: anything\ndata:\n\n"
    case .logs(let logs):
      "event: heads\n" + logs.sorted { $0.key < $1.key }.map { "data: \($0.key) \($0.value)\n" }.joined()
        + "\n"
    }
  }
}
