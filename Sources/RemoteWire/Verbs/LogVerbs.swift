internal import HTTPTypes
package import OperationFormat
package import Replicator

/// ``RemoteLog/append(_:after:)``
package struct Append: RemoteVerb {
  package static let route = Route(.post, "/v1/logs/*")
  package static let bodyBytesMax = SegmentEnvelope.bytesMax
  package let segment: PackedSegment
  package let token: ChangeToken

  package init(_ segment: PackedSegment, after token: ChangeToken) {
    (self.segment, self.token) = (segment, token)
  }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    token = try request.token(free[0])
    let header: SegmentHeader
    do throws(FormatError) {
      header = try SegmentFrame.readHeader(request.body.span.bytes)
    } catch {
      throw WireProblem(status: .unprocessableContent, description: "the body is no segment: \(error)")
    }
    segment = PackedSegment(
      header: header, bytes: request.body,
      formerReceivedMilliseconds: try request.milliseconds(.formerReceived))
  }

  package var request: WireRequest {
    var request = Self.route.request(token.incarnation.description).after(token)
    request.body = segment.bytes
    request.fields[.contentType] = "application/octet-stream"
    request.fields.set(.formerReceived, segment.formerReceivedMilliseconds)
    return request
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> AppendOutcome {
    try await remote.append(segment, after: token)
  }

  package func response(_ answer: AppendOutcome) -> WireResponse {
    var response: WireResponse
    let place: SegmentPlace
    switch answer {
    case .appended(let found): (response, place) = (WireResponse(.created), found)
    case .alreadyThere(let found): (response, place) = (WireResponse(.ok), found)
    case .fork(let found): (response, place) = (WireResponse(.conflict, [.code: "fork"]), found)
    case .overlaps(let found): (response, place) = (WireResponse(.conflict, [.code: "overlaps"]), found)
    case .gone(let fate): return .gone(fate)
    }
    response.fields.set(.offset, place.offset)
    response.fields.set(.received, place.receivedMilliseconds)
    response.fields.set(.chain, place.chain)
    return response
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> AppendOutcome {
    switch response.fields[.code] {
    case "gone": .gone(try response.fate())
    case "fork": .fork(try response.place())
    case "overlaps": .overlaps(try response.place())
    default:
      response.status == .created ? .appended(try response.place()) : .alreadyThere(try response.place())
    }
  }
}

/// ``RemoteLog/segments(after:bytesMax:)``
package struct ReadLog: RemoteVerb {
  package static let route = Route(.get, "/v1/logs/*")
  /// The most bytes that a page may have, but for its first segment.
  package static let pageBytesMax = 8 << 20
  /// The longest wait for the next entry.
  package static let waitSecondsMax: UInt64 = 55

  package let token: ChangeToken
  package let bytesMax: Int
  /// How long the server waits for an entry if there is none.
  package var waitSeconds: UInt64 = 0

  package init(after token: ChangeToken, bytesMax: Int) {
    (self.token, self.bytesMax) = (token, min(max(1, bytesMax), Self.pageBytesMax))
  }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    token = try request.token(free[0])
    bytesMax = try Int(request.number("max", in: 1...UInt64(Self.pageBytesMax)) ?? UInt64(Self.pageBytesMax))
    waitSeconds = try request.number("wait", in: 0...Self.waitSecondsMax) ?? 0
  }

  package var request: WireRequest {
    var request = Self.route.request(token.incarnation.description).after(token)
    request.query["max"] = "\(bytesMax)"
    if waitSeconds > 0 { request.query["wait"] = "\(waitSeconds)" }
    return request
  }

  /// Each segment has an envelope before it, and a page may be many small ones.
  package var answerBytesMax: Int { 2 * max(bytesMax, SegmentEnvelope.bytesMax) }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> FetchOutcome {
    try await remote.segments(after: token, bytesMax: bytesMax)
  }

  package func response(_ answer: FetchOutcome) -> WireResponse {
    switch answer {
    case .gone(let fate): return .gone(fate)
    case .segments(let segments, let hasMore):
      guard let last = segments.last else { return WireResponse(.noContent) }
      var response = WireResponse(.ok, [.contentType: "application/octet-stream"])
      if hasMore { response.fields[.more] = "1" }
      response.fields.set(.offset, last.offset)
      for segment in segments {
        response.body += SegmentEnvelope.encode(
          offset: segment.offset, receivedMilliseconds: segment.receivedMilliseconds, chain: segment.chain,
          segment: segment.bytes.span.bytes)
      }
      return response
    }
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> FetchOutcome {
    if response.fields[.code] == "gone" { return .gone(try response.fate()) }
    let first = token.offset + 1
    let segments = try WireProblem.reading(response.body) { reader throws(FormatError) in
      var segments: [StoredSegment] = []
      while reader.remaining > 0 {
        let start = reader.position
        let rest = reader.bytes(in: start..<start + reader.remaining)
        let envelope = try SegmentEnvelope.readHeader(rest)
        _ = try reader.readBytes(envelope.headerBytes, "page.envelope")
        let bytes = try reader.readBytes(envelope.segmentBytes, "page.segment")
        guard envelope.offset == first + UInt64(segments.count) else {
          throw reader.fail(
            .invalid, at: start, "page.offset", expected: "offset \(first + UInt64(segments.count))",
            found: "\(envelope.offset)")
        }
        segments.append(
          StoredSegment(
            offset: envelope.offset, receivedMilliseconds: envelope.receivedMilliseconds,
            chain: envelope.chain,
            bytes: Array(response.body[bytes])))
      }
      return segments
    }
    return .segments(segments, hasMore: response.fields[.more] == "1")
  }
}

/// ``RemoteLog/putBack(_:after:)``
package struct PutBack: RemoteVerb {
  package static let route = Route(.put, "/v1/logs/*/*")
  package static let bodyBytesMax = SegmentEnvelope.bytesMax
  package let entry: StoredSegment
  package let token: ChangeToken

  package init(_ entry: StoredSegment, after token: ChangeToken) { (self.entry, self.token) = (entry, token) }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    token = try request.token(free[0])
    entry = StoredSegment(
      offset: try request.offset(free[1]), receivedMilliseconds: try request.milliseconds(.received),
      chain: try request.fields[.chain].map { text throws(WireProblem) in
        LogChain(
          hash: try request.parsed(text, "the chain", "a hash of 64 hexadecimal digits", ContentHash.init))
      }, bytes: request.body)
    guard entry.offset == token.offset + 1 else {
      throw .malformed("offset \(entry.offset) is not the one after \(token.offset)")
    }
  }

  package var request: WireRequest {
    var request = Self.route.request(token.incarnation.description, "\(entry.offset)").after(token)
    request.body = entry.bytes
    request.fields.set(.received, entry.receivedMilliseconds)
    request.fields.set(.chain, entry.chain)
    return request
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> Bool {
    try await remote.putBack(entry, after: token)
  }

  package func response(_ answer: Bool) -> WireResponse { .isDone(answer) }
  package func answer(_ response: WireResponse) throws(WireProblem) -> Bool { try response.isDone() }
}

/// ``RemoteLog/heads(of:list:)``
package struct ReadHeads: RemoteVerb {
  package static let route = Route(.post, "/v1/heads")
  package static let bodyBytesMax = 8 << 20
  package let answerBytesMax = 1 << 20
  package let tokens: [ChangeToken]
  package let list: DatabaseToken
  /// How long the server waits for a change if there is none.
  package var waitSeconds: UInt64 = 0

  package init(of tokens: [ChangeToken], list: DatabaseToken) { (self.tokens, self.list) = (tokens, list) }

  // | bytes | what |
  // |---|---|
  // | for each log | zone (varint, and its text), incarnation (16, big-endian), offset (varint), content hash there (32), 1 and |
  // | | the chain there (32), or 0 |

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    guard let list = try request.listToken() else {
      throw .malformed("“remote” is missing, the identity of the remote")
    }
    self.list = list
    tokens = try WireProblem.reading(request.body) { reader throws(FormatError) in
      var tokens: [ChangeToken] = []
      while reader.remaining > 0 {
        let start = reader.position
        let text = try reader.readWireText("heads.zone")
        guard let zone = ZoneID(text), tokens.count < SyncPolicy.headsMax else {
          throw reader.fail(
            .invalid, at: start, "heads.zone", expected: "a zone's text, at most \(SyncPolicy.headsMax)",
            found: "\(text.prefix(80))")
        }
        let incarnation = IncarnationID(rawValue: try reader.readBigEndian("heads.incarnation"))
        var token = ChangeToken.start(of: zone, incarnation)
        token.offset = try reader.readVarint("heads.offset", in: 0...Limits.placeMax)
        token.hash = try ContentHash.read(from: &reader, "heads.hash")
        let hasChain = try reader.readUInt8("heads.hasChain")
        token.chain = hasChain == 0 ? nil : LogChain(hash: try ContentHash.read(from: &reader, "heads.chain"))
        tokens.append(token)
      }
      return tokens
    }
    waitSeconds = try request.number("wait", in: 0...ReadLog.waitSecondsMax) ?? 0
  }

  package var request: WireRequest {
    var writer = ByteWriter()
    for token in tokens {
      writer.append(text: token.zone.description)
      writer.append(bigEndian: token.incarnation.rawValue)
      writer.append(varint: token.offset)
      token.hash.write(to: &writer)
      writer.append(token.chain == nil ? 0 : 1)
      token.chain?.hash.write(to: &writer)
    }
    var request = Self.route.request().after(list)
    request.body = writer.bytes
    if waitSeconds > 0 { request.query["wait"] = "\(waitSeconds)" }
    return request
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> RemoteHeads? {
    try await remote.heads(of: tokens, list: list)
  }

  /// Whether an answer says that something is behind the tokens.
  package func hasNews(_ heads: RemoteHeads) -> Bool {
    let known = Dictionary(tokens.map { ($0.incarnation, $0.offset) }, uniquingKeysWith: max)
    return !heads.isListUnchanged
      || heads.zones.contains { head in
        known[head.incarnation].map { $0 < head.offset || head.isClosed } ?? false
      }
  }

  // | bytes | what |
  // |---|---|
  // | 1 | 1 if the list of zones has nothing after its token |
  // | 25 for each | incarnation (16, big-endian), offset (8, little-endian), 1 if the log is closed |

  package func response(_ answer: RemoteHeads?) -> WireResponse {
    guard let answer else { return WireResponse(.noContent) }
    var writer = ByteWriter()
    writer.append(answer.isListUnchanged ? 1 : 0)
    for head in answer.zones {
      writer.append(bigEndian: head.incarnation.rawValue)
      writer.append(littleEndian: head.offset)
      writer.append(head.isClosed ? 1 : 0)
    }
    return WireResponse(.ok, [.contentType: "application/octet-stream"], body: writer.bytes)
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> RemoteHeads? {
    if response.status == .noContent { return nil }
    return try WireProblem.reading(response.body) { reader throws(FormatError) in
      var heads = RemoteHeads(zones: [], isListUnchanged: try reader.readUInt8("heads.list") == 1)
      while reader.remaining > 0 {
        let incarnation = IncarnationID(rawValue: try reader.readBigEndian("heads.incarnation"))
        let offset: UInt64 = try reader.readLittleEndian("heads.offset")
        heads.zones.append(
          ZoneHead(incarnation, offset: offset, isClosed: try reader.readUInt8("heads.closed") == 1))
      }
      return heads
    }
  }
}

/// ``RemoteLog/announce()``
package struct Announce: SilentVerb {
  package static let route = Route(.post, "/v1/announce")

  package init() {}
  package init(_ request: WireRequest, _ free: [String]) {}
  package var request: WireRequest { Self.route.request() }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) { await remote.announce() }
}
