import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RemoteService
import ServiceLifecycle

/// What is known of a request besides its bytes.
struct ServiceContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address that the connection comes from, without its port.
  let peer: String

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    peer = source.channel.remoteAddress?.ipAddress ?? ""
  }
}

/// Gives a service the requests that the server reads, and writes what it answers.
struct ServiceResponder: HTTPResponder {
  typealias Context = ServiceContext

  let service: RemoteService
  let health: Health

  func respond(to request: Request, context: ServiceContext) async throws -> Response {
    let start = ContinuousClock.now
    let (response, byteCount) = try await answer(request, context)
    log(request, response, byteCount, ContinuousClock.now - start, context)
    return response.hummingbird
  }

  private func answer(_ request: Request, _ context: ServiceContext) async throws -> (ServiceResponse, Int) {
    if let own = await health.answer(request.head) { return (own, 0) }
    switch await service.admit(request.head, from: context.peer) {
    case .refused(let response): return (response, 0)
    case .call(let call):
      var body: [UInt8] = []
      for try await piece in request.body {
        body.append(contentsOf: piece.readableBytesView)
        if body.count > call.bodyBytesMax { break }
      }
      // A connection that closes ends the body of a stream of HTTP/2 as if it were whole.
      try Task.checkCancellation()
      let stated = request.headers[.contentLength].flatMap { Int($0) }
      if let stated, body.count < stated, body.count <= call.bodyBytesMax { throw CancellationError() }
      return (await call.answer(body), body.count)
    }
  }

  /// One line a request: no names, tokens or bodies.
  private func log(
    _ request: Request, _ response: ServiceResponse, _ byteCount: Int, _ time: Duration,
    _ context: ServiceContext
  ) {
    let sent = if case .bytes(let bytes) = response.body { bytes.count } else { 0 }
    let milliseconds = Double(time.components.seconds) * 1000 + Double(time.components.attoseconds) / 1e15
    context.logger.info(
      "request",
      metadata: [
        "method": "\(request.method)", "route": "\(Self.route(request.uri.path))",
        "status": "\(response.head.status.code)", "code": "\(response.code ?? "")",
        "received": "\(byteCount)",
        "sent": "\(sent)", "ms": "\((milliseconds * 1000).rounded() / 1000)",
      ])
  }

  private static let words: Set<Substring> = [
    "", "v1", "remote", "zones", "logs", "heads", "events", "announce", "snapshots", "assets", "manifest",
    "purge", "reset", "reopen", "begin", "trim", "healthz", "readyz",
  ]

  /// The path without what a client may name; of a log its first digits.
  static func route(_ path: String) -> String {
    let parts = path.split(separator: "/", maxSplits: 9, omittingEmptySubsequences: false)
    let shown = parts.map { part in
      if words.contains(part) { return String(part) }
      return part.utf8.count == 32 && part.allSatisfy(\.isHexDigit) ? String(part.prefix(8)) : "*"
    }
    return shown.joined(separator: "/")
  }
}

extension ServiceResponse {
  fileprivate var hummingbird: Response {
    switch body {
    case .bytes(let bytes):
      Response(
        status: head.status, headers: head.headerFields,
        body: bytes.isEmpty ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    case .stream(let pieces):
      Response(
        status: head.status, headers: head.headerFields,
        body: ResponseBody { writer in
          // The service ends its streams itself as the server stops: with a word on when to come back.
          for await piece in pieces { try await writer.write(ByteBuffer(bytes: piece)) }
          try await writer.finish(nil)
        })
    }
  }
}
