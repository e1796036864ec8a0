public import HTTPTypes
internal import OperationFormat
internal import RemoteWire
public import Replicator

/// Who calls: all that is decided about a call goes by that.
public struct Caller: Hashable, Sendable {
  /// The account, whose zones these are.
  public var account: String
  /// The device of the account that calls; empty if it is not known.
  public var device: String

  public init(account: String, device: String = "") { (self.account, self.device) = (account, device) }
}

/// Says who calls.
public protocol Admission: Sendable {
  /// - Throws: `RemoteError` `unauthenticated` if nobody is known by what the request says.
  func caller(_ request: HTTPRequest) async throws(RemoteError) -> Caller
}

/// All who know a secret call for the one account that there is.
///
/// The secret comes as `Authorization: Bearer SECRET`. Use it over TLS only, or where nobody else can listen.
public struct SharedSecret: Admission {
  /// The fewest bytes of a secret.
  public static let bytesMin = 16

  private let expected: ContentHash

  /// - Parameter secret: random, at least ``bytesMin`` bytes; nil if it has fewer.
  public init?(_ secret: String) {
    guard secret.utf8.count >= Self.bytesMin else { return nil }
    expected = Self.hash(secret)
  }

  public func caller(_ request: HTTPRequest) async throws(RemoteError) -> Caller {
    let given = request.headerFields[.authorization]?.split(separator: " ", maxSplits: 1) ?? []
    // Of hashes, how far they are the same says nothing about the secret.
    guard given.count == 2, given[0].lowercased() == "bearer", Self.hash(String(given[1])) == expected else {
      throw RemoteError(
        .unauthenticated, given.isEmpty ? "the request says no secret" : "the secret is another one",
        hint: "give the secret with which the server was started")
    }
    return Caller(account: "", device: request.headerFields[.device] ?? "")
  }

  private static func hash(_ secret: String) -> ContentHash {
    ContentHash(of: Array("tributary secret\0\(secret)".utf8).span.bytes)
  }
}

/// Everybody calls for the one account that there is: for a server that only its owner's machine or network reaches.
///
/// Pages of other places, which a browser of that machine shows, do not: their requests name them.
public struct OpenAdmission: Admission {
  private let hosts: Set<String>?

  /// - Parameter hosts: the names by which the server is called; nil for any. A page that gives its own name another address
  ///   calls by its own name.
  public init(hosts: Set<String>? = nil) { self.hosts = hosts }

  public func caller(_ request: HTTPRequest) async throws(RemoteError) -> Caller {
    let host = request.authority.map(Self.host)
    guard request.headerFields[HTTPField.Name("Origin")!] == nil,
      hosts == nil || host.map(hosts!.contains) ?? true
    else {
      throw RemoteError(
        .denied, "this server without a secret takes no request of a web page",
        hint: "call it by an address of its own machine, or start it with a secret")
    }
    return Caller(account: "", device: request.headerFields[.device] ?? "")
  }

  /// An authority without its port.
  private static func host(_ authority: String) -> String {
    guard let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") else { return authority }
    return String(authority[..<colon])
  }
}
