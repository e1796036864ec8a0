import HTTPTypes
import OperationFormat
import RemoteService
import RemoteWire
import Replicator
import StoreTesting
import Synchronization
import Testing

@testable import HTTPRemote

/// Answers what a test says.
private final class FixedTransport: HTTPTransport {
  private let answer: @Sendable (HTTPRequest) async throws -> HTTPAnswer

  init(_ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPAnswer) { self.answer = answer }

  func send(_ request: HTTPRequest, body: [UInt8]) async throws -> HTTPAnswer { try await answer(request) }
}

@Suite("A client of a server")
struct ClientsOfServers {
  private let zone: ZoneID = "lists"
  private let incarnation = IncarnationID(rawValue: 5)

  private func client(
    patience: Duration = .seconds(36_000), clock: NetworkClock = .system,
    _ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPAnswer
  ) throws -> HTTPRemote {
    try HTTPRemote("http://x", patience: patience, transport: FixedTransport(answer), clock: clock)
  }

  private func expect(
    _ code: RemoteError.Code, _ message: String = "", _ body: () async throws -> Void
  ) async {
    await #expect { try await body() } throws: { error in
      guard let error = error as? RemoteError else { return false }
      return error.code == code && error.message.contains(message) && !error.hint.isEmpty
    }
  }

  @Test("An address is of a server, or is refused with what is wrong")
  func addresses() throws {
    let transport = FixedTransport { _ in HTTPAnswer(head: HTTPResponse(status: .ok), bytes: []) }
    for (text, name) in [
      ("http://localhost:8080", "http://localhost:8080"), ("HTTPS://example.org/", "https://example.org"),
      ("https://example.org/a/b//", "https://example.org/a/b"), ("http://[::1]:80/x", "http://[::1]:80/x"),
    ] {
      #expect(try HTTPRemote(text, transport: transport).name == name)
    }
    for text in [
      "", "x", "http:", "http://", "http:///x", "ftp://x", "http://a@b", "http://a b", "http://x?y",
      "http://x/#y", "http://ä",
    ] {
      #expect(throws: RemoteError.self, "\(text)") { try HTTPRemote(text, transport: transport) }
    }
  }

  @Test("A server that says nothing is given up, and so is one that stops in the middle")
  func patience() async throws {
    let silent = try client(patience: .milliseconds(20)) { _ in
      try await Task.sleep(for: .seconds(3600))
      throw CancellationError()
    }
    await expect(.unreachable, "no answer") { try await silent.probe() }
    let stops = try client(patience: .milliseconds(20)) { _ in
      HTTPAnswer(
        head: HTTPResponse(status: .ok, headerFields: [.version: "1"]),
        body: HTTPAnswer.Body { $0.yield([1]) })
    }
    await expect(.unreachable, "no answer") { try await stops.probe() }
    // One that is slow, and makes progress, is waited for.
    let time = TestClock()
    let pieces = Mutex(20)
    let slow = try client(patience: .seconds(10), clock: time.clock) { _ in
      HTTPAnswer(
        head: HTTPResponse(status: .ok, headerFields: [.version: "1"]),
        body: HTTPAnswer.Body {
          time.move(.seconds(9))
          return pieces.withLock { pieces in
            pieces -= 1
            return pieces < 0 ? nil : [0x20]
          }
        })
    }
    try await slow.probe()
  }

  @Test("A call that is cancelled says so")
  func cancelled() async throws {
    let silent = try client { _ in
      try await Task.sleep(for: .seconds(3600))
      throw CancellationError()
    }
    let task = Task { try await silent.probe() }
    try await Task.sleep(for: .milliseconds(5))
    task.cancel()
    await expect(.cancelled) { try await task.value }
  }

  @Test("A call that the server refuses for a short time is sent again, and for a long time not")
  func refusedForAWhile() async throws {
    let sent = Mutex(0)
    @Sendable func answer(_ seconds: Int, times: Int) -> HTTPAnswer {
      let number = sent.withLock { sent in
        sent += 1
        return sent
      }
      var fields: HTTPFields = [.version: "1"]
      if number > times {
        return HTTPAnswer(head: HTTPResponse(status: .noContent, headerFields: fields), bytes: [])
      }
      (fields[.code], fields[.retryAfter]) = ("later", "\(seconds)")
      return HTTPAnswer(head: HTTPResponse(status: .serviceUnavailable, headerFields: fields), bytes: [])
    }
    try await client { _ in answer(0, times: 3) }.deleteZone(zone, incarnation)
    #expect(sent.withLock { $0 } == 4)
    sent.withLock { $0 = 0 }
    let busy = try client { _ in answer(3600, times: 1) }
    await expect(.later) { try await busy.deleteZone(zone, incarnation) }
    #expect(sent.withLock { $0 } == 1)
  }

  @Test("What is no server of Tributary, or one of a later protocol, is told as that")
  func others() async throws {
    let page = try client { _ in HTTPAnswer(head: HTTPResponse(status: .ok), bytes: Array("<html>".utf8)) }
    await expect(.notARemote, "something else") { try await page.probe() }
    await expect(.notARemote) { _ = try await page.zoneEvents(after: nil) }
    let later = try client { _ in
      HTTPAnswer(head: HTTPResponse(status: .ok, headerFields: [.version: "2"]), bytes: [])
    }
    await expect(.newerFormat, "version 2") { try await later.probe() }
    let moved = try client { _ in
      HTTPAnswer(head: HTTPResponse(status: .found, headerFields: [.location: "http://y"]), bytes: [])
    }
    await expect(.notARemote, "302") { try await moved.probe() }
  }

  @Test("An answer that has no end is given up")
  func endless() async throws {
    let sent = Mutex(0)
    let endless = try client { _ in
      HTTPAnswer(
        head: HTTPResponse(status: .ok, headerFields: [.version: "1"]),
        body: HTTPAnswer.Body {
          sent.withLock { $0 += 1 << 16 }
          return [UInt8](repeating: 0, count: 1 << 16)
        })
    }
    await expect(.unreachable, "more than") { try await endless.probe() }
    await expect(.unreachable, "more than") {
      _ = try await endless.assetChunk(
        at: 0, of: RemoteAsset(AssetReference(hash: .zero, byteCount: 9), of: zone, incarnation))
    }
    #expect(sent.withLock { $0 } < 16 << 20)
  }

  @Test("No bytes that a server may send end a client otherwise than by an answer or an error")
  func anyBytes() async throws {
    let calls = try SampleCalls.all()
    var random = SeededRandom(seed: 5)
    let place = SegmentPlace(offset: 13, receivedMilliseconds: 4, chain: SampleCalls.chain)
    let segment = StoredSegment(
      offset: 13, receivedMilliseconds: 9, chain: SampleCalls.chain, bytes: [1, 2, 3])
    var page = ZoneEventPage(
      events: [ZoneEvent(kind: .created, zone: zone, incarnation: incarnation)], token: SampleCalls.list,
      hasMore: true)
    page.problems = [
      ZoneListProblem(
        offset: 4, failure: SyncFailure(code: "x", message: "y", hint: "z", scope: .round, offset: 4))
    ]
    let whole: [WireResponse] = [
      try ReadZones(after: nil).response(page),
      ReadLog(after: SampleCalls.token, bytesMax: 9).response(.segments([segment], hasMore: true)),
      Append(try SampleCalls.segment, after: SampleCalls.token).response(.overlaps(place)),
      ReadHeads(of: [], list: SampleCalls.list).response(
        RemoteHeads(zones: [ZoneHead(incarnation, offset: 4)])),
      ReadSnapshots(SampleCalls.log).response([SampleCalls.snapshot]),
      ReadSnapshotManifest(of: SampleCalls.snapshot).response(SampleCalls.manifest),
      ReadAssetState(SampleCalls.asset).response(.whole(SampleCalls.assetManifest)),
      WireResponse(RemoteError(.expired, "a", hint: "b", offset: 3)), .gone(.purged), .isDone(true),
    ]
    func answer(_ call: some RemoteVerb, _ response: WireResponse) {
      guard response.isAnswer else {
        _ = RemoteError(response, from: "x")
        return
      }
      _ = try? call.answer(response)
    }
    for _ in 0..<WideTests.choose(40_000, otherwise: 4000) {
      var response = whole[Int.random(in: whole.indices, using: &random)]
      for _ in 0..<Int.random(in: 0...3, using: &random) where !response.body.isEmpty {
        let index = Int.random(in: response.body.indices, using: &random)
        switch Int.random(in: 0...3, using: &random) {
        case 0: response.body[index] = UInt8.random(in: 0...255, using: &random)
        case 1: response.body.removeSubrange(index...)
        case 2: response.body.insert(contentsOf: [0xFF, 0xFF, 0xFF, 0xFF, 0x0F], at: index)
        default:
          response.fields[.offset] = ["", "-1", "99999999999999999999999", "0", "x"].randomElement(
            using: &random)
        }
      }
      if Bool.random(using: &random) {
        response.status = [.ok, .created, .noContent, .notFound, .conflict, .gone, .found].randomElement(
          using: &random)!
      }
      let call = calls[Int.random(in: calls.indices, using: &random)]
      answer(call, response)
    }
  }

  @Test("A page of which the offsets are not those asked for is refused")
  func offsets() throws {
    let read = ReadLog(after: SampleCalls.token, bytesMax: 99)
    for offset in [1, 12, 14] as [UInt64] {
      let segment = StoredSegment(offset: offset, receivedMilliseconds: nil, chain: nil, bytes: [1])
      #expect(throws: WireProblem.self) {
        try read.answer(read.response(.segments([segment], hasMore: false)))
      }
    }
  }

  @Test("A client is told what others do, by the server's stream")
  func hints() async throws {
    let service = RemoteService(MemoryRemote(identity: RemoteID(rawValue: 1)))
    let (one, two) = (try service.door(), try service.door())
    _ = try await two.createZone(zone, proposing: incarnation)
    let told = Mutex<[RemoteHint]>([])
    let listening = Task { for await hint in one.changes() { told.withLock { $0.append(hint) } } }
    try await until("the stream") { service.streams == 1 }
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 5))
    _ = try await two.append(try maker.next(), after: 0)
    try await until("the entry") { told.withLock { $0 } == [.logs([incarnation: 1])] }
    listening.cancel()
    try await until("the end") { service.streams == 0 }
  }

  @Test("Events are read however they are cut, and unknown ones may be anything")
  func events() throws {
    let text = """
      : hints\r\n\r\nevent: heads\ndata: \(incarnation) 4\ndata: x\ndata: \(IncarnationID(rawValue: 6)) 9\n\nretry: 1500\n\n\
      event: zones\rdata:\r\r:\n\nevent: later\ndata: 5\n\nid: 7\n\nevent:heads\n\n
      """
    let bytes = Array(text.utf8)
    for size in 1...bytes.count {
      var parser = EventParser()
      var found: [EventParser.Event] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        found += try parser.take(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      #expect(
        found.compactMap(\.hint) == [
          .logs([incarnation: 4, IncarnationID(rawValue: 6): 9]), .zones, .anything, .logs([:]),
        ])
      #expect(found.compactMap(\.retry) == [.milliseconds(1500)])
    }
    var parser = EventParser()
    #expect(throws: RemoteError.self) { try parser.take([UInt8](repeating: 0x61, count: 2 << 20)) }
  }

  @Test(
    "A stream that is mute is opened again, and then the server is asked in requests that it answers late")
  func muteStreams() async throws {
    // Each stream is refused by what is between: it is tried again, and again.
    let opened = Mutex(0)
    let remote = try client { request in
      #expect(request.path == "/v1/events")
      opened.withLock { $0 += 1 }
      return HTTPAnswer(
        head: HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "0"]), bytes: [])
    }
    let listening = Task { for await _ in remote.changes() {} }
    try await until("streams") { opened.withLock { $0 } >= 3 }
    listening.cancel()
    // What is no server of Tributary is not asked again.
    let other = try client { _ in HTTPAnswer(head: HTTPResponse(status: .notFound), bytes: []) }
    for await _ in other.changes() {}
  }
}
