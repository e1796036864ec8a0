public import HTTPTypes
internal import RemoteWire

/// A request as a server has read it.
public struct ServiceRequest: Sendable {
  public var head: HTTPRequest
  /// All of its body. A server that reads it itself asks ``RemoteService/admit(_:from:)`` first.
  public var body: [UInt8]
  /// Where it comes from, such as the address of a connection: who sends too much is told apart by that. Empty if it is not
  /// known.
  public var peer: String

  public init(head: HTTPRequest, body: [UInt8] = [], peer: String = "") {
    (self.head, self.body, self.peer) = (head, body, peer)
  }
}

/// What a server is to answer.
public struct ServiceResponse: Sendable {
  public enum Body: Sendable {
    case bytes([UInt8])
    /// Pieces that come as time goes by, until the sequence ends, or the client has gone.
    case stream(AsyncStream<[UInt8]>)
  }

  public var head: HTTPResponse
  public var body: Body
  /// The code of an error, or of an outcome that is no success, for a server's log; nil for a success.
  public var code: String? { head.headerFields[.code] }

  public init(head: HTTPResponse, body: Body) { (self.head, self.body) = (head, body) }
}
