package import HTTPTypes
package import OperationFormat
package import Replicator

/// A call of a remote as a request over HTTP, and its answer.
///
/// All that is known of a call is in its type: its route, its request, what is called, and its answer. The client makes
/// requests and reads answers; the server reads requests, calls, and makes answers.
package protocol RemoteVerb: Sendable {
  associatedtype Answer: Sendable

  static var route: Route { get }
  /// The most bytes of a request's body.
  static var bodyBytesMax: Int { get }
  /// The most bytes of an answer's body.
  var answerBytesMax: Int { get }

  /// - Parameter free: the free parts of the request's path.
  /// - Throws: ``WireProblem`` if it is no such request.
  init(_ request: WireRequest, _ free: [String]) throws(WireProblem)
  var request: WireRequest { get }

  func call(_ remote: any RemoteLog) async throws(RemoteError) -> Answer

  func response(_ answer: Answer) throws(FormatError) -> WireResponse
  /// Reads an answer that is no error.
  ///
  /// - Throws: ``WireProblem`` if it is none of this call.
  func answer(_ response: WireResponse) throws(WireProblem) -> Answer
}

extension RemoteVerb {
  package static var bodyBytesMax: Int { 0 }
  package var answerBytesMax: Int { 0 }
}

/// A call that answers nothing.
package protocol SilentVerb: RemoteVerb where Answer == Void {}

extension SilentVerb {
  package func response(_ answer: Void) -> WireResponse { WireResponse(.noContent) }
  package func answer(_ response: WireResponse) {}
}

/// A call that reads one object.
package protocol ObjectVerb: RemoteVerb where Answer == [UInt8]? {}

extension ObjectVerb {
  package func response(_ answer: [UInt8]?) -> WireResponse {
    guard let answer else { return .notThere }
    return WireResponse(.ok, [.contentType: "application/octet-stream"], body: answer)
  }

  package func answer(_ response: WireResponse) -> [UInt8]? {
    response.status == .notFound ? nil : response.body
  }
}

// MARK: Reading requests

extension WireRequest {
  /// The log that a request is about, of the zone that a field names.
  func log(_ text: String) throws(WireProblem) -> (zone: ZoneID, incarnation: IncarnationID) {
    let incarnation = try parsed(text, "the log", "32 hexadecimal digits", IncarnationID.init)
    guard let encoded = fields[.zone] else {
      throw .malformed("the field \(HTTPField.Name.zone) says of which zone the log is")
    }
    let zone = try parsed(encoded, "the zone", "a zone's text, percent-encoded") {
      PercentCoding.decode($0).flatMap(ZoneID.init)
    }
    return (zone, incarnation)
  }

  /// The token after which a log is read, or appended to; its start if there is none.
  package func token(_ log: String) throws(WireProblem) -> ChangeToken {
    let (zone, incarnation) = try self.log(log)
    var token = ChangeToken.start(of: zone, incarnation)
    guard let offset = try number("after", in: 0...Limits.placeMax), offset > 0 else { return token }
    token.offset = offset
    token.hash = try hash("hash") ?? .zero
    token.chain = try hash("chain").map { LogChain(hash: $0) }
    return token
  }

  /// The token after which the list of zones is read; nil if there is none.
  package func listToken() throws(WireProblem) -> DatabaseToken? {
    guard let text = query["remote"] else {
      guard query["after"] == nil else {
        throw .malformed("“after” needs “remote”, the identity of the remote")
      }
      return nil
    }
    let remote = try parsed(text, "“remote”", "32 hexadecimal digits", RemoteID.init)
    return DatabaseToken(
      remote: remote, offset: try number("after", in: 0...Limits.placeMax) ?? 0,
      hash: try hash("hash") ?? .zero)
  }

  private func hash(_ name: String) throws(WireProblem) -> ContentHash? {
    guard let text = query[name] else { return nil }
    return try parsed(text, "“\(name)”", "a hash of 64 hexadecimal digits", ContentHash.init)
  }

  package func number(
    _ name: String, in range: ClosedRange<UInt64>
  ) throws(WireProblem) -> UInt64? {
    guard let text = query[name] else { return nil }
    return try parsed(text, "“\(name)”", "a number from \(range.lowerBound) to \(range.upperBound)") {
      UInt64($0).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  package func offset(_ text: String) throws(WireProblem) -> UInt64 {
    try parsed(text, "the offset", "a number from 1 to \(Limits.placeMax)") {
      UInt64($0).flatMap { 1...Limits.placeMax ~= $0 ? $0 : nil }
    }
  }

  /// A time in a field, in milliseconds since 1970.
  package func milliseconds(_ name: HTTPField.Name) throws(WireProblem) -> UInt64? {
    guard let text = fields[name] else { return nil }
    return try parsed(text, "the field \(name)", "a number of milliseconds") {
      UInt64($0).flatMap { $0 < .max ? $0 : nil }
    }
  }

  package func parsed<Value>(
    _ text: String, _ subject: String, _ expected: String, _ parse: (String) -> Value?
  ) throws(WireProblem) -> Value {
    guard let value = parse(text) else {
      throw .malformed("\(subject) is \(expected), and not “\(text.prefix(80))”")
    }
    return value
  }

  /// Names the zone of the log that a request is about.
  package func naming(_ zone: ZoneID) -> WireRequest {
    var request = self
    request.fields[.zone] = PercentCoding.encode(zone.description)
    return request
  }

  package func after(_ token: DatabaseToken?) -> WireRequest {
    var request = self
    guard let token else { return request }
    request.query["remote"] = "\(token.remote)"
    if token.offset > 0 { request.query["after"] = "\(token.offset)" }
    if token.hash != .zero { request.query["hash"] = "\(token.hash)" }
    return request
  }

  package func after(_ token: ChangeToken) -> WireRequest {
    var request = naming(token.zone)
    if token.offset > 0 {
      request.query["after"] = "\(token.offset)"
      if token.hash != .zero { request.query["hash"] = "\(token.hash)" }
      if let chain = token.chain { request.query["chain"] = "\(chain)" }
    }
    return request
  }
}

// MARK: Reading answers

extension WireResponse {
  package func number(_ name: HTTPField.Name) throws(WireProblem) -> UInt64? {
    guard let text = fields[name] else { return nil }
    guard let number = UInt64(text) else { throw .malformed("its field \(name) is no number") }
    return number
  }

  package func chain() throws(WireProblem) -> LogChain? {
    guard let text = fields[.chain] else { return nil }
    guard let hash = ContentHash(text) else {
      throw .malformed("its field \(HTTPField.Name.chain) is no hash")
    }
    return LogChain(hash: hash)
  }

  package func fate() throws(WireProblem) -> ZoneFate {
    guard let fate = fields[.fate].flatMap(ZoneFate.init(wire:)) else {
      throw .malformed("it does not say what has become of the log")
    }
    return fate
  }

  package func isDone() throws(WireProblem) -> Bool {
    switch fields[.done] {
    case "1": return true
    case "0": return false
    default: throw .malformed("it does not say whether it was done")
    }
  }

  package func place() throws(WireProblem) -> SegmentPlace {
    guard let offset = try number(.offset), 1...Limits.placeMax ~= offset else {
      throw .malformed("it names no offset")
    }
    let received = try number(.received)
    guard received != .max else { throw .malformed("it names a time that is none") }
    return SegmentPlace(offset: offset, receivedMilliseconds: received, chain: try chain())
  }

  /// Nothing has the name that was asked for.
  package static let notThere = WireResponse(.notFound, [.code: "notThere"])

  package static func isDone(_ done: Bool) -> WireResponse {
    WireResponse(.ok, [.done: done ? "1" : "0"])
  }

  package static func gone(_ fate: ZoneFate) -> WireResponse {
    WireResponse(.gone, [.code: "gone", .fate: fate.wire])
  }
}

extension ZoneFate {
  package var wire: String {
    switch self {
    case .deleted: "deleted"
    case .purged: "purged"
    case .revoked: "revoked"
    case .reset: "reset"
    }
  }

  init?(wire: String) {
    guard let fate = [Self.deleted, .purged, .revoked, .reset].first(where: { $0.wire == wire }) else {
      return nil
    }
    self = fate
  }
}

extension WireProblem {
  /// Reads bytes of a message, and says what is wrong with them.
  package static func reading<Value>(
    _ bytes: [UInt8], _ body: (inout ByteReader) throws(FormatError) -> Value
  ) throws(WireProblem) -> Value {
    var reader = ByteReader(bytes.span.bytes)
    do throws(FormatError) {
      let value = try body(&reader)
      try reader.finish("body")
      return value
    } catch {
      throw .malformed("the body cannot be read: \(error)")
    }
  }
}
