internal import HTTPTypes
internal import OperationFormat
internal import RemoteWire
internal import Replicator

/// Listens to a server's hints.
///
/// They come as server-sent events. A proxy may keep these back, and nothing closes: so a stream that says nothing for a
/// while is opened again, and after a few such the server is asked in requests that it answers late.
struct HintListener: Sendable {
  /// Without a byte for so long a stream is mute: the server says something every 20 s.
  private static let mute = Duration.seconds(45)
  /// After so many mute streams requests take their place, for a while.
  private static let muteMax = 2
  private static let polling = Duration.seconds(600)
  /// Hints that may wait for the replicator. If more come, anything may have changed.
  private static let waitingMax = 16

  private let exchange: HTTPExchange
  /// What the replicator asked for last.
  private let asked: @Sendable () -> ReadHeads?

  init(_ exchange: HTTPExchange, asked: @escaping @Sendable () -> ReadHeads?) {
    (self.exchange, self.asked) = (exchange, asked)
  }

  func hints() -> AsyncStream<RemoteHint> {
    AsyncStream(bufferingPolicy: .bufferingNewest(Self.waitingMax)) { continuation in
      let task = Task {
        await run(continuation)
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func run(_ continuation: AsyncStream<RemoteHint>.Continuation) async {
    var (failures, muteStreams) = (0, 0)
    var isFirst = true
    while !Task.isCancelled {
      // What came while nobody listened.
      if !isFirst { continuation.tell(.logs([:])) }
      isFirst = false
      let end = await follow(continuation)
      guard !Task.isCancelled, end.isWorthRepeating else { return }
      failures = end.hasSaidSomething ? 0 : failures + 1
      muteStreams = end.isMute ? muteStreams + 1 : 0
      if muteStreams > Self.muteMax {
        await poll(continuation)
        (failures, muteStreams) = (0, 0)
      } else if let wait = end.retry {
        // Not at once, whatever the server says.
        try? await exchange.clock.sleep(exchange.clock.spread(max(wait, .milliseconds(500))))
      } else {
        // At random: all clients lose a server at one time.
        try? await exchange.clock.sleep(
          exchange.clock.spread(.milliseconds(min(40_000, 500 << min(failures, 7)))))
      }
    }
  }

  /// How a stream ended.
  private struct End {
    var hasSaidSomething = false
    /// Nothing came, and nothing closed it.
    var isMute = false
    /// When the server wants to be asked again.
    var retry: Duration?
    /// Whether another stream may work.
    var isWorthRepeating = true
  }

  private func follow(_ continuation: AsyncStream<RemoteHint>.Continuation) async -> End {
    var end = End()
    do throws(RemoteError) {
      let answer = try await exchange.open(Route.events.request())
      let found = try await exchange.transport.withProgress(Self.mute) { progress in
        var (parser, found) = (EventParser(), End())
        for try await piece in answer.body {
          progress()
          found.hasSaidSomething = true
          for event in try parser.take(piece) {
            if let retry = event.retry { found.retry = retry }
            if let hint = event.hint { continuation.tell(hint) }
          }
        }
        return found
      }
      return found
    } catch {
      end.isMute = error.code == .unreachable
      end.isWorthRepeating = ![.unsupported, .notARemote, .newerFormat, .unauthenticated, .denied].contains(
        error.code)
      end.retry = error.retryAfterMilliseconds.map { .milliseconds($0) }
      return end
    }
  }

  /// Asks the server again and again, for a while: it answers once something has changed.
  private func poll(_ continuation: AsyncStream<RemoteHint>.Continuation) async {
    let end = exchange.clock.now() + Self.polling.nanoseconds
    while !Task.isCancelled, exchange.clock.now() < end {
      var news = false
      if var call = asked() {
        call.waitSeconds = ReadLog.waitSecondsMax
        let heads = try? await exchange.call(call, waiting: .seconds(Int64(call.waitSeconds)))
        news = heads.flatMap { $0 }.map(call.hasNews) ?? false
      }
      if news { continuation.tell(.logs([:])) }
      // The replicator asks for what is new, and then the tokens are others.
      try? await exchange.clock.sleep(.seconds(news ? 2 : 5))
    }
  }
}

/// Takes server-sent events apart (WHATWG HTML, 9.2).
struct EventParser: Sendable {
  struct Event: Sendable {
    var hint: RemoteHint?
    var retry: Duration?
  }

  /// No event of a server has more.
  private static let eventBytesMax = 1 << 20

  private var line: [UInt8] = []
  private var name = ""
  private var data: [String] = []
  private var byteCount = 0
  private var wasReturn = false

  /// Takes the next bytes.
  ///
  /// - Returns: the events that end in them.
  /// - Throws: `RemoteError` if an event is too large.
  mutating func take(_ bytes: [UInt8]) throws(RemoteError) -> [Event] {
    var events: [Event] = []
    for byte in bytes {
      byteCount += 1
      guard byteCount <= Self.eventBytesMax else {
        throw RemoteError(
          .unreachable, "an event of the server has more than \(Self.eventBytesMax) bytes",
          hint: "it is tried again")
      }
      switch byte {
      case UInt8(ascii: "\n") where wasReturn: break
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): endLine(&events)
      default: line.append(byte)
      }
      wasReturn = byte == UInt8(ascii: "\r")
    }
    return events
  }

  private mutating func endLine(_ events: inout [Event]) {
    defer { line.removeAll(keepingCapacity: true) }
    guard !line.isEmpty else {
      if let hint = hint() { events.append(Event(hint: hint)) }
      (name, data, byteCount) = ("", [], 0)
      return
    }
    let text = String(decoding: line, as: UTF8.self)
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    var value = parts.count > 1 ? parts[1] : ""
    if value.hasPrefix(" ") { value.removeFirst() }
    switch parts[0] {
    case "event": name = String(value)
    case "data": data.append(String(value))
    case "retry":
      if let milliseconds = Int(value) {
        events.append(Event(retry: .milliseconds(min(max(0, milliseconds), 600_000))))
      }
    default: break
    }
  }

  private func hint() -> RemoteHint? {
    switch name {
    case "zones": return .zones
    case "anything": return .anything
    case "heads":
      var logs: [IncarnationID: UInt64] = [:]
      for line in data {
        let parts = line.split(separator: " ")
        guard parts.count == 2, let log = IncarnationID(String(parts[0])), let offset = UInt64(parts[1])
        else {
          continue
        }
        logs[log] = offset
      }
      return .logs(logs)
    // A later version may say more.
    case "": return nil
    default: return .anything
    }
  }
}
