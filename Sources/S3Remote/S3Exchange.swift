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
  /// What a store said of its time counts for so long.
  private static let timeLasts = Duration.seconds(60)
  private static let errorBytesMax = 1 << 16

  /// What the store said of its time, in milliseconds since 1970, and when.
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
    var (tries, wait, hasSetClock) = (0, Self.firstWait, false)
    while true {
      let answer = try await sendOnce(request)
      switch S3Failure(answer) {
      case .clock where !hasSetClock:
        hasSetClock = true
        setClock(by: answer)
      case .busy where tries + 1 < Self.triesMax:
        tries += 1
        try await transport.sleep(transport.clock.spread(wait))
        wait = wait * 2
      default: return answer
      }
    }
  }

  private func sendOnce(_ request: S3Request) async throws(RemoteError) -> S3Answer {
    let target = "\(address.path)/\(Self.encode(request.key ?? "", keeping: "/"))"
    let query = request.query.map { "\(PercentCoding.encode($0.0))=\(PercentCoding.encode($0.1))" }
    var head = HTTPRequest(
      method: request.method, scheme: address.scheme, authority: address.authority,
      path: query.isEmpty ? target : "\(target)?\(query.joined(separator: "&"))",
      headerFields: request.fields)
    let signature = SignatureV4(credentials: try await found(), region: address.region)
    let seconds = wallMilliseconds() / 1000 + skew.withLock { $0 }
    signature.sign(&head, body: request.body, at: seconds)
    let answer = try await transport.send(head, body: request.body)
    note(answer.head)
    let isSuccess = answer.head.status.kind == .successful
    let body = try await transport.body(
      of: answer, bytesMax: isSuccess ? request.answerBytesMax : Self.errorBytesMax,
      orElse: isSuccess && !request.wantsPrefix ? tooLarge(request) : nil)
    return S3Answer(status: answer.head.status, fields: answer.head.headerFields, body: body)
  }

  private func tooLarge(_ request: S3Request) -> @Sendable () -> RemoteError {
    let text = "\(request.key ?? "a list") of \(address) has more than \(request.answerBytesMax) bytes"
    return { RemoteError(.damaged, text, hint: "it is foreign: move it away") }
  }

  private func found() async throws(RemoteError) -> S3Credentials {
    do {
      return try await credentials()
    } catch let error as RemoteError {
      throw error
    } catch {
      throw RemoteError(
        .unauthenticated, "there are no credentials for \(address): \(error)",
        hint: "give the replicator a source of credentials that works", underlying: error)
    }
  }

  static func encode(_ text: String, keeping separator: Character) -> String {
    text.split(separator: separator, omittingEmptySubsequences: false).map {
      PercentCoding.encode(String($0))
    }
    .joined(separator: String(separator))
  }

  // MARK: Time

  /// The store's time, in milliseconds since 1970; nil if it does not say it.
  func milliseconds() -> UInt64? {
    let now = transport.clock.now()
    guard let seen = seen.withLock({ $0 }), now - seen.at < Self.timeLasts.nanoseconds else { return nil }
    let milliseconds = seen.milliseconds + max(0, now - seen.at) / 1_000_000
    return milliseconds > 0 ? UInt64(milliseconds) : nil
  }

  private func note(_ head: HTTPResponse) {
    // What a cache has kept is of before.
    guard head.headerFields[.age] == nil, let milliseconds = Self.date(head) else { return }
    let at = transport.clock.now()
    seen.withLock { $0 = Seen(milliseconds: milliseconds, at: at) }
  }

  private func setClock(by answer: S3Answer) {
    guard let milliseconds = Self.date(HTTPResponse(status: answer.status, headerFields: answer.fields))
    else {
      return
    }
    let seconds = (milliseconds - wallMilliseconds()) / 1000
    skew.withLock { $0 = seconds }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The date of an answer, in milliseconds since 1970: `Fri, 24 May 2013 00:00:00 GMT`, RFC 9110, 5.6.7.
  private static func date(_ head: HTTPResponse) -> Int64? {
    let parts = head.headerFields[.date]?.split(separator: " ") ?? []
    guard parts.count == 6, let month = months.firstIndex(where: { $0 == parts[2] }),
      let date = try? Date(
        "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z", strategy: .iso8601)
    else { return nil }
    return Int64(exactly: date.timeIntervalSince1970 * 1000)
  }
}
