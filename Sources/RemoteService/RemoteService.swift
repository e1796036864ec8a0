public import HTTPTypes
internal import OperationFormat
internal import RemoteWire
public import Replicator
internal import Synchronization

/// A remote over HTTP: requests, and what they answer. It opens no socket: a server gives it the requests that it reads.
///
/// It never folds a log and never unpacks a segment. <doc:HTTPInterface> lists the requests.
public final class RemoteService: Sendable {
  /// Gives the remote of a caller's account.
  public typealias Remotes = @Sendable (Caller) async throws(RemoteError) -> any RemoteLog

  private let places: Mutex<[String: ServicePlace]> = Mutex([:])
  private let remotes: Remotes
  private let isGateway: Bool
  private let admission: any Admission
  private let budget: CallBudget
  private let clock: NetworkClock
  private let router = Router()

  /// - Parameters:
  ///   - admission: says who calls.
  ///   - limits: how much it does at once.
  ///   - clock: its time.
  ///   - isGateway: whether others use the remotes beside this service, and look there for what has changed.
  ///   - remotes: gives the remote of an account. It is asked once for each.
  public init(
    admission: any Admission, limits: ServiceLimits = ServiceLimits(), clock: NetworkClock = .system,
    isGateway: Bool = false, remotes: @escaping Remotes
  ) {
    (self.admission, self.clock, self.isGateway, self.remotes) = (admission, clock, isGateway, remotes)
    budget = CallBudget(limits, clock)
  }

  /// How many streams of hints and waiting reads are open.
  public var streams: Int { budget.streams }

  /// What becomes of a request whose head was read.
  public enum Admitted: Sendable {
    /// It is refused: its body need not be read.
    case refused(ServiceResponse)
    /// Its body is to be read, and the call then made.
    case call(ServiceCall)
  }

  /// Decides about a request by its head, before anything of its body is kept: who calls, whether that is too much, and
  /// whether there is room for the body.
  ///
  /// - Parameters:
  ///   - head: the head of the request.
  ///   - peer: where it comes from, such as the address of a connection; empty if that is not known.
  public func admit(_ head: HTTPRequest, from peer: String = "") async -> Admitted {
    do {
      let request = try WireRequest(head)
      let target = try router.target(of: request)
      let caller = try await admission.caller(head)
      let key = CallBudget.Key(caller, peer: peer)
      try budget.take(key, isWrite: request.method != .get && !target.isRead)
      let bytesMax = if case .verb(let verb, _) = target { verb.bodyBytesMax } else { 0 }
      let stated = head.headerFields[.contentLength].flatMap { UInt64($0) }
        .map { $0 > UInt64(bytesMax) ? bytesMax + 1 : Int($0) }
      if let stated, stated > bytesMax { return .refused(finished(WireResponse(.bodyTooLarge(bytesMax)))) }
      let hold = try budget.hold(bodyBytes: bytesMax == 0 ? 0 : stated ?? bytesMax)
      return .call(
        ServiceCall(
          service: self, request: request, target: target, place: try await place(of: caller), key: key,
          bodyBytesMax: stated ?? bytesMax, hold: hold))
    } catch {
      return .refused(refusal(error))
    }
  }

  /// Answers a request whose body is all there.
  public func handle(_ request: ServiceRequest) async -> ServiceResponse {
    switch await admit(request.head, from: request.peer) {
    case .refused(let response): response
    case .call(let call): await call.answer(request.body)
    }
  }

  func refusal(_ error: any Error) -> ServiceResponse {
    switch error {
    case let error as RemoteError: finished(WireResponse(error))
    case let problem as WireProblem: finished(WireResponse(problem))
    default:
      finished(
        WireResponse(RemoteError(.system, "the server could not answer: \(error)", hint: "report it")))
    }
  }

  /// Ends all streams and waiting reads, so that a server can stop. What is being written is not cut short.
  public func stop() {
    for place in places.withLock({ Array($0.values) }) { place.bus.close() }
  }

  func answer(_ call: ServiceCall, _ body: [UInt8]) async throws -> ServiceResponse {
    guard body.count <= call.bodyBytesMax else { throw WireProblem.bodyTooLarge(call.bodyBytesMax) }
    switch call.target {
    case .service: return finished(description())
    case .events: return try events(call.place, call.key)
    case .verb(let verb, let free):
      var request = call.request
      request.body = body
      if request.fields[.zone] == nil, verb.route.parts.starts(with: ["v1", "logs"]),
        let log = IncarnationID(free[0])
      {
        request = request.naming(try await call.place.zone(of: log))
      }
      return finished(try await perform(verb, request, free, call))
    }
  }

  private func place(of caller: Caller) async throws(RemoteError) -> ServicePlace {
    if let known = places.withLock({ $0[caller.account] }) { return known }
    let made = ServicePlace(try await remotes(caller))
    return places.withLock { places in
      if let known = places[caller.account] { return known }
      places[caller.account] = made
      return made
    }
  }

  private func finished(_ response: WireResponse) -> ServiceResponse {
    var fields = response.fields
    fields[.version] = "1"
    // What a log has, and what has become of it, changes.
    if fields[.cacheControl] == nil { fields[.cacheControl] = "no-store" }
    if response.status == .unauthorized { fields[.wwwAuthenticate] = "Bearer" }
    return ServiceResponse(
      head: HTTPResponse(status: response.status, headerFields: fields), body: .bytes(response.body))
  }

  // MARK: Calls

  private func perform<Verb: RemoteVerb>(
    _ type: Verb.Type, _ request: WireRequest, _ free: [String], _ call: ServiceCall
  ) async throws -> WireResponse {
    let place = call.place
    let verb = try Verb(request, free)
    var response: WireResponse
    switch verb {
    case let read as ReadLog where read.waitSeconds > 0:
      let answer = try await waiting(read.waitSeconds, for: read, call) { outcome in
        if case .segments(let segments, _) = outcome { segments.isEmpty } else { false }
      } mayConcern: { hint in
        guard case .logs(let logs) = hint, !logs.isEmpty else { return true }
        return logs[read.token.incarnation].map { $0 > read.token.offset } ?? false
      }
      response = read.response(answer)
    case let read as ReadHeads where read.waitSeconds > 0:
      let answer = try await waiting(read.waitSeconds, for: read, call) { heads in
        heads.map { !read.hasNews($0) } ?? false
      } mayConcern: { hint in
        guard case .logs(let logs) = hint, !logs.isEmpty else { return true }
        return read.tokens.contains { token in logs[token.incarnation].map { $0 > token.offset } ?? false }
      }
      response = read.response(answer)
    default:
      response = try verb.response(try await verb.call(place.remote))
    }
    if let hint = Self.hint(of: verb, response) {
      place.bus.tell(hint)
      if isGateway { response.fields[.announce] = "1" }
    }
    return response
  }

  /// What a call has changed.
  private static func hint(of verb: any RemoteVerb, _ response: WireResponse) -> RemoteHint? {
    switch verb {
    case let append as Append where response.status == .created:
      let offset = response.fields[.offset].flatMap { UInt64($0) } ?? 0
      return .logs([append.token.incarnation: offset])
    case let begin as BeginLog: return .logs([begin.snapshot.incarnation: begin.snapshot.offset])
    case let entry as PutBack: return .logs([entry.token.incarnation: entry.entry.offset])
    case is CreateZone, is DeleteZone, is PurgeZone, is ResetZone, is ReopenZone: return .zones
    default: return nil
    }
  }

  /// Calls a remote until it has something to say, or for a while.
  ///
  /// - Parameters:
  ///   - isNothing: whether an answer says nothing.
  ///   - mayConcern: whether a hint may change the answer.
  private func waiting<Verb: RemoteVerb>(
    _ seconds: UInt64, for verb: Verb, _ call: ServiceCall,
    isNothing: (Verb.Answer) -> Bool, mayConcern: (RemoteHint) -> Bool
  ) async throws(RemoteError) -> Verb.Answer {
    let (place, key) = (call.place, call.key)
    let first = try await verb.call(place.remote)
    guard isNothing(first) else { return first }
    try budget.beginStream(key)
    defer { budget.endStream(key) }
    call.hold.end()
    let (number, mailbox) = place.bus.listen()
    defer { place.bus.end(number) }
    let timer = Task { [clock] in
      try? await clock.sleep(.seconds(Int64(seconds)))
      mailbox.close()
    }
    defer { timer.cancel() }
    while true {
      // Also what came since the first look.
      let answer = try await verb.call(place.remote)
      guard isNothing(answer) else { return answer }
      var isConcerned = false
      while !isConcerned {
        guard let hints = await mailbox.next() else { return answer }
        isConcerned = hints.contains(where: mayConcern)
      }
      // Others may write at the same time.
      try? await clock.sleep(.milliseconds(50))
    }
  }

  // MARK: Others

  private func events(_ place: ServicePlace, _ key: CallBudget.Key) throws(RemoteError) -> ServiceResponse {
    try budget.beginStream(key)
    let stream = HintStream(place.bus, clock) { [budget] in budget.endStream(key) }
    let fields: HTTPFields = [
      .contentType: "text/event-stream", .cacheControl: "no-store", .version: "1",
      HTTPField.Name("X-Accel-Buffering")!: "no",
    ]
    return ServiceResponse(
      head: HTTPResponse(status: .ok, headerFields: fields), body: .stream(stream.bytes))
  }

  private func description() -> WireResponse {
    let text = """
      {"tributary": 1, "limits": {"segmentBytes": \(Append.bodyBytesMax), "pageBytes": \(ReadLog.pageBytesMax), \
      "waitSeconds": \(ReadLog.waitSecondsMax), "heads": \(SyncPolicy.headsMax)}}

      """
    return WireResponse(.ok, [.contentType: "application/json"], body: Array(text.utf8))
  }
}
