internal import Foundation
internal import HTTPRemote
internal import HTTPTypes
internal import RemoteWire
internal import Replicator
internal import Synchronization

/// A request of an object store.
struct S3Request: Sendable {
  var method: HTTPRequest.Method
  /// The object's key; nil for the bucket.
  var key: String?
  var query: [(String, String)] = []
  var fields = HTTPFields()
  var body: [UInt8] = []
  /// A larger answer is not read.
  var answerBytesMax = 1 << 16
  /// Whether only so many bytes are wanted of a larger one.
  var wantsPrefix = false
}

/// Sends signed requests to an object store.
final class S3Exchange: Sendable {
  /// How often a request is sent that the store is too busy for, or that lost against another.
  private static let triesMax = 7
  private static let firstWait = Duration.milliseconds(100)
  /// The longest wait that a store may ask for.
  private static let waitMaxSeconds: Int64 = 20
  /// What a store said of its time counts for so long.
  private static let timeLasts = Duration.seconds(60)
  private static let errorBytesMax = 1 << 16

  /// What the store said of its time, in milliseconds since 1970, and when it was asked.
  private struct Seen {
    var milliseconds: Int64
    var at: Int64
  }

  let address: S3Address
  let transport: WatchedTransport
  private let credentials: S3Credentials.Source
  private let wallMilliseconds: @Sendable () -> Int64
  /// How far the store's clock is ahead of this device's, in seconds, if that was found to matter.
  private let skew = Mutex<Int64>(0)
  private let seen = Mutex<Seen?>(nil)

  init(
    _ address: S3Address, _ credentials: @escaping S3Credentials.Source, _ transport: WatchedTransport,
    wallMilliseconds: @escaping @Sendable () -> Int64
  ) {
    (self.address, self.credentials, self.transport) = (address, credentials, transport)
    self.wallMilliseconds = wallMilliseconds
  }

  /// Sends a request, and again while the store is too busy for it.
  ///
  /// - Returns: the answer; never one that another try may change.
  func send(_ request: S3Request) async throws(RemoteError) -> S3Answer {
    var (tries, wait) = (0, Self.firstWait)
    var (hasSetClock, hasAskedAgain) = (false, false)
    while true {
      let answer = try await sendOnce(request)
      switch S3Failure(answer) {
      case .clock where !hasSetClock:
        hasSetClock = true
        setClock(by: answer)
      // The credentials may have ended just now.
      case .ended where !hasAskedAgain: hasAskedAgain = true
      case .busy where tries + 1 < Self.triesMax:
        tries += 1
        let wanted = answer.fields[.retryAfter].flatMap { Int64($0) } ?? 0
        let least = Duration.seconds(min(max(0, wanted), Self.waitMaxSeconds))
        try await transport.sleep(transport.clock.spread(max(wait, least)))
        wait = wait * 2
      default: return answer
      }
    }
  }

  private func sendOnce(_ request: S3Request) async throws(RemoteError) -> S3Answer {
    let key = (request.key ?? "").split(separator: "/", omittingEmptySubsequences: false)
    let target = "\(address.path)/\(key.map { PercentCoding.encode(String($0)) }.joined(separator: "/"))"
    let query = request.query.map { "\(PercentCoding.encode($0.0))=\(PercentCoding.encode($0.1))" }
    var head = HTTPRequest(
      method: request.method, scheme: address.scheme, authority: address.authority,
      path: query.isEmpty ? target : "\(target)?\(query.joined(separator: "&"))",
      headerFields: request.fields)
    let signature = SignatureV4(credentials: try await askForCredentials(), region: address.region)
    let seconds = wallMilliseconds() / 1000 + skew.withLock { $0 }
    signature.sign(&head, body: request.body, at: seconds)
    let sentAt = transport.clock.now()
    let answer = try await transport.send(head, body: request.body)
    let isSuccess = answer.head.status.kind == .successful
    let body = try await transport.body(
      of: answer, bytesMax: isSuccess ? request.answerBytesMax : Self.errorBytesMax,
      orElse: isSuccess && !request.wantsPrefix ? tooLarge(request, answer.head) : nil)
    let found = S3Answer(answer.head, body)
    if found.isOfObject || !found.code.isEmpty { note(found, sentAt) }
    return found
  }

  private func tooLarge(_ request: S3Request, _ head: HTTPResponse) -> @Sendable () -> RemoteError {
    guard request.method == .get, let key = request.key else {
      return { [address] in RemoteError(S3Answer(head, []), of: address) }
    }
    let text = "\(key) of \(address) has more than \(request.answerBytesMax) bytes"
    return { RemoteError(.damaged, text, hint: "it is foreign: move it away") }
  }

  private func askForCredentials() async throws(RemoteError) -> S3Credentials {
    do throws(RemoteError) {
      return try await transport.withPatience { [credentials] in try await credentials() }
    } catch {
      guard error.code == .unreachable else { throw error }
      throw RemoteError(
        .unreachable, "the credentials for \(address) cannot be had now",
        hint: "it is tried again by itself; what their source says is the underlying error",
        underlying: error.underlying)
    }
  }

  // MARK: Time

  /// The store's time, in milliseconds since 1970; nil if it does not say it.
  func milliseconds() -> UInt64? {
    let now = transport.clock.now()
    guard let seen = seen.withLock({ $0 }), now - seen.at < Self.timeLasts.nanoseconds else { return nil }
    let milliseconds = seen.milliseconds + max(0, now - seen.at) / 1_000_000
    return milliseconds > 0 ? UInt64(milliseconds) : nil
  }

  /// - Parameter sentAt: when the request was sent. If the answer was long on its way, the time is too late, which lowers no
  ///   timestamp that is right.
  private func note(_ answer: S3Answer, _ sentAt: Int64) {
    // What a cache has kept is of before.
    guard answer.fields[.age] == nil, let milliseconds = Self.date(answer) else { return }
    seen.withLock { $0 = Seen(milliseconds: milliseconds, at: sentAt) }
  }

  private func setClock(by answer: S3Answer) {
    guard let milliseconds = Self.date(answer) else { return }
    let seconds = (milliseconds - wallMilliseconds()) / 1000
    skew.withLock { $0 = seconds }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The date of an answer, in milliseconds since 1970: `Fri, 24 May 2013 00:00:00 GMT`, RFC 9110, 5.6.7.
  private static func date(_ answer: S3Answer) -> Int64? {
    let parts = answer.fields[.date]?.split(separator: " ") ?? []
    guard parts.count == 6, let month = months.firstIndex(where: { $0 == parts[2] }) else { return nil }
    let text = "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z"
    guard let date = try? Date(text, strategy: .iso8601) else { return nil }
    return Int64(exactly: date.timeIntervalSince1970 * 1000)
  }
}
