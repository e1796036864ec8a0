package import HTTPTypes

/// The requests that a verb takes: a method, and a path of which some parts are free.
///
/// `/v1/logs/*/snapshots` is a route, and so is `/v1/logs/*/snapshots/*/*/manifest`. Of two that match, the one counts whose
/// first part that differs is not free.
package struct Route: Sendable, Hashable, Comparable {
  package let method: HTTPRequest.Method
  package let parts: [Substring]

  package init(_ method: HTTPRequest.Method, _ path: String) {
    self.method = method
    parts = path.dropFirst().split(separator: "/")
  }

  /// What a server says about itself.
  package static let service = Route(.get, "/v1/remote")
  /// The stream of hints.
  package static let events = Route(.get, "/v1/events")

  /// Whether a request is of it.
  package func matches(_ request: WireRequest) -> Bool {
    request.method == method && parameters(of: request.path) != nil
  }

  /// The free parts of a path; nil if the path is another.
  package func parameters(of path: [String]) -> [String]? {
    guard path.count == parts.count else { return nil }
    var free: [String] = []
    for (part, found) in zip(parts, path) {
      if part == "*" {
        if found.isEmpty { return nil }
        free.append(found)
      } else if part != found {
        return nil
      }
    }
    return free
  }

  /// A request for it, with its free parts.
  package func request(_ free: String...) -> WireRequest { request(free) }

  package func request(_ free: [String]) -> WireRequest {
    var free = free[...]
    let path = parts.map { $0 == "*" ? free.removeFirst() : String($0) }
    assert(free.isEmpty, "the route has fewer free parts")
    return WireRequest(method, path)
  }

  /// Orders those that match a path so that the one comes first that counts.
  package static func < (a: Route, b: Route) -> Bool {
    func order(_ route: Route) -> [Substring] { route.parts.map { $0 == "*" ? "~" : $0 } }
    return order(a).lexicographicallyPrecedes(order(b))
  }
}
