public import HTTPTypes

/// Sends requests over HTTP: the one thing that a remote over HTTP needs of a platform's network.
///
/// It keeps connections open, checks certificates, and follows no redirection. It may answer many requests at one time.
public protocol HTTPTransport: Sendable {
  /// Sends a request.
  ///
  /// - Parameters:
  ///   - request: has its scheme, authority and path.
  ///   - body: all of its body; empty for none.
  /// - Returns: the answer, once its head is there.
  /// - Throws: any error if there is no answer. Whether the request had its effect is then not known. If the task is
  ///   cancelled, the request ends.
  func send(_ request: HTTPRequest, body: [UInt8]) async throws -> HTTPAnswer
}

/// The answer to a request.
public struct HTTPAnswer: Sendable {
  /// The pieces of a body, as they come. It ends with an error if the body is cut short. If it is not read to its end, its
  /// connection is not used again.
  public typealias Body = AsyncThrowingStream<[UInt8], any Error>

  public var head: HTTPResponse
  public var body: Body

  public init(head: HTTPResponse, body: Body) { (self.head, self.body) = (head, body) }

  /// An answer whose body is all there.
  public init(head: HTTPResponse, bytes: [UInt8]) {
    self.init(
      head: head,
      body: Body { continuation in
        if !bytes.isEmpty { continuation.yield(bytes) }
        continuation.finish()
      })
  }
}
