package import HTTPRemote
package import HTTPTypes
package import RemoteService
package import Replicator
internal import Synchronization

/// Carries requests to a service in the same process, as a network would that does what a test tells it.
package final class ServiceTransport: HTTPTransport {
  /// What a network does to a request.
  package enum Fault: Sendable {
    /// The server does not get it.
    case lost
    /// The server does it, and the answer does not come.
    case answerLost
    /// The answer's body ends early.
    case cutShort
    /// Nothing comes, and nothing closes.
    case hangs
  }

  private struct NetworkError: Error, CustomStringConvertible {
    var description: String
  }

  /// The path before that of the server, which a proxy takes away.
  package static let prefix = "/sync"

  package let service: RemoteService
  private let fault: @Sendable (HTTPRequest) -> Fault?
  private let requests = Mutex<[String]>([])

  package init(_ service: RemoteService, fault: @escaping @Sendable (HTTPRequest) -> Fault? = { _ in nil }) {
    (self.service, self.fault) = (service, fault)
  }

  /// The requests so far, as a method and a path without its query.
  package var sent: [String] { requests.withLock { $0 } }
  package func forget() { requests.withLock { $0 = [] } }

  package func send(_ request: HTTPRequest, body: [UInt8]) async throws -> HTTPAnswer {
    var head = request
    head.path = request.path.flatMap {
      $0.hasPrefix(Self.prefix) ? String($0.dropFirst(Self.prefix.count)) : nil
    }
    requests.withLock { $0.append("\(head.method) \((head.path ?? "").prefix { $0 != "?" })") }
    let fault = fault(head)
    switch fault {
    case .lost: throw NetworkError(description: "the connection was refused")
    case .hangs:
      try await NetworkClock.still.sleep(.zero)
    default: break
    }
    let response = await service.handle(ServiceRequest(head: head, body: body, peer: "test"))
    if case .answerLost = fault { throw NetworkError(description: "the connection was closed") }
    switch response.body {
    case .bytes(let bytes):
      guard case .cutShort = fault else { return HTTPAnswer(head: response.head, bytes: bytes) }
      return HTTPAnswer(
        head: response.head,
        body: HTTPAnswer.Body { continuation in
          continuation.yield(Array(bytes.prefix(bytes.count / 2)))
          continuation.finish(throwing: NetworkError(description: "the body was cut short"))
        })
    case .stream(let pieces):
      return HTTPAnswer(
        head: response.head,
        body: HTTPAnswer.Body { continuation in
          let task = Task {
            for await piece in pieces { continuation.yield(piece) }
            continuation.finish()
          }
          continuation.onTermination = { _ in task.cancel() }
        })
    }
  }
}

extension RemoteService {
  /// A service of one remote, which others may use beside it.
  package convenience init(
    _ remote: any RemoteLog, limits: ServiceLimits = .unlimited, clock: NetworkClock = .system,
    admission: any Admission = OpenAdmission()
  ) {
    self.init(admission: admission, limits: limits, clock: clock, isGateway: true) { _ throws(RemoteError) in
      remote
    }
  }

  /// A client of its own. Without a clock it waits as long as it takes: a machine may be busy.
  package func door(
    over transport: ServiceTransport? = nil, secret: String? = nil, clock: NetworkClock = .still
  ) throws(RemoteError) -> HTTPRemote {
    try HTTPRemote(
      "http://tributary.test\(ServiceTransport.prefix)", secret: secret,
      transport: transport ?? ServiceTransport(self), clock: clock)
  }
}

extension NetworkClock {
  /// A time that stands still: nobody who waits gives up.
  package static let still = NetworkClock(
    now: { 0 },
    sleep: { _ in
      let (stream, continuation) = AsyncStream<Never>.makeStream()
      for await _ in stream {}
      continuation.finish()
      throw CancellationError()
    }, makeRandom: { 0 })
}
