package import HTTPTypes

/// A request with its body, and with its path and query taken apart.
package struct WireRequest: Sendable, Equatable {
  package var method: HTTPRequest.Method
  /// The parts of the path, decoded: `/v1/zones/a%2Fb` has `v1`, `zones`, `a/b`.
  package var path: [String]
  package var query: [String: String] = [:]
  package var fields = HTTPFields()
  package var body: [UInt8] = []

  package init(_ method: HTTPRequest.Method, _ path: [String]) { (self.method, self.path) = (method, path) }

  /// Reads the head of a request.
  ///
  /// - Throws: ``WireProblem`` if the path or the query is not percent-encoded UTF-8, or the query has a name twice.
  package init(_ head: HTTPRequest, body: [UInt8] = []) throws(WireProblem) {
    method = head.method
    fields = head.headerFields
    self.body = body
    let target = head.path ?? "/"
    let (path, query) = Self.cut(target, at: "?")
    guard path.hasPrefix("/") else { throw .malformed("the path of a request begins with a slash") }
    self.path = []
    for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      guard let decoded = PercentCoding.decode(part) else {
        throw .malformed("a part of the path is not percent-encoded UTF-8")
      }
      self.path.append(decoded)
    }
    for item in (query ?? "").split(separator: "&") {
      let (name, value) = Self.cut(item, at: "=")
      guard let name = PercentCoding.decode(name), let value = PercentCoding.decode(value ?? "") else {
        throw .malformed("the query is not percent-encoded UTF-8")
      }
      guard self.query.updateValue(value, forKey: name) == nil else {
        throw .malformed("the query has “\(name)” twice")
      }
    }
  }

  /// The path and the query as one text.
  package var target: String {
    let path = path.map { "/" + PercentCoding.encode($0) }.joined()
    if query.isEmpty { return path }
    let items = query.sorted { $0.key < $1.key }
      .map { "\(PercentCoding.encode($0.key))=\(PercentCoding.encode($0.value))" }
    return "\(path)?\(items.joined(separator: "&"))"
  }

  private static func cut<Text: StringProtocol>(
    _ text: Text, at separator: Character
  ) -> (Text.SubSequence, Text.SubSequence?) {
    guard let index = text.firstIndex(of: separator) else { return (text[...], nil) }
    return (text[..<index], text[text.index(after: index)...])
  }
}

/// An answer with its body.
package struct WireResponse: Sendable, Equatable {
  package var status: HTTPResponse.Status
  package var fields: HTTPFields
  package var body: [UInt8]

  package init(_ status: HTTPResponse.Status, _ fields: HTTPFields = HTTPFields(), body: [UInt8] = []) {
    (self.status, self.fields, self.body) = (status, fields, body)
  }
}

/// Why a request is none of the protocol. It is the client's fault, and the same request fails again.
package struct WireProblem: Error, Equatable, CustomStringConvertible {
  package var status: HTTPResponse.Status
  package var description: String

  package init(status: HTTPResponse.Status, description: String) {
    (self.status, self.description) = (status, description)
  }

  package static func bodyTooLarge(_ bytesMax: Int) -> WireProblem {
    WireProblem(status: .contentTooLarge, description: "the body may have \(bytesMax) bytes")
  }

  package static func malformed(_ text: String) -> WireProblem {
    WireProblem(status: .badRequest, description: text)
  }
}
