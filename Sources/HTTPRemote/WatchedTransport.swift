package import HTTPTypes
package import Replicator
internal import Synchronization

/// A transport whose requests are given up if they make no progress, and whose errors are those of remotes.
package struct WatchedTransport: Sendable {
  /// So many bytes of a request go in a second at least.
  private static let slowestBytes = 16 << 10

  /// What is called, for messages.
  package let name: String
  /// For how long an answer may make no progress.
  package let patience: Duration
  private let transport: any HTTPTransport
  package let clock: NetworkClock

  package init(_ transport: any HTTPTransport, name: String, patience: Duration, clock: NetworkClock) {
    (self.transport, self.name, self.patience, self.clock) = (transport, name, patience, clock)
  }

  /// Sends a request.
  ///
  /// - Parameter patience: for how long nothing may come after the request was sent.
  /// - Returns: the answer, once its head is there.
  /// - Throws: `RemoteError` `unreachable`, `cancelled`.
  package func send(
    _ request: HTTPRequest, body: [UInt8], patience: Duration? = nil
  ) async throws(RemoteError) -> HTTPAnswer {
    let sending = (patience ?? self.patience) + .seconds(body.count / Self.slowestBytes)
    return try await withProgress(sending) { [transport] _ in try await transport.send(request, body: body) }
  }

  /// Reads an answer's body.
  ///
  /// - Parameters:
  ///   - bytesMax: of a larger one, only so many bytes are read.
  ///   - isTooLarge: called instead if there are more.
  package func body(
    of answer: HTTPAnswer, bytesMax: Int, orElse isTooLarge: (@Sendable () -> RemoteError)? = nil
  ) async throws(RemoteError) -> [UInt8] {
    try await withProgress(patience) { progress in
      var body: [UInt8] = []
      for try await piece in answer.body {
        if !piece.isEmpty { progress() }
        if body.count + piece.count > bytesMax {
          if let isTooLarge { throw isTooLarge() }
          return body + piece.prefix(bytesMax - body.count)
        }
        body += piece
      }
      return body
    }
  }

  /// Does something, and gives it up after a while.
  package func withPatience<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws(RemoteError) -> Result {
    try await withProgress(patience) { _ in try await body() }
  }

  /// Waits.
  ///
  /// - Throws: `RemoteError` `cancelled`.
  package func sleep(_ duration: Duration) async throws(RemoteError) {
    do {
      try await clock.sleep(duration)
    } catch {
      throw cancelled(error)
    }
  }

  /// Does something, and gives it up if it makes no progress for a while.
  ///
  /// - Parameter body: is given what it calls as it makes progress.
  func withProgress<Result: Sendable>(
    _ patience: Duration,
    _ body: @escaping @Sendable (_ progress: @escaping @Sendable () -> Void) async throws -> Result
  ) async throws(RemoteError) -> Result {
    let last = LastProgress(clock)
    do {
      return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body { last.note() } }
        group.addTask {
          while true {
            let left = patience - last.idle
            if left <= .zero { return nil }
            try await clock.sleep(left)
          }
        }
        defer { group.cancelAll() }
        guard let result = try await group.next()! else { throw NoProgress() }
        return result
      }
    } catch let error as RemoteError {
      throw error
    } catch {
      if Task.isCancelled || error is CancellationError { throw cancelled(error) }
      let why = error is NoProgress ? "it gave no answer for \(patience)" : "\(error)"
      throw RemoteError(
        .unreachable, "\(name) cannot be reached: \(why)",
        hint: "check the network and the address; it is tried again by itself", underlying: error)
    }
  }

  private struct NoProgress: Error {}

  private final class LastProgress: Sendable {
    private let clock: NetworkClock
    private let time: Mutex<Int64>

    init(_ clock: NetworkClock) {
      self.clock = clock
      time = Mutex(clock.now())
    }

    /// For how long there was none.
    var idle: Duration { .nanoseconds(clock.now() - time.withLock { $0 }) }
    func note() { time.withLock { $0 = clock.now() } }
  }

  private func cancelled(_ error: any Error) -> RemoteError {
    RemoteError(
      .cancelled, "a call of \(name) was cancelled", hint: "repeat it: it finds what was done before",
      underlying: error)
  }
}
