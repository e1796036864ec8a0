internal import HTTPTypes
internal import RemoteWire
internal import Replicator
internal import Synchronization

/// Sends calls to a server, and reads its answers.
final class HTTPExchange: Sendable {
  /// The version of the protocol.
  private static let version = "1"
  /// An error's message and hint have no more bytes.
  private static let errorBytesMax = 1 << 16
  /// The longest that a call waits, in all, for a server that wants it later.
  private static let waitMax = Duration.seconds(30)

  let address: HTTPAddress
  private let secret: String?
  private let device: String?
  let transport: WatchedTransport
  var clock: NetworkClock { transport.clock }
  /// Whether the server has said since the last announcement that others look for it.
  let wantsAnnouncement = Mutex(false)

  init(_ address: HTTPAddress, secret: String?, device: String?, _ transport: WatchedTransport) {
    (self.address, self.secret, self.device, self.transport) = (address, secret, device, transport)
  }

  /// Makes a call.
  func call<Verb: RemoteVerb>(_ verb: Verb, waiting wait: Duration = .zero) async throws(RemoteError)
    -> Verb.Answer
  {
    let response = try await sendWhenTaken(
      verb.request, answerBytesMax: verb.answerBytesMax, patience: transport.patience + wait)
    if response.fields[.announce] != nil { wantsAnnouncement.withLock { $0 = true } }
    do throws(WireProblem) {
      return try verb.answer(response)
    } catch {
      throw .badAnswer(error, from: address.text)
    }
  }

  /// Throws unless a server of the same protocol is there, which knows the caller.
  func checkServer() async throws(RemoteError) {
    _ = try await sendWhenTaken(
      Route.service.request(), answerBytesMax: 1 << 16, patience: transport.patience)
  }

  /// Opens a stream.
  func open(_ request: WireRequest) async throws(RemoteError) -> HTTPAnswer {
    let answer = try await transport.send(head(request), body: request.body)
    guard answer.head.status.kind == .successful, answer.head.headerFields[.version] == Self.version else {
      throw try await RemoteError(read(answer, Self.errorBytesMax), from: address.text)
    }
    return answer
  }

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
        try await transport.sleep(wait)
      }
    }
  }

  private func send(
    _ request: WireRequest, answerBytesMax: Int, patience: Duration
  ) async throws(RemoteError) -> WireResponse {
    let answer = try await transport.send(head(request), body: request.body, patience: patience)
    let isSuccess = answer.head.status.kind == .successful
    let response = try await read(
      answer, isSuccess ? answerBytesMax : max(answerBytesMax, Self.errorBytesMax))
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

  private func read(_ answer: HTTPAnswer, _ bytesMax: Int) async throws(RemoteError) -> WireResponse {
    let body = try await transport.body(of: answer, bytesMax: bytesMax) { [address] in
      .badAnswer(.malformed("it has more than \(bytesMax) bytes"), from: address.text)
    }
    return WireResponse(answer.head.status, answer.head.headerFields, body: body)
  }
}
