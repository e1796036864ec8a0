import Foundation
import HTTPRemote
import HTTPTypes
import Replicator
import Synchronization
import Testing

@testable import S3Remote

/// An object store in memory, which answers as SeaweedFS, MinIO and Amazon do.
final class BucketTransport: HTTPTransport {
  /// What goes wrong with a request.
  enum Fault: Equatable {
    /// The store does not get it.
    case lost
    /// It is done, and the answer does not come.
    case answerLost
    /// The store is too busy: nothing is done.
    case slowDown
    /// Something failed inside: it may be done.
    case internalError
    /// Another put of the key is not over: nothing is done.
    case conflict
    /// The credentials have ended.
    case expired
    /// Something else answers: not the store.
    case foreign(HTTPResponse.Status)
  }

  struct NetworkError: Error, CustomStringConvertible { var description: String }

  private struct State {
    var objects: [String: [UInt8]] = [:]
    var sent: [String] = []
  }

  static let host = "objects.test"
  private let bucket: String
  /// The store's clock, in seconds since 1970.
  private let seconds: @Sendable () -> Int64
  private let honoursConditions: Bool
  private let pageMax: Int
  private let fault: @Sendable (HTTPRequest) -> Fault?
  private let state = Mutex(State())

  init(
    bucket: String = "lists", honoursConditions: Bool = true, pageMax: Int = 1000,
    seconds: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) },
    fault: @escaping @Sendable (HTTPRequest) -> Fault? = { _ in nil }
  ) {
    (self.bucket, self.honoursConditions, self.pageMax) = (bucket, honoursConditions, pageMax)
    (self.seconds, self.fault) = (seconds, fault)
  }

  var objects: [String: [UInt8]] {
    get { state.withLock { $0.objects } }
    set { state.withLock { $0.objects = newValue } }
  }

  /// The pages of lists that it gives instead of its own.
  let pages = Mutex<[String]>([])

  /// The requests so far: a method and a key each.
  var sent: [String] { state.withLock { $0.sent } }
  func forget() { state.withLock { $0.sent = [] } }

  func send(_ request: HTTPRequest, body: [UInt8]) async throws -> HTTPAnswer {
    let target = (request.path ?? "").split(separator: "?", maxSplits: 1)
    let path = target[0].removingPercentEncoding ?? ""
    let key = path.dropFirst(bucket.count + 2)
    state.withLock { $0.sent.append("\(request.method) \(key)") }
    let fault = fault(request)
    switch fault {
    case .lost: throw NetworkError(description: "the connection was refused")
    case .slowDown: return error(503, "SlowDown")
    case .conflict where request.method == .put: return error(409, "ConditionalRequestConflict")
    case .expired: return error(400, "ExpiredToken")
    case .foreign(let status):
      return HTTPAnswer(
        head: HTTPResponse(status: status, headerFields: [.contentType: "text/html"]),
        bytes: Array("<html><body>please log in</body></html>".utf8))
    default: break
    }
    if let answer = refusal(request, path, body) { return answer }
    let query = target.count == 2 ? URLComponents(string: "?\(target[1])")?.queryItems ?? [] : []
    let answer =
      key.isEmpty
      ? list(Dictionary(query.map { ($0.name, $0.value ?? "") }) { $1 })
      : serve(request, String(key), body)
    switch fault {
    case .answerLost: throw NetworkError(description: "the connection was closed")
    case .internalError: return error(500, "InternalError")
    default: return answer
    }
  }

  /// Why a request is not served.
  private func refusal(_ request: HTTPRequest, _ path: String, _ body: [UInt8]) -> HTTPAnswer? {
    guard request.authority == Self.host, path.hasPrefix("/\(bucket)/") else {
      return error(404, "NoSuchBucket")
    }
    let fields = request.headerFields
    guard fields[.authorization]?.contains("Credential=key/") ?? false else {
      return error(403, "InvalidAccessKeyId")
    }
    let sent = fields[HTTPField.Name("x-amz-date")!].flatMap { try? Date($0, strategy: Self.time) }
    guard let sent, abs(sent.timeIntervalSince1970 - Double(seconds())) < 900 else {
      return error(403, "RequestTimeTooSkewed")
    }
    var again = request
    again.headerFields[.authorization] = nil
    let key = S3Credentials(accessKey: "key", secretKey: "secret")
    SignatureV4(credentials: key, region: "us-east-1").sign(
      &again, body: body, at: Int64(sent.timeIntervalSince1970))
    return again == request ? nil : error(403, "SignatureDoesNotMatch")
  }

  private static let time = Date.ISO8601FormatStyle.iso8601.year().month().day().dateSeparator(.omitted)
    .time(includingFractionalSeconds: false).timeSeparator(.omitted).timeZone(separator: .omitted)

  private static let tag: HTTPFields = [.eTag: "\"tag\""]

  private func serve(_ request: HTTPRequest, _ key: String, _ body: [UInt8]) -> HTTPAnswer {
    let isConditional = request.headerFields[.ifNoneMatch] == "*" && honoursConditions
    return state.withLock { state in
      switch request.method {
      case .put:
        if isConditional, state.objects[key] != nil { return error(412, "PreconditionFailed") }
        state.objects[key] = body
        return answer(.ok, [], Self.tag)
      case .delete:
        state.objects[key] = nil
        return answer(.noContent)
      default:
        guard let object = state.objects[key] else { return error(404, "NoSuchKey") }
        guard let range = request.headerFields[.range], let last = Int(range.split(separator: "-").last ?? "")
        else { return answer(.ok, object, Self.tag) }
        guard !object.isEmpty else { return error(416, "InvalidRange") }
        let part = Array(object.prefix(last + 1))
        var fields = Self.tag
        fields[.contentRange] = "bytes 0-\(part.count - 1)/\(object.count)"
        return answer(.partialContent, part, fields)
      }
    }
  }

  private func list(_ query: [String: String]) -> HTTPAnswer {
    let other = pages.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    if let other { return answer(.ok, Array(other.utf8)) }
    let prefix = query["prefix"] ?? ""
    let after = query["continuation-token"] ?? query["start-after"] ?? ""
    let all = objects.filter { $0.key.hasPrefix(prefix) && $0.key > after }.sorted { $0.key < $1.key }
    let page = all.prefix(pageMax)
    let contents = page.map { key, bytes in
      let key = key.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      return "<Contents><Key>\(key)</Key><Size>\(bytes.count)</Size></Contents>"
    }
    let next = all.count > page.count ? page.last?.key ?? "" : nil
    let text = """
      <?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>\(bucket)</Name><EncodingType>url</EncodingType>\
      <IsTruncated>\(next != nil)</IsTruncated>\(contents.joined())\
      \(next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? "")</ListBucketResult>
      """
    return answer(.ok, Array(text.utf8))
  }

  private func answer(
    _ status: HTTPResponse.Status, _ bytes: [UInt8] = [], _ fields: HTTPFields = HTTPFields()
  ) -> HTTPAnswer {
    var head = HTTPResponse(status: status, headerFields: fields)
    head.headerFields[.contentLength] = "\(bytes.count)"
    head.headerFields[.date] = Self.date(seconds())
    return HTTPAnswer(head: head, bytes: bytes)
  }

  /// `Fri, 24 May 2013 00:00:00 GMT`.
  private static func date(_ seconds: Int64) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
  }

  private func error(_ status: Int, _ code: String) -> HTTPAnswer {
    answer(
      HTTPResponse.Status(code: status),
      Array("<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>m</Message></Error>".utf8))
  }
}

/// Waits until something holds.
func until(_ subject: String, _ holds: () async throws -> Bool) async throws {
  for _ in 0..<20_000 {
    if try await holds() { return }
    try await Task.sleep(for: .milliseconds(1))
  }
  Issue.record("\(subject) did not come")
}
