import HTTPTypes
import RemoteService
import Synchronization

/// Answers whether the server is alive, and whether it takes requests.
final class Health: Sendable {
  private let isStopping = Mutex(false)
  /// Whether its database answers.
  private let isReachable: @Sendable () async -> Bool

  init(isReachable: @escaping @Sendable () async -> Bool) { self.isReachable = isReachable }

  func stop() { isStopping.withLock { $0 = true } }

  /// Answers `/healthz` and `/readyz`; nil for another request.
  func answer(_ head: HTTPRequest) async -> ServiceResponse? {
    switch head.path {
    case "/healthz": Self.response(.ok, "alive\n")
    case "/readyz":
      if isStopping.withLock({ $0 }) {
        Self.response(.serviceUnavailable, "stopping\n")
      } else if await isReachable() {
        Self.response(.ok, "ready\n")
      } else {
        Self.response(.serviceUnavailable, "its database is away\n")
      }
    default: nil
    }
  }

  private static func response(_ status: HTTPResponse.Status, _ text: String) -> ServiceResponse {
    ServiceResponse(
      head: HTTPResponse(
        status: status, headerFields: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"]),
      body: .bytes(Array(text.utf8)))
  }
}
