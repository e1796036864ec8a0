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

  /// The most bytes that the body of a request may have. A server that reads more answers with ``refusal(ofBody:)``.
  public func bodyBytesMax(of head: HTTPRequest) -> Int {
    guard let request = try? WireRequest(head), case .verb(let verb, _)? = try? router.target(of: request)
    else {
      return 0
    }
    return verb.bodyBytesMax
  }

  /// What a server answers if a body is too large.
  public func refusal(ofBody head: HTTPRequest) -> ServiceResponse {
    let problem = WireProblem(
      status: .contentTooLarge, description: "the body may have \(bodyBytesMax(of: head)) bytes")
    return finished(WireResponse(problem))
  }

  /// Answers a request.
  public func handle(_ request: ServiceRequest) async -> ServiceResponse {
    do {
      return try await answer(request)
    } catch let error as RemoteError {
      return finished(WireResponse(error))
    } catch let problem as WireProblem {
      return finished(WireResponse(problem))
    } catch {
      return finished(
        WireResponse(RemoteError(.system, "the server could not answer: \(error)", hint: "report it")))
    }
  }

  /// Ends all streams and waiting reads, so that a server can stop. What is being written is not cut short.
  public func stop() {
    for place in places.withLock({ Array($0.values) }) { place.bus.close() }
  }

  private func answer(_ request: ServiceRequest) async throws -> ServiceResponse {
    var wire = try WireRequest(request.head, body: request.body)
    let target = try router.target(of: wire)
    let caller = try await admission.caller(request.head)
    let key = CallBudget.Key(account: caller.account, device: caller.device, peer: request.peer)
    try budget.take(key, isWrite: wire.method != .get && !target.isRead)
    let place = try await place(of: caller)
    switch target {
    case .remote: return finished(description())
    case .events: return try events(place, key)
    case .verb(let verb, let free):
      try budget.take(bodyBytes: wire.body.count)
      defer { budget.give(back: wire.body.count) }
      if wire.fields[.zone] == nil, verb.route.parts.starts(with: ["v1", "logs"]),
        let log = IncarnationID(free[0])
      {
        wire = wire.naming(try await place.zone(of: log))
      }
      return finished(try await call(verb, wire, free, place, key))
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
    return ServiceResponse(
      head: HTTPResponse(status: response.status, headerFields: fields), body: .bytes(response.body))
  }

  // MARK: Calls

  private func call<Verb: RemoteVerb>(
    _ type: Verb.Type, _ request: WireRequest, _ free: [String], _ place: ServicePlace, _ key: CallBudget.Key
  ) async throws -> WireResponse {
    let verb = try Verb(request, free)
    var response: WireResponse
    switch verb {
    case let read as ReadLog where read.waitSeconds > 0:
      let answer = try await waiting(read.waitSeconds, for: read, place, key) { outcome in
        if case .segments(let segments, _) = outcome { segments.isEmpty } else { false }
      } mayConcern: { hint in
        guard case .logs(let logs) = hint, !logs.isEmpty else { return true }
        return logs[read.token.incarnation].map { $0 > read.token.offset } ?? false
      }
      response = read.response(answer)
    case let read as ReadHeads where read.waitSeconds > 0:
      let answer = try await waiting(read.waitSeconds, for: read, place, key) { heads in
        heads.map { !read.hasNews($0) } ?? false
      } mayConcern: { _ in
        true
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
    _ seconds: UInt64, for verb: Verb, _ place: ServicePlace, _ key: CallBudget.Key,
    isNothing: (Verb.Answer) -> Bool, mayConcern: (RemoteHint) -> Bool
  ) async throws(RemoteError) -> Verb.Answer {
    let first = try await verb.call(place.remote)
    guard isNothing(first) else { return first }
    try budget.beginStream(key)
    defer { budget.endStream(key) }
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
