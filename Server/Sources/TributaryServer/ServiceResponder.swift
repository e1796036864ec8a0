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
    if let own = health.answer(request.head) { return (own, 0) }
    let bytesMax = service.bodyBytesMax(of: request.head)
    var body: [UInt8] = []
    if let stated = request.headers[.contentLength].flatMap({ Int($0) }) {
      guard stated <= bytesMax else { return (service.refusal(ofBody: request.head), 0) }
      body.reserveCapacity(stated)
    }
    for try await piece in request.body {
      guard body.count + piece.readableBytes <= bytesMax else {
        return (service.refusal(ofBody: request.head), body.count)
      }
      body.append(contentsOf: piece.readableBytesView)
    }
    let asked = ServiceRequest(head: request.head, body: body, peer: context.peer)
    return (await service.handle(asked), body.count)
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

  /// The path without what names a zone, an asset or a maker.
  static func route(_ path: String) -> String {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    for index in parts.indices.dropFirst(3) where !["snapshots", "assets", "manifest"].contains(parts[index])
    {
      let isLog = index == 3 && parts[2] == "logs"
      if isLog {
        parts[index] = String(parts[index].prefix(8))
      } else if !["purge", "reset", "reopen", "begin", "trim"].contains(parts[index]),
        Int(parts[index]) == nil
      {
        parts[index] = "*"
      }
    }
    return parts.joined(separator: "/")
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
