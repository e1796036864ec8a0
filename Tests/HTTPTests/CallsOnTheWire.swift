import HTTPTypes
import OperationFormat
import RemoteWire
import Replicator
import StoreTesting
import Testing

/// One of each call, with what is hard to send.
enum SampleCalls {
  static let zone = ZoneID(owner: "ali/ce", name: "my lists: 100 % ✓")
  static let log = LogName(zone, IncarnationID(rawValue: 0xABCD))
  static let hash = ContentHash(of: [1, 2, 3].span.bytes)
  static let chain = LogChain(hash: ContentHash(of: [4].span.bytes))
  static let token = ChangeToken(
    zone: zone, incarnation: log.incarnation, offset: 12, hash: hash, chain: chain)
  static let list = DatabaseToken(remote: RemoteID(rawValue: 7), offset: 3, hash: hash)
  static let snapshot = RemoteSnapshot(of: zone, log.incarnation, at: 12, by: ReplicaID(rawValue: 5))
  static let asset = RemoteAsset(AssetReference(hash: hash, byteCount: 5 << 20), of: zone, log.incarnation)
  static let assetManifest = AssetManifest(asset: asset.reference, chunks: [hash, .zero])!
  static let manifest = SnapshotManifest(
    zone: ZoneID(name: zone.name), incarnation: log.incarnation, offset: 12, hash: hash, chain: chain,
    content: hash,
    digest: .zero,
    floor: 4, records: 9, parts: [SnapshotManifest.Part(byteCount: 300, storedBytes: 40, hash: hash)])

  static var segment: PackedSegment {
    get throws {
      var maker = SegmentMaker(zone, log.incarnation, replica: ReplicaID(rawValue: 5), seed: 1)
      var segment = try maker.next()
      segment.formerReceivedMilliseconds = 1_700_000_000_000
      return segment
    }
  }

  static func all() throws -> [any RemoteVerb] {
    var wait = ReadLog(after: token, bytesMax: 4096)
    wait.waitSeconds = 30
    var bare = token
    (bare.hash, bare.chain) = (.zero, nil)
    var heads = ReadHeads(of: [token, .start(of: "other", log.incarnation)], list: list)
    heads.waitSeconds = 55
    return [
      ReadZones(after: nil), ReadZones(after: list), CreateZone(zone, proposing: log.incarnation),
      CreateZone("lists", proposing: log.incarnation), DeleteZone(log), PurgeZone(log), ResetZone(log),
      ReopenZone(log),
      Append(try segment, after: token), Append(try segment, after: bare),
      Append(try segment, after: .start(of: zone, log.incarnation)), wait,
      ReadLog(after: .start(of: zone, log.incarnation), bytesMax: .max),
      PutBack(
        StoredSegment(offset: 13, receivedMilliseconds: 5, chain: chain, bytes: [1, 2]), after: token),
      PutBack(StoredSegment(offset: 13, receivedMilliseconds: nil, bytes: []), after: token), heads,
      ReadHeads(of: [bare], list: .start(of: list.remote)), Announce(),
      ReadAssetState(asset), ReadAssetChunk(1, of: asset),
      PutAssetChunk([1, 2, 3], at: 1, of: asset), FinishAsset(assetManifest, of: log), ReadSnapshots(log),
      ReadSnapshotManifest(of: snapshot), ReadSnapshotPart(3, of: snapshot),
      PutSnapshotPart([9], at: 3, of: snapshot), FinishSnapshot(manifest, of: snapshot),
      RemoveSnapshot(snapshot, parts: 7), BeginLog(of: snapshot), TrimLog(manifest, of: snapshot),
    ]
  }
}

@Suite("Calls of a remote on the wire")
struct CallsOnTheWire {
  @Test("each request says the same once it was read")
  func requests() throws {
    let calls = try SampleCalls.all()
    func check<Verb: RemoteVerb>(_ call: Verb) throws {
      let sent = call.request
      let head = HTTPRequest(
        method: sent.method, scheme: nil, authority: nil, path: sent.target, headerFields: sent.fields)
      let read = try WireRequest(head, body: sent.body)
      #expect(read == sent, "\(sent.target)")
      let matching = remoteVerbs.filter {
        $0.route.method == read.method && $0.route.parameters(of: read.path) != nil
      }
      .sorted { $0.route < $1.route }
      #expect(matching.first == Verb.self, "\(sent.target): \(matching)")
      let free = try #require(Verb.route.parameters(of: read.path))
      #expect(try Verb(read, free).request == sent, "\(sent.target)")
      #expect(sent.body.count <= Verb.bodyBytesMax)
    }
    for call in calls { try check(call) }
    let kinds = Set(calls.map { ObjectIdentifier(type(of: $0)) })
    #expect(kinds == Set(remoteVerbs.map { ObjectIdentifier($0) }), "one of each")
  }

  @Test("each answer says the same once it was read")
  func answers() throws {
    func check<Verb: RemoteVerb>(_ call: Verb, _ answers: [Verb.Answer]) throws where Verb.Answer: Equatable {
      for answer in answers {
        let response = try call.response(answer)
        #expect(response.isAnswer, "\(answer)")
        #expect(response.body.count <= call.answerBytesMax, "\(answer)")
        #expect(try call.answer(response) == answer, "\(answer)")
      }
    }
    let place = SegmentPlace(offset: 12, receivedMilliseconds: 1_700_000_000_000, chain: SampleCalls.chain)
    let bare = SegmentPlace(offset: 1)
    let fates: [ZoneFate] = [.deleted, .purged, .reset, .revoked]
    try check(
      Append(SampleCalls.segment, after: SampleCalls.token),
      [.appended(place), .appended(bare), .alreadyThere(place), .fork(bare), .overlaps(place)]
        + fates.map { AppendOutcome.gone($0) })
    let segments = [
      StoredSegment(offset: 13, receivedMilliseconds: 9, chain: SampleCalls.chain, bytes: [1, 2, 3]),
      StoredSegment(offset: 14, receivedMilliseconds: nil, chain: nil, bytes: []),
    ]
    try check(
      ReadLog(after: SampleCalls.token, bytesMax: 4096),
      [
        .segments([], hasMore: false), .segments(segments, hasMore: true),
        .segments([segments[0]], hasMore: false),
      ]
        + fates.map { FetchOutcome.gone($0) })
    var page = ZoneEventPage(
      events: [ZoneEvent(kind: .created, zone: SampleCalls.zone, incarnation: SampleCalls.log.incarnation)],
      token: SampleCalls.list, hasMore: true, startOffset: 1)
    let empty = ZoneEventPage(events: [], token: .start(of: RemoteID(rawValue: 7)), hasMore: false)
    try check(ReadZones(after: nil), [page, empty])
    page.later = [
      ZoneEvent(kind: ZoneEvent.Kind(rawValue: 99), zone: "x", incarnation: IncarnationID(rawValue: 1))
    ]
    let failure = SyncFailure(
      code: "damaged", message: "event 4 “x”", hint: "repair\nit", scope: .round, offset: 4)
    page.problems = [ZoneListProblem(offset: 4, failure: failure)]
    try check(ReadZones(after: SampleCalls.list), [page])
    try check(
      CreateZone("x", proposing: SampleCalls.log.incarnation),
      [SampleCalls.log.incarnation, IncarnationID(rawValue: 2)])
    let heads = RemoteHeads(
      zones: [
        ZoneHead(SampleCalls.log.incarnation, offset: 40),
        ZoneHead(IncarnationID(rawValue: 2), offset: 0, isClosed: true),
      ], isListUnchanged: true)
    try check(
      ReadHeads(of: [SampleCalls.token], list: SampleCalls.list), [nil, heads, RemoteHeads(zones: [])])
    let states: [RemoteAssetState] =
      [.partial(chunks: 0), .partial(chunks: 1), .whole(SampleCalls.assetManifest)] + fates.map { .gone($0) }
    try check(ReadAssetState(SampleCalls.asset), states)
    try check(FinishAsset(SampleCalls.assetManifest, of: SampleCalls.log), states)
    try check(ReadAssetChunk(0, of: SampleCalls.asset), [nil, [], [1, 2]])
    try check(ReadSnapshotPart(0, of: SampleCalls.snapshot), [nil, [], [1, 2]])
    try check(ReadSnapshots(SampleCalls.log), [nil, [], [SampleCalls.snapshot]])
    try check(ReadSnapshotManifest(of: SampleCalls.snapshot), [nil, SampleCalls.manifest])
    try check(TrimLog(SampleCalls.manifest, of: SampleCalls.snapshot), [nil, 12])
    try check(BeginLog(of: SampleCalls.snapshot), [true, false])
    try check(
      PutBack(StoredSegment(offset: 13, receivedMilliseconds: nil, bytes: []), after: SampleCalls.token),
      [true, false])
  }

  private static let codes: [RemoteError.Code] = [
    .unreachable, .later, .overQuota, .denied, .unauthenticated, .readOnly, .keyOutdated, .segmentRefused,
    .moved,
    .notARemote, .identityMismatch, .newerFormat, .damaged, .damagedSegment, .newerSegment, .missingSegment,
    .quarantined,
    .damagedAsset, .wentBack, .expired, .zoneUnknown, .nameTaken, .unsupported, .mismatch, .unsuitable,
    .schemeUnknown,
    .cancelled, .system, RemoteError.Code(rawValue: "ofALaterVersion"),
  ]

  @Test("each error says the same once it was read", arguments: codes)
  func errors(code: RemoteError.Code) {
    let error = RemoteError(
      code, "zone “lists” is\nnot there", hint: "look, and try again", retryAfterMilliseconds: 1500,
      offset: 9,
      newAddress: "https://new.example/ä")
    var response = WireResponse(error)
    #expect(response.status.code >= 400 && !response.isAnswer)
    response.fields[.version] = "1"
    let read = RemoteError(response, from: "http://x")
    #expect(
      read.code == code && read.message == "zone “lists” is not there" && read.hint == error.hint, "\(read)")
    #expect(
      read.offset == 9 && read.newAddress == error.newAddress && read.retryAfterMilliseconds == 2000,
      "\(read)")
  }

  @Test(
    "what something else answers is told as that",
    arguments: [200, 204, 301, 401, 403, 404, 413, 429, 500, 503])
  func foreign(status: Int) throws {
    let response = WireResponse(
      HTTPResponse.Status(code: status), [.retryAfter: "7"], body: Array("<html>".utf8))
    let error = RemoteError(response, from: "http://x")
    #expect(error.message.contains("http://x answered \(status)"), "\(error)")
    #expect((error.code == .unreachable || error.code == .later) == (status >= 429), "\(error)")
    #expect(error.retryAfterMilliseconds == (status >= 429 ? 7000 : nil), "\(error)")
  }

  @Test("percent-encoding keeps every text, and what is not encoded rightly is refused")
  func percentCoding() {
    for text in ["", "a b", "100%", "/?#&=+", "ü✓\u{0}\r\n", "~-._"] {
      #expect(PercentCoding.decode(PercentCoding.encode(text)) == text)
    }
    for text in ["%", "%4", "%zz", "a%", "%FF", "%C3"] {
      #expect(PercentCoding.decode(text) == nil, "\(text)")
    }
  }
}
