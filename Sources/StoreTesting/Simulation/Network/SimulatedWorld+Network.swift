import EventStore
import Replicator

extension SimulatedWorld {
  /// After this a caller no longer waits for an answer. What it asked for may still be done.
  static let timeoutMilliseconds: Int64 = 30_000
  /// How long a remote that has too much to do asks to wait.
  static let retryAfterMilliseconds: Int64 = 90_000

  /// Makes a call over the network: it arrives, or not, and so does its answer.
  ///
  /// - Parameters:
  ///   - process: who calls. If it ends first, nobody hears the answer.
  ///   - what: what is called, for the trace.
  ///   - damage: spoils an answer that carries bytes.
  ///   - request: what is done where it arrives; done again if it arrives again.
  func call<Answer: Sendable>(
    _ process: SimulatedProcess, _ what: String,
    damage: (@Sendable (inout Answer, inout SimulationChoices) -> SimulationFault?)? = nil,
    request: @escaping @Sendable () async throws(RemoteError) -> Answer
  ) async throws(RemoteError) -> Answer {
    if process.isOver { throw SimulatedProcess.over }
    let result = await withCheckedContinuation { continuation in
      send(process, what, damage, request, SimulatedCall<Answer>(continuation))
    }
    return try result.get()
  }

  private func send<Answer: Sendable>(
    _ process: SimulatedProcess, _ what: String,
    _ damage: (@Sendable (inout Answer, inout SimulationChoices) -> SimulationFault?)?,
    _ request: @escaping @Sendable () async throws(RemoteError) -> Answer, _ call: SimulatedCall<Answer>
  ) {
    let number = process.open { call.answer(.failure($0)) }
    let fate = drawFate(of: devices[process.device], hasBody: damage != nil)
    queue.add(at: now + Self.timeoutMilliseconds, process) { [self] in
      guard process.close(number) else { return }
      note("d\(process.device) \(what): no answer")
      try act(devices[process.device]) { call.answer(.failure(Self.unreachable)) }
    }
    let arrive = { @Sendable [self] in
      note("d\(process.device) \(what): arrives")
      Task(executorPreference: executor) {
        let result = await Self.result(fate.refusal, request)
        self.answer(process, number, what, result, fate, damage, call)
      }
    }
    if let delay = fate.requestMilliseconds { addArrival(at: now + delay, arrive) }
    if let delay = fate.repeatMilliseconds { addArrival(at: now + delay, arrive) }
  }

  /// A request that arrives does so whatever became of its caller.
  private func addArrival(at milliseconds: Int64, _ arrive: @escaping () -> Void) {
    queue.add(at: milliseconds, nil) { [self] in
      arrive()
      executor.run()
      try observeRemote()
    }
  }

  private static func result<Answer: Sendable>(
    _ refusal: CallFate.Refusal?, _ request: @Sendable () async throws(RemoteError) -> Answer
  ) async -> Result<Answer, RemoteError> {
    switch refusal {
    case .throttled:
      return .failure(
        RemoteError(
          .later, "the remote has too much to do", hint: "come back later",
          retryAfterMilliseconds: retryAfterMilliseconds))
    case .unavailable: return .failure(unreachable)
    case .denied: return .failure(RemoteError(.denied, "the user is refused", hint: "sign in again"))
    case nil:
      do throws(RemoteError) { return .success(try await request()) } catch { return .failure(error) }
    }
  }

  private func answer<Answer: Sendable>(
    _ process: SimulatedProcess, _ number: Int, _ what: String, _ result: Result<Answer, RemoteError>,
    _ fate: CallFate, _ damage: (@Sendable (inout Answer, inout SimulationChoices) -> SimulationFault?)?,
    _ call: SimulatedCall<Answer>
  ) {
    guard let delay = fate.answerMilliseconds, process.waits(for: number) else { return }
    var result = result
    if fate.isDamaged, let damage, case .success(var answer) = result {
      if let fault = damage(&answer, &network) { mark(fault) }
      result = .success(answer)
    }
    let final = result
    queue.add(at: now + delay, process) { [self] in
      guard process.close(number) else { return }
      if case .failure(let error) = final { note("d\(process.device) \(what): \(error.code)") }
      try act(devices[process.device]) { call.answer(final) }
    }
  }

  private func drawFate(of device: SimulatedDevice, hasBody: Bool) -> CallFate {
    var fate = CallFate()
    guard !isHealed else { return fate }
    fate.requestMilliseconds = Int64(1 + network.next(below: configuration.latencyMilliseconds))
    fate.answerMilliseconds = Int64(1 + network.next(below: configuration.latencyMilliseconds))
    if device.isCutOff {
      mark(.partition)
      fate.requestMilliseconds = nil
      return fate
    }
    if happens(.requestDelayed) { fate.requestMilliseconds = Int64(network.next(in: 100...10_000)) }
    if happens(.requestDelayed) { fate.answerMilliseconds = Int64(network.next(in: 100...10_000)) }
    if happens(.requestDelayedForDays) {
      fate.requestMilliseconds = Int64(network.next(in: 1...90 * 24)) * 3_600_000
    }
    if happens(.requestRepeated) {
      fate.repeatMilliseconds = Int64(
        network.next(in: 1...(network.next(below: 10) == 9 ? 86_400_000 : 5000)))
    }
    if happens(.requestLost) { fate.requestMilliseconds = nil }
    if happens(.answerLost) { fate.answerMilliseconds = nil }
    if happens(.throttled) { fate.refusal = .throttled }
    if happens(.unavailable) { fate.refusal = .unavailable }
    if happens(.denied) { fate.refusal = .denied }
    if hasBody {
      let rate = configuration.rate(.bodyCut) + configuration.rate(.bodyFlipped)
      fate.isDamaged = network.happens(perMille: rate)
    }
    return fate
  }

  private func happens(_ fault: SimulationFault) -> Bool {
    guard network.happens(perMille: configuration.rate(fault)) else { return false }
    mark(fault)
    return true
  }

  static let unreachable = RemoteError(.unreachable, "the remote does not answer", hint: "try again")

  /// Cuts bytes, or turns one bit of them.
  ///
  /// - Returns: what was done; nil if there was nothing to spoil.
  func spoil(_ bytes: inout [UInt8], _ choices: inout SimulationChoices) -> SimulationFault? {
    let (cuts, flips) = (configuration.rate(.bodyCut), configuration.rate(.bodyFlipped))
    guard !bytes.isEmpty, cuts + flips > 0 else { return nil }
    let index = choices.next(below: bytes.count)
    if choices.next(below: cuts + flips) < cuts {
      bytes.removeLast(bytes.count - index)
      return .bodyCut
    }
    bytes[index] ^= 1 << UInt8(choices.next(below: 8))
    return .bodyFlipped
  }
}
