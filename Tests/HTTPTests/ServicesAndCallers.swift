import HTTPRemote
import HTTPTypes
import OperationFormat
import RemoteService
import RemoteWire
import Replicator
import StoreTesting
import Synchronization
import Testing

/// A time that a test moves.
final class TestClock: Sendable {
  private struct State {
    var now: Int64 = 0
    var sleepers: [UInt64: (at: Int64, continuation: CheckedContinuation<Void, Never>)] = [:]
    var next: UInt64 = 0
  }

  private let state = Mutex(State())

  var clock: NetworkClock {
    NetworkClock(
      now: { self.state.withLock { $0.now } }, sleep: { try await self.sleep($0) }, makeRandom: { 512 })
  }

  /// How many wait.
  var sleepers: Int { state.withLock { $0.sleepers.count } }

  private func sleep(_ duration: Duration) async throws {
    let nanoseconds =
      duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if Task.isCancelled { return true }
          state.sleepers[number] = (state.now + nanoseconds, continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume()
    }
    try Task.checkCancellation()
  }

  func move(_ duration: Duration) {
    let woken = state.withLock { state in
      state.now +=
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
      let woken = state.sleepers.filter { $0.value.at <= state.now }
      for number in woken.keys { state.sleepers[number] = nil }
      return woken.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume() }
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

@Suite("A service and its callers")
struct ServicesAndCallers {
  private let zone: ZoneID = "lists"
  private let incarnation = IncarnationID(rawValue: 5)

  private func remote() -> MemoryRemote { MemoryRemote(identity: RemoteID(rawValue: 1)) }

  private func request(
    _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = HTTPFields(), body: [UInt8] = []
  ) -> ServiceRequest {
    ServiceRequest(
      head: HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields),
      body: body)
  }

  private func text(_ response: ServiceResponse) -> String {
    if case .bytes(let bytes) = response.body { String(decoding: bytes, as: UTF8.self) } else { "a stream" }
  }

  @Test("Without the secret nothing is answered but that")
  func secrets() async throws {
    #expect(SharedSecret("short") == nil)
    let secret = "a secret of some length"
    let service = RemoteService(remote(), admission: try #require(SharedSecret(secret)))
    for path in ["/v1/remote", "/v1/zones", "/v1/events", "/v1/logs/\(incarnation)"] {
      for field in [nil, "Bearer", "Bearer \(secret)x", "Basic \(secret)", secret] {
        var fields = HTTPFields()
        fields.set(.authorization, field)
        let response = await service.handle(request(.get, path, fields))
        #expect(
          response.head.status == .unauthorized && response.code == "unauthenticated",
          "\(path) \(field ?? "")")
      }
    }
    #expect(
      await service.handle(request(.get, "/v1/remote", [.authorization: "Bearer \(secret)"])).head.status
        == .ok)
    let door = try service.door(secret: secret)
    try await door.probe()
    #expect(try await door.zoneEvents(after: nil).events.isEmpty)
    let other = try service.door(secret: "another secret, as long")
    await #expect { try await other.probe() } throws: { ($0 as? RemoteError)?.code == .unauthenticated }
  }

  @Test("What is no call is refused with what is wrong")
  func malformed() async throws {
    let service = RemoteService(remote())
    let log = "/v1/logs/\(incarnation)"
    let zoneField: HTTPFields = [.zone: "lists"]
    let cases: [(HTTPRequest.Method, String, HTTPFields, Int)] = [
      (.get, "/", [:], 404), (.get, "/v2/remote", [:], 404), (.get, "/v1/nothing", [:], 404),
      (.get, "/v1/logs/", [:], 404), (.put, "/v1/zones", [:], 400), (.patch, "/v1/zones", [:], 405),
      (.delete, "/v1/heads", [:], 405),
      (.get, "/v1/zones?after=1", [:], 400), (.get, "/v1/zones?remote=x", [:], 400),
      (.get, "/v1/zones?after=%", [:], 400),
      (.get, "/v1/%FF", [:], 400), (.get, "\(log)?after=x", zoneField, 400),
      (.get, "\(log)?after=-1", zoneField, 400), (.get, "\(log)?after=99999999999999999999", zoneField, 400),
      (.get, "\(log)?after=1&hash=12", zoneField, 400), (.get, "\(log)?after=1&after=2", zoneField, 400),
      (.get, "\(log)?max=0", zoneField, 400), (.get, "\(log)?wait=56", zoneField, 400),
      (.get, "/v1/logs/x", zoneField, 400), (.get, log, [.zone: "%2"], 400), (.get, log, [.zone: ""], 400),
      (.get, log, [:], 404), (.put, "\(log)/0", zoneField, 400),
      (.put, "\(log)/18446744073709551615", zoneField, 400), (.put, "\(log)/x", zoneField, 400),
      (.put, "\(log)/2", zoneField, 400), (.post, log, zoneField, 422), (.post, "/v1/heads", [:], 400),
      (.put, "/v1/zones?name=lists", [:], 400),
      (.put, "/v1/zones?name=\(String(repeating: "x", count: 129))", [:], 400),
      (.get, "\(log)/snapshots/0/\(ReplicaID(rawValue: 1))/manifest", zoneField, 400),
      (.get, "\(log)/snapshots/1/x/0", zoneField, 400),
      (.get, "\(log)/snapshots/1/\(ReplicaID(rawValue: 1))/65536", zoneField, 400),
      (.get, "\(log)/assets/x", zoneField, 400),
      (.get, "\(log)/assets/\(ContentHash.zero)-x", zoneField, 400),
    ]
    for (method, path, fields, status) in cases {
      let response = await service.handle(request(method, path, fields))
      #expect(response.head.status.code == status, "\(method) \(path): \(text(response))")
      #expect(response.code != nil && response.head.headerFields[.version] == "1", "\(method) \(path)")
      #expect(
        response.head.headerFields[.cacheControl] == "no-store" && text(response).hasSuffix("\n"), "\(path)")
    }
  }

  @Test("A body that is too large is refused by its head, or once it has a byte too many")
  func largeBodies() async throws {
    let service = RemoteService(remote())
    let path = "/v1/zones?name=lists"
    guard case .refused(let stated) = await service.admit(request(.put, path, [.contentLength: "65"]).head)
    else {
      Issue.record("it was admitted")
      return
    }
    #expect(stated.head.status == .contentTooLarge)
    guard case .call(let call) = await service.admit(request(.put, path).head) else {
      Issue.record("it was refused")
      return
    }
    #expect(call.bodyBytesMax == 64)
    #expect(await call.answer([UInt8](repeating: 0x30, count: 65)).head.status == .contentTooLarge)
    #expect(await service.handle(request(.get, "/v1/zones", body: [1])).head.status == .contentTooLarge)
  }

  @Test("Nothing of a body is read of who is not known, or for which there is no room")
  func roomForBodies() async throws {
    var limits = ServiceLimits.unlimited
    limits.bodyBytes = 100
    let secret = "a secret of some length"
    let service = RemoteService(remote(), limits: limits, admission: try #require(SharedSecret(secret)))
    let path = "/v1/zones?name=lists"
    guard case .refused(let unknown) = await service.admit(request(.put, path).head) else {
      Issue.record("it was admitted")
      return
    }
    #expect(unknown.head.status == .unauthorized && unknown.head.headerFields[.wwwAuthenticate] == "Bearer")
    let known = request(.put, path, [.authorization: "Bearer \(secret)"]).head
    do {
      guard case .call = await service.admit(known) else {
        Issue.record("it was refused")
        return
      }
    }
    // What was given up has no room any more.
    guard case .call(let first) = await service.admit(known),
      case .refused(let second) = await service.admit(known)
    else {
      Issue.record("there is room for two")
      return
    }
    #expect(second.head.status == .serviceUnavailable)
    _ = await first.answer([])
    guard case .call = await service.admit(known) else {
      Issue.record("its room was not given back")
      return
    }
  }

  @Test("A server without a secret takes nothing from web pages, by whatever name they call it")
  func webPages() async throws {
    let service = RemoteService(remote(), admission: OpenAdmission(hosts: ["localhost", "[::1]"]))
    for (authority, origin, status) in [
      ("localhost:80", nil, 200), ("[::1]:80", nil, 200), ("[::1]", nil, 200), ("evil.example", nil, 403),
      ("localhost:80", "http://evil.example", 403), ("localhost", "null", 403),
    ] as [(String, String?, Int)] {
      var fields = HTTPFields()
      fields.set(HTTPField.Name("Origin")!, origin)
      let head = HTTPRequest(
        method: .get, scheme: "http", authority: authority, path: "/v1/zones", headerFields: fields)
      let response = await service.handle(ServiceRequest(head: head))
      #expect(response.head.status.code == status, "\(authority) \(origin ?? "")")
      #expect(response.head.headerFields[.cacheControl] == "no-store")
    }
  }

  @Test("A log is found without its zone, and a page is read with curl alone")
  func withoutZone() async throws {
    let remote = remote()
    let service = RemoteService(remote)
    let made = await service.handle(request(.put, "/v1/zones?name=lists", body: Array("\(incarnation)".utf8)))
    #expect(made.head.status == .created && text(made) == "\(incarnation)")
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 5))
    let segment = try maker.next()
    let sent = await service.handle(request(.post, "/v1/logs/\(incarnation)", body: segment.bytes))
    #expect(sent.head.status == .created && sent.head.headerFields[.offset] == "1", "\(text(sent))")
    let page = await service.handle(request(.get, "/v1/logs/\(incarnation)"))
    #expect(page.head.status == .ok && page.head.headerFields[.offset] == "1", "\(text(page))")
    let gone = await service.handle(request(.delete, "/v1/logs/\(incarnation)"))
    #expect(gone.head.status == .noContent)
    let next = "/v1/logs/\(incarnation)?after=1&hash=\(segment.header.contentHash)"
    let after = await service.handle(request(.get, next))
    #expect(after.head.status == .gone && after.head.headerFields[.fate] == "deleted")
  }

  @Test("Who sends too much is refused for longer and longer, and others are not")
  func rates() async throws {
    let time = TestClock()
    var limits = ServiceLimits.unlimited
    limits.reads = ServiceLimits.Rate(perSecond: 1, burst: 3)
    let service = RemoteService(remote(), limits: limits, clock: time.clock)
    func ask(_ device: String) async -> ServiceResponse {
      await service.handle(request(.get, "/v1/zones", [.device: device]))
    }
    for _ in 0..<3 { #expect(await ask("one").head.status == .ok) }
    var waits: [Int] = []
    for _ in 0..<4 {
      let refused = await ask("one")
      #expect(refused.head.status == .serviceUnavailable && refused.code == "later")
      waits.append(try #require(refused.head.headerFields[.retryAfter].flatMap { Int($0) }))
    }
    #expect(waits == waits.sorted() && waits[3] >= 4 * waits[0], "\(waits)")
    #expect(await ask("two").head.status == .ok)
    time.move(.seconds(2))
    for _ in 0..<2 { #expect(await ask("one").head.status == .ok) }
    #expect(await ask("one").head.status == .serviceUnavailable)
  }

  @Test("Streams and waiting reads are counted, and count no more once they end")
  func streams() async throws {
    let time = TestClock()
    var limits = ServiceLimits.unlimited
    limits.streamsOfDevice = 2
    let service = RemoteService(remote(), limits: limits, clock: time.clock)
    _ = await service.handle(request(.put, "/v1/zones?name=lists", body: Array("\(incarnation)".utf8)))
    var streams: [ServiceResponse] = []
    for _ in 0..<2 { streams.append(await service.handle(request(.get, "/v1/events"))) }
    #expect(streams.allSatisfy { $0.head.status == .ok } && service.streams == 2)
    let refused = await service.handle(request(.get, "/v1/events"))
    #expect(refused.head.status == .serviceUnavailable && refused.code == "later")
    streams = []
    #expect(service.streams == 0)
    let waiting = Task { await service.handle(request(.get, "/v1/logs/\(incarnation)?wait=30")) }
    try await until("the waiting read") { service.streams == 1 && time.sleepers == 1 }
    time.move(.seconds(30))
    #expect(await waiting.value.head.status == .noContent)
    #expect(service.streams == 0)
  }

  @Test("A waiting read is answered once the log has another entry, and not by that of another log")
  func waiting() async throws {
    let time = TestClock()
    let service = RemoteService(remote(), clock: time.clock)
    let door = try service.door()
    let other = IncarnationID(rawValue: 6)
    _ = try await door.createZone(zone, proposing: incarnation)
    _ = try await door.createZone("others", proposing: other)
    let isOver = Mutex(false)
    let waiting = Task {
      let response = await service.handle(request(.get, "/v1/logs/\(incarnation)?wait=55"))
      isOver.withLock { $0 = true }
      return response
    }
    try await until("the waiting read") { service.streams == 1 }
    var makerOfOther = SegmentMaker("others", other, replica: ReplicaID(rawValue: 5))
    _ = try await door.append(try makerOfOther.next(), after: .start(of: "others", other))
    try await Task.sleep(for: .milliseconds(20))
    #expect(!isOver.withLock { $0 })
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 5))
    _ = try await door.append(try maker.next(), after: .start(of: zone, incarnation))
    // What comes at the same time comes in one answer.
    try await until("the answer") {
      time.move(.milliseconds(50))
      return isOver.withLock { $0 }
    }
    let response = await waiting.value
    #expect(response.head.status == .ok && response.head.headerFields[.offset] == "1")
  }

  @Test("A stream says what changes, merges what comes at once, and ends as the service stops")
  func hints() async throws {
    let time = TestClock()
    let service = RemoteService(remote(), clock: time.clock)
    let door = try service.door()
    guard case .stream(let stream) = await service.handle(request(.get, "/v1/events")).body else {
      Issue.record("no stream")
      return
    }
    let said = Mutex("")
    let reading = Task {
      for await piece in stream { said.withLock { $0 += String(decoding: piece, as: UTF8.self) } }
    }
    try await until("the first bytes") { said.withLock { $0 } == ": hints\n\n" }
    _ = try await door.createZone(zone, proposing: incarnation)
    try await until("the zone") { said.withLock { $0.hasSuffix("event: zones\ndata:\n\n") } }
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 5))
    for offset in 0..<3 as Range<UInt64> { _ = try await door.append(try maker.next(), after: offset) }
    try await until("the pause") { time.sleepers > 0 }
    time.move(.milliseconds(200))
    try await until("the entries") {
      said.withLock { $0.hasSuffix("event: heads\ndata: \(incarnation) 3\n\n") && !$0.contains(" 2\n") }
    }
    try await until("the next pause") { time.sleepers > 0 }
    time.move(.milliseconds(200))
    try await until("the beat") {
      time.move(.seconds(20))
      return said.withLock { $0.hasSuffix("\n\n:\n\n") }
    }
    service.stop()
    await reading.value
    #expect(said.withLock { $0.contains("retry: 1512\n\n") }, "\(said.withLock { $0 })")
    #expect(service.streams == 0)
    // A stream that is asked for now ends at once.
    guard case .stream(let late) = await service.handle(request(.get, "/v1/events")).body else { return }
    for await _ in late {}
  }
}
