internal import HTTPTypes
package import OperationFormat
package import Replicator

/// ``RemoteLog/zoneEvents(after:)``
package struct ReadZones: RemoteVerb {
  package static let route = Route(.get, "/v1/zones")
  package let answerBytesMax = 64 << 20
  package var token: DatabaseToken?

  package init(after token: DatabaseToken?) { self.token = token }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    token = try request.listToken()
  }
  package var request: WireRequest { Self.route.request().after(token) }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> ZoneEventPage {
    try await remote.zoneEvents(after: token)
  }

  // | bytes | what |
  // |---|---|
  // | varint | the offset of the token that the page follows |
  // | varint, then for each | events: kind (1), owner and name (varint, UTF-8), incarnation (16, big-endian) |
  // | varint, then for each | events that cannot be read: offset (varint), code, message, hint (varint, UTF-8 each) |
  // | varint, then for each | events after the first of those |

  package func response(_ page: ZoneEventPage) throws(FormatError) -> WireResponse {
    var response = WireResponse(.ok, [.token: try page.token.encodedText()])
    if page.hasMore { response.fields[.more] = "1" }
    var writer = ByteWriter()
    writer.append(varint: page.startOffset)
    Self.append(page.events, to: &writer)
    writer.append(count: page.problems.count)
    for problem in page.problems {
      writer.append(varint: problem.offset)
      for text in [problem.failure.code, problem.failure.message, problem.failure.hint] {
        writer.append(text: text)
      }
    }
    Self.append(page.later, to: &writer)
    response.body = writer.bytes
    return response
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> ZoneEventPage {
    guard let token = response.fields[.token].flatMap({ try? DatabaseToken(text: $0) }) else {
      throw .malformed("it has no token of a list of zones")
    }
    return try WireProblem.reading(response.body) { reader throws(FormatError) in
      let start = try reader.readVarint("zones.start")
      var page = ZoneEventPage(
        events: try Self.readEvents(&reader), token: token, hasMore: response.fields[.more] == "1",
        startOffset: start)
      for _ in 0..<(try reader.readCount("zones.problems")) {
        let offset = try reader.readVarint("zones.offset")
        let failure = SyncFailure(
          code: try reader.readWireText("zones.code"), message: try reader.readWireText("zones.message"),
          hint: try reader.readWireText("zones.hint"), scope: .round, offset: offset)
        page.problems.append(ZoneListProblem(offset: offset, failure: failure))
      }
      page.later = try Self.readEvents(&reader)
      return page
    }
  }

  private static func append(_ events: [ZoneEvent], to writer: inout ByteWriter) {
    writer.append(count: events.count)
    for event in events {
      writer.append(event.kind.rawValue)
      writer.append(text: event.zone.owner.rawValue)
      writer.append(text: event.zone.name.rawValue)
      writer.append(bigEndian: event.incarnation.rawValue)
    }
  }

  private static func readEvents(_ reader: inout ByteReader) throws(FormatError) -> [ZoneEvent] {
    var events: [ZoneEvent] = []
    for _ in 0..<(try reader.readCount("zones.events")) {
      let kind = ZoneEvent.Kind(rawValue: try reader.readUInt8("zones.kind"))
      let zone = ZoneID(
        owner: Name(try reader.readWireText("zones.owner", bytesMax: Limits.nameBytesMax)),
        name: Name(try reader.readWireText("zones.name", bytesMax: Limits.nameBytesMax)))
      let incarnation = IncarnationID(rawValue: try reader.readBigEndian("zones.incarnation"))
      events.append(ZoneEvent(kind: kind, zone: zone, incarnation: incarnation))
    }
    return events
  }
}

extension ByteReader {
  /// A count of bytes, and UTF-8.
  package mutating func readWireText(
    _ subject: StaticString, bytesMax: Int = 1 << 16
  ) throws(FormatError) -> String {
    let start = position
    let count = try readCount(subject)
    let range = try readBytes(count, subject)
    guard count <= bytesMax else {
      throw fail(.limitExceeded, at: start, subject, expected: "at most \(bytesMax) bytes", found: "\(count)")
    }
    guard isUTF8(bytes(in: range)) else {
      throw fail(.invalidUTF8, at: start, subject, expected: "UTF-8", found: "other bytes")
    }
    return string(in: range)
  }
}

/// ``RemoteLog/createZone(_:proposing:)``
package struct CreateZone: RemoteVerb {
  /// The name is no part of the path: what is between may take parts such as `..` away.
  package static let route = Route(.put, "/v1/zones")
  package static let bodyBytesMax = 64
  package let answerBytesMax = 64
  package let zone: ZoneID
  package let proposed: IncarnationID

  package init(_ zone: ZoneID, proposing proposed: IncarnationID) {
    (self.zone, self.proposed) = (zone, proposed)
  }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    zone = ZoneID(owner: Name(request.query["owner"] ?? ""), name: Name(request.query["name"] ?? ""))
    guard zone.owner.byteCount <= Limits.nameBytesMax, 1...Limits.nameBytesMax ~= zone.name.byteCount else {
      throw .malformed(
        "“name” is the zone's, of 1 to \(Limits.nameBytesMax) bytes, and “owner” has at most as many")
    }
    proposed = try request.parsed(
      String(decoding: request.body, as: UTF8.self), "the body",
      "the 32 hexadecimal digits of an incarnation, which is not 0"
    ) { IncarnationID($0).flatMap { $0.rawValue == 0 ? nil : $0 } }
  }

  package var request: WireRequest {
    var request = Self.route.request()
    request.query["name"] = zone.name.rawValue
    if zone.owner.byteCount > 0 { request.query["owner"] = zone.owner.rawValue }
    request.body = Array(proposed.description.utf8)
    return request
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> IncarnationID {
    try await remote.createZone(zone, proposing: proposed)
  }

  package func response(_ answer: IncarnationID) -> WireResponse {
    WireResponse(
      answer == proposed ? .created : .ok, [.contentType: "text/plain; charset=utf-8"],
      body: Array(answer.description.utf8))
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> IncarnationID {
    guard let found = IncarnationID(String(decoding: response.body, as: UTF8.self)) else {
      throw .malformed("it names no incarnation")
    }
    return found
  }
}

/// ``RemoteLog/deleteZone(_:_:)``
package struct DeleteZone: LogVerb, SilentVerb {
  package static let route = Route(.delete, "/v1/logs/*")
  package let log: LogName

  package init(_ log: LogName) { self.log = log }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) {
    try await remote.deleteZone(log.zone, log.incarnation)
  }
}

/// ``RemoteLog/purgeZone(_:_:)``
package struct PurgeZone: LogVerb, SilentVerb {
  package static let route = Route(.post, "/v1/logs/*/purge")
  package let log: LogName

  package init(_ log: LogName) { self.log = log }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) {
    try await remote.purgeZone(log.zone, log.incarnation)
  }
}

/// ``RemoteLog/resetZone(_:_:)``
package struct ResetZone: LogVerb, SilentVerb {
  package static let route = Route(.post, "/v1/logs/*/reset")
  package let log: LogName

  package init(_ log: LogName) { self.log = log }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) {
    try await remote.resetZone(log.zone, log.incarnation)
  }
}

/// ``RemoteLog/reopenZone(_:_:)``
package struct ReopenZone: LogVerb, SilentVerb {
  package static let route = Route(.post, "/v1/logs/*/reopen")
  package let log: LogName

  package init(_ log: LogName) { self.log = log }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) {
    try await remote.reopenZone(log.zone, log.incarnation)
  }
}
