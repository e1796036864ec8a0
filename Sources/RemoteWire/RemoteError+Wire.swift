internal import HTTPTypes
package import Replicator

/// Errors of a remote as answers: the status says the kind, the fields say which error, and the body says what happened and
/// what to do, a line each.
extension WireResponse {
  /// Outcomes that are no success, and no error.
  private static let outcomes: Set<String> = ["gone", "fork", "overlaps", "notThere"]

  /// Whether it answers the call; else it is an error.
  package var isAnswer: Bool {
    status.kind == .successful || fields[.code].map(Self.outcomes.contains) ?? false
  }

  package init(_ error: RemoteError) {
    self.init(
      Self.status(of: error.code), body: Array("\(Self.line(error.message))\n\(Self.line(error.hint))\n".utf8)
    )
    fields[.code] = error.code.rawValue
    fields[.contentType] = "text/plain; charset=utf-8"
    fields.set(.offset, error.offset)
    fields.set(.newAddress, error.newAddress.map(PercentCoding.encode))
    if let wait = error.retryAfterMilliseconds { fields[.retryAfter] = "\((max(0, wait) + 999) / 1000)" }
  }

  package init(_ problem: WireProblem) {
    self.init(problem.status, body: Array("\(Self.line(problem.description))\n".utf8))
    fields[.code] = "malformed"
    fields[.contentType] = "text/plain; charset=utf-8"
  }

  private static func line(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }

  private static func status(of code: RemoteError.Code) -> HTTPResponse.Status {
    switch code {
    case .unauthenticated: .unauthorized
    case .denied, .readOnly: .forbidden
    case .zoneUnknown, .notARemote: .notFound
    case .expired: .gone
    case .wentBack: .preconditionFailed
    case .nameTaken, .keyOutdated, .quarantined, .identityMismatch: .conflict
    case .mismatch, .segmentRefused: .unprocessableContent
    case .newerFormat, .newerSegment: .unsupportedMediaType
    case .unsupported: .notImplemented
    case .moved: .misdirectedRequest
    case .later, .unreachable, .cancelled: .serviceUnavailable
    case .overQuota: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
    // Something is wrong where the remote keeps its objects.
    default: .internalServerError
    }
  }
}

extension RemoteError {
  /// Reads an answer that is an error.
  ///
  /// - Parameter remote: the remote's name, for messages.
  package init(_ response: WireResponse, from remote: String) {
    let wait = response.fields[.retryAfter].flatMap { Int64($0) }.map { min(max(0, $0), 86_400) * 1000 }
    guard response.fields[.version] != nil, let code = response.fields[.code] else {
      self = .foreign(response.status, from: remote, wait)
      return
    }
    let lines = String(decoding: response.body, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: true)
    let message = lines.first.map(String.init) ?? "the remote answered \(response.status)"
    if code == "malformed" {
      let isElsewhere = response.status == .notFound
      self.init(
        isElsewhere ? .notARemote : .unsupported, "\(remote) does not understand a request: \(message)",
        hint: isElsewhere
          ? "check the address: its path may be wrong"
          : "use the same version of the program and of the server")
      return
    }
    self.init(
      Code(rawValue: code), message, hint: lines.dropFirst().first.map(String.init) ?? "try again later",
      retryAfterMilliseconds: wait, offset: response.fields[.offset].flatMap { UInt64($0) },
      newAddress: response.fields[.newAddress].flatMap { PercentCoding.decode($0) })
  }

  /// What something else than the server has answered: a proxy before it, or whatever is at the address.
  private static func foreign(
    _ status: HTTPResponse.Status, from remote: String, _ wait: Int64?
  ) -> RemoteError {
    let answer = "\(remote) answered \(status.code) without a word of Tributary's server"
    let check = "check the address: a proxy may be before the server, or something else is there"
    return switch status.code {
    case 401, 407: RemoteError(.unauthenticated, answer, hint: "\(check). It asks who you are")
    case 403: RemoteError(.denied, answer, hint: check)
    case 404, 405, 410: RemoteError(.notARemote, answer, hint: check)
    case 413: RemoteError(.segmentRefused, answer, hint: "let the proxy take bodies of 9 MiB")
    case 429: RemoteError(.later, answer, hint: "it is tried again later", retryAfterMilliseconds: wait)
    case 500...:
      RemoteError(.unreachable, answer, hint: "it is tried again later", retryAfterMilliseconds: wait)
    default: RemoteError(.notARemote, answer, hint: check)
    }
  }

  /// An answer that is none of the protocol.
  package static func badAnswer(_ problem: WireProblem, from remote: String) -> RemoteError {
    RemoteError(
      .unreachable, "\(remote) gave an answer that cannot be read: \(problem)",
      hint: "it is tried again later; if it stays, update the program or the server", underlying: problem)
  }
}
