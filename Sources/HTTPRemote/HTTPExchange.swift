internal import HTTPTypes
internal import OperationFormat
internal import RemoteWire
internal import Replicator
internal import Synchronization

/// Sends calls to a server, and reads its answers.
final class HTTPExchange: Sendable {
  /// The version of the protocol.
  private static let version = "1"
  /// An error's message and hint have no more bytes.
  private static let errorBytesMax = 1 << 16
  /// So many bytes of a request go in a second at least.
  private static let slowestBytes = 16 << 10

  let address: HTTPAddress
  private let secret: String?
  private let device: String?
  let patience: Duration
  private let transport: any HTTPTransport
  let clock: NetworkClock
  /// Whether the server has said since the last announcement that others look for it.
  let wantsAnnouncement = Mutex(false)

  init(
    _ address: HTTPAddress, secret: String?, device: String?, patience: Duration,
    transport: any HTTPTransport,
    clock: NetworkClock
  ) {
    (self.address, self.secret, self.device) = (address, secret, device)
    (self.patience, self.transport, self.clock) = (patience, transport, clock)
  }

  /// Makes a call.
  func call<Verb: RemoteVerb>(_ verb: Verb, waiting wait: Duration = .zero) async throws(RemoteError)
    -> Verb.Answer
  {
    let response = try await sendWhenTaken(
      verb.request, answerBytesMax: verb.answerBytesMax, patience: patience + wait)
    if response.fields[.announce] != nil { wantsAnnouncement.withLock { $0 = true } }
    do throws(WireProblem) {
      return try verb.answer(response)
    } catch {
      throw .badAnswer(error, from: address.text)
    }
  }

  /// Throws unless a server of the same protocol is there, which knows the caller.
  func checkServer() async throws(RemoteError) {
    _ = try await sendWhenTaken(Route.service.request(), answerBytesMax: 1 << 16, patience: patience)
  }

  /// Opens a stream.
  func open(_ request: WireRequest) async throws(RemoteError) -> HTTPAnswer {
    let answer = try await withPatience(patience) { [self] in
      try await transport.send(head(request), body: request.body)
    }
    guard answer.head.status.kind == .successful, answer.head.headerFields[.version] == Self.version else {
      throw try await RemoteError(read(answer, Self.errorBytesMax, patience), from: address.text)
    }
    return answer
  }

  /// The longest that a call waits, in all, for a server that wants it later.
  private static let waitMax = Duration.seconds(30)

  /// Sends a request, and again if the server has refused it for a short time: it has done nothing then.
  private func sendWhenTaken(
    _ request: WireRequest, answerBytesMax: Int, patience: Duration
  ) async throws(RemoteError) -> WireResponse {
    var left = Self.waitMax
    while true {
      do throws(RemoteError) {
        return try await send(request, answerBytesMax: answerBytesMax, patience: patience)
      } catch {
        guard error.code == .later, error.offset == nil, let milliseconds = error.retryAfterMilliseconds
        else {
          throw error
        }
        let wait = clock.spread(.milliseconds(max(milliseconds, 100)))
        guard wait <= left else { throw error }
        left -= wait
        do {
          try await clock.sleep(wait)
        } catch {
          throw cancelled(error)
        }
      }
    }
  }

  private func send(
    _ request: WireRequest, answerBytesMax: Int, patience: Duration
  ) async throws(RemoteError) -> WireResponse {
    let head = head(request)
    let sending = patience + .seconds(request.body.count / Self.slowestBytes)
    let answer = try await withPatience(sending) { [self] in
      try await transport.send(head, body: request.body)
    }
    let isSuccess = answer.head.status.kind == .successful
    let response = try await read(
      answer, isSuccess ? answerBytesMax : max(answerBytesMax, Self.errorBytesMax), patience)
    guard response.isAnswer else { throw RemoteError(response, from: address.text) }
    guard let version = response.fields[.version] else {
      throw RemoteError(
        .notARemote, "something else than a server of Tributary answers at \(address.text)",
        hint: "check the address")
    }
    guard version == Self.version else {
      throw RemoteError(
        .newerFormat, "the server at \(address.text) speaks version \(version.prefix(20)) of the protocol",
        hint: "use a newer version of the program")
    }
    return response
  }

  private func head(_ request: WireRequest) -> HTTPRequest {
    var head = HTTPRequest(
      method: request.method, scheme: address.scheme, authority: address.authority,
      path: address.path + request.target, headerFields: request.fields)
    if let secret { head.headerFields[.authorization] = "Bearer \(secret)" }
    if let device { head.headerFields[.device] = device }
    return head
  }

  private func read(
    _ answer: HTTPAnswer, _ bytesMax: Int, _ patience: Duration
  ) async throws(RemoteError) -> WireResponse {
    // No piece for so long: the answer is cut short.
    let body = try await withProgress(patience) { [self] progress in
      var body: [UInt8] = []
      for try await piece in answer.body {
        progress()
        guard body.count + piece.count <= bytesMax else {
          throw RemoteError.badAnswer(
            .malformed("it has more than \(bytesMax) bytes"), from: address.text)
        }
        body += piece
      }
      return body
    }
    return WireResponse(answer.head.status, answer.head.headerFields, body: body)
  }
}

// MARK: Patience

extension HTTPExchange {
  /// Does something, and gives it up after a while.
  func withPatience<Result: Sendable>(
    _ patience: Duration, _ body: @escaping @Sendable () async throws -> Result
  ) async throws(RemoteError) -> Result {
    try await withProgress(patience) { _ in try await body() }
  }

  /// Does something, and gives it up if it makes no progress for a while.
  ///
  /// - Parameter body: is given what it calls as it makes progress.
  func withProgress<Result: Sendable>(
    _ patience: Duration,
    _ body: @escaping @Sendable (_ progress: @escaping @Sendable () -> Void) async throws -> Result
  ) async throws(RemoteError) -> Result {
    let last = LastProgress(clock)
    return try await translating {
      try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body { last.note() } }
        group.addTask {
          while true {
            let left = patience - last.idle
            if left <= .zero { return nil }
            try await self.clock.sleep(left)
          }
        }
        defer { group.cancelAll() }
        guard let result = try await group.next()! else { throw NoProgress() }
        return result
      }
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
      .cancelled, "a call of \(address.text) was cancelled",
      hint: "repeat it: it finds what was done before", underlying: error)
  }

  private func translating<Result: Sendable>(
    _ body: () async throws -> Result
  ) async throws(RemoteError) -> Result {
    do {
      return try await body()
    } catch let error as RemoteError {
      throw error
    } catch {
      if Task.isCancelled || error is CancellationError {
        throw cancelled(error)
      }
      let why = error is NoProgress ? "it gave no answer for \(patience)" : "\(error)"
      throw RemoteError(
        .unreachable, "\(address.text) cannot be reached: \(why)",
        hint: "check the network and the address; it is tried again by itself", underlying: error)
    }
  }
}
