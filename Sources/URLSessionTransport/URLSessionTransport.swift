internal import Foundation
public import HTTPRemote
public import HTTPTypes
internal import Synchronization

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Sends requests by the system's `URLSession`: on Apple's platforms by their network stack, elsewhere by libcurl. It adds no
/// package to an app.
public final class URLSessionTransport: HTTPTransport {
  private let session: URLSession
  private let delegate = SessionDelegate()

  /// - Parameter connectionsMax: how many connections it opens to one server, over HTTP/1.1.
  public init(connectionsMax: Int = 16) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = connectionsMax
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    // A stream of hints stays open for long. Who calls gives up sooner what makes no progress.
    configuration.timeoutIntervalForRequest = 600
    configuration.timeoutIntervalForResource = 7 * 86_400
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  deinit { session.finishTasksAndInvalidate() }

  public func send(_ request: HTTPRequest, body: [UInt8]) async throws -> HTTPAnswer {
    let address = "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")"
    guard let url = URL(string: address) else { throw URLError(.badURL) }
    var message = URLRequest(url: url)
    message.httpMethod = request.method.rawValue
    for field in request.headerFields {
      message.addValue(field.value, forHTTPHeaderField: field.name.rawName)
    }
    if !body.isEmpty { message.httpBody = Data(body) }
    let task = session.dataTask(with: message)
    // Before it can be cancelled: its end finds who waits, or is found by who waits later.
    delegate.prepare(task)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { delegate.begin(task, $0) }
    } onCancel: {
      task.cancel()
    }
  }
}

/// Takes what a session tells of its tasks to those who wait.
private final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private enum Progress {
    case prepared
    case waits(CheckedContinuation<HTTPAnswer, any Error>)
    /// It has ended before anybody waited.
    case ended(any Error)
    case reads(HTTPAnswer.Body.Continuation)
  }

  /// Why a request failed, in a sentence.
  private struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ error: any Error) { description = error.localizedDescription }
  }

  private let tasks = Mutex<[Int: Progress]>([:])

  func prepare(_ task: URLSessionTask) { tasks.withLock { $0[task.taskIdentifier] = .prepared } }

  func begin(_ task: URLSessionTask, _ continuation: CheckedContinuation<HTTPAnswer, any Error>) {
    let error = tasks.withLock { tasks -> (any Error)? in
      if case .ended(let error)? = tasks[task.taskIdentifier] {
        tasks[task.taskIdentifier] = nil
        return error
      }
      tasks[task.taskIdentifier] = .waits(continuation)
      return nil
    }
    if let error { return continuation.resume(throwing: error) }
    task.resume()
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let (body, pieces) = HTTPAnswer.Body.makeStream()
    pieces.onTermination = { if case .cancelled = $0 { dataTask.cancel() } }
    let waiting = tasks.withLock { tasks -> CheckedContinuation<HTTPAnswer, any Error>? in
      guard case .waits(let waiting)? = tasks[dataTask.taskIdentifier] else { return nil }
      tasks[dataTask.taskIdentifier] = .reads(pieces)
      return waiting
    }
    guard let waiting else { return completionHandler(.cancel) }
    guard let response = response as? HTTPURLResponse else {
      waiting.resume(throwing: URLError(.badServerResponse))
      return completionHandler(.cancel)
    }
    waiting.resume(returning: HTTPAnswer(head: Self.head(of: response), body: body))
    completionHandler(.allow)
  }

  private static func head(of response: HTTPURLResponse) -> HTTPResponse {
    var fields = HTTPFields()
    for (name, value) in response.allHeaderFields {
      guard let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String else {
        continue
      }
      fields[name] = value
    }
    return HTTPResponse(status: HTTPResponse.Status(code: response.statusCode), headerFields: fields)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if case .reads(let pieces)? = tasks.withLock({ $0[dataTask.taskIdentifier] }) {
      pieces.yield(Array(data))
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let failure: any Error = error.map(Failure.init) ?? URLError(.badServerResponse)
    let progress = tasks.withLock { tasks -> Progress? in
      if case .prepared? = tasks[task.taskIdentifier] {
        tasks[task.taskIdentifier] = .ended(failure)
        return nil
      }
      return tasks.removeValue(forKey: task.taskIdentifier)
    }
    switch progress {
    case .waits(let waiting): waiting.resume(throwing: failure)
    case .reads(let pieces): pieces.finish(throwing: error == nil ? nil : failure)
    case .prepared, .ended, nil: break
    }
  }

  /// Of names and passwords nobody can be asked: the answer that wants them comes as it is.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let wantsPassword =
      [
        NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
        NSURLAuthenticationMethodDefault,
      ]
      .contains(challenge.protectionSpace.authenticationMethod)
    completionHandler(wantsPassword ? .rejectProtectionSpace : .performDefaultHandling, nil)
  }

  /// A secret is not sent to another place than the one that it was given for.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }
}
