internal import HTTPTypes
internal import OperationFormat
internal import Replicator

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
    let pieces = Pieces()
    return AsyncStream { [self] in
      await next(pieces)
    } onCancel: { [mailbox] in
      mailbox.close()
    }
  }

  /// Where a stream is.
  private final class Pieces: @unchecked Sendable {
    var hasBegun = false
    var hasEnded = false
    var isAfterEvent = false
  }

  private func next(_ pieces: Pieces) async -> [UInt8]? {
    if !pieces.hasBegun {
      // Whatever is between the two ends shows that it lets a stream through.
      pieces.hasBegun = true
      return Array(": hints\n\n".utf8)
    }
    if pieces.hasEnded { return nil }
    if pieces.isAfterEvent { try? await clock.sleep(Self.pause) }
    let timer = Task { [clock, mailbox] in
      try? await clock.sleep(Self.beat)
      if !Task.isCancelled { mailbox.wake() }
    }
    defer { timer.cancel() }
    guard let hints = await mailbox.next() else {
      // The server stops: its clients are not to come back all at one time.
      pieces.hasEnded = true
      return Array("retry: \(1000 + clock.makeRandom() % 29_000)\n\n".utf8)
    }
    pieces.isAfterEvent = !hints.isEmpty
    if hints.isEmpty { return Array(":\n\n".utf8) }
    return Array(hints.map(Self.event).joined().utf8)
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
