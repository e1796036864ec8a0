import EventStore
import Replicator

/// The network between devices and their remote: calls arrive late, several times or never, and so do their
/// answers.
struct SimulatedNetwork: WorldPart {
  /// After this time a caller no longer waits for an answer. Its request may still be done.
  static let timeoutMilliseconds: Int64 = 30_000
  /// The delay that an overloaded remote asks for.
  static let retryAfterMilliseconds: Int64 = 90_000

  /// Damages an answer.
  ///
  /// - Returns: what was done; nil if there was nothing to damage.
  typealias Damage<Answer> = @Sendable (inout Answer, inout SimulationChoices) -> SimulationFault?
  typealias Request<Answer> = @Sendable () async throws(RemoteError) -> Answer

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Makes the client of a process for the remote.
  func makeRemote(for process: SimulatedProcess) -> any RemoteLog {
    switch configuration.place {
    case .server: SimulatedRemoteLine(world: world, process: process)
    case .objects, .folder:
      place.makeLog(over: SimulatedObjectsLine(world: world, process: process)) { [unowned world] in
        world.wall(of: world.devices[process.device])
      }
    }
  }

  /// Makes a call.
  ///
  /// - Parameters:
  ///   - process: the caller. If it ends first, the answer is dropped.
  ///   - what: what is called, for the trace.
  ///   - writes: whether it would change the remote.
  ///   - damage: damages an answer that carries bytes.
  ///   - request: what is done when the call arrives, each time that it arrives.
  func call<Answer: Sendable>(
    _ process: SimulatedProcess, _ what: String, writes: Bool = false, damage: Damage<Answer>? = nil,
    request: @escaping Request<Answer>
  ) async throws(RemoteError) -> Answer {
    if process.isOver { throw SimulatedProcess.over }
    let result = await withCheckedContinuation { continuation in
      send(process, what, writes, damage, request, SimulatedCall<Answer>(continuation))
    }
    return try result.get()
  }

  private func send<Answer: Sendable>(
    _ process: SimulatedProcess, _ what: String, _ writes: Bool, _ damage: Damage<Answer>?,
    _ request: @escaping Request<Answer>, _ call: SimulatedCall<Answer>
  ) {
    let number = process.open { call.answer(.failure($0)) }
    let fate = drawFate(of: devices[process.device], hasBody: damage != nil)
    let refusal = Self.refusal(fate.refusal, number, writes)
    world.schedule(after: Self.timeoutMilliseconds, in: process) {
      guard process.close(number) else { return }
      note("d\(process.device) \(what): no answer")
      try act(devices[process.device]) { call.answer(.failure(.unreachable)) }
    }
    let arrive = { @Sendable in
      note("d\(process.device) \(what): arrives")
      Task(executorPreference: executor) {
        let result = await Self.result(refusal, request)
        self.answer(process, number, what, result, fate, damage, call)
      }
    }
    if let delay = fate.requestMilliseconds { addArrival(after: delay, arrive) }
    if let delay = fate.repeatMilliseconds { addArrival(after: delay, arrive) }
  }

  /// Schedules an arrival, which takes place even if the caller's process ends.
  private func addArrival(after delay: Int64, _ arrive: @escaping () -> Void) {
    world.schedule(after: delay, in: nil) {
      arrive()
      executor.run()
      try RemoteWatch(world).look()
    }
  }

  /// Which of the refusals a call meets: the number of the call decides.
  private static func refusal(_ refusal: CallFate.Refusal?, _ number: Int, _ writes: Bool) -> RemoteError? {
    switch refusal {
    case .throttled:
      RemoteError(
        .later, "the remote has too much to do", hint: "come back later",
        retryAfterMilliseconds: retryAfterMilliseconds)
    case .unavailable: .unreachable
    case .denied:
      RemoteError(
        SimulationFault.refusals[number % (writes ? SimulationFault.refusals.count : 3)],
        "the user is refused", hint: "sign in again")
    case nil: nil
    }
  }

  private static func result<Answer: Sendable>(
    _ refusal: RemoteError?, _ request: Request<Answer>
  ) async -> Result<Answer, RemoteError> {
    if let refusal { return .failure(refusal) }
    do throws(RemoteError) { return .success(try await request()) } catch { return .failure(error) }
  }

  private func answer<Answer: Sendable>(
    _ process: SimulatedProcess, _ number: Int, _ what: String, _ result: Result<Answer, RemoteError>,
    _ fate: CallFate, _ damage: Damage<Answer>?, _ call: SimulatedCall<Answer>
  ) {
    guard let delay = fate.answerMilliseconds, process.waits(for: number) else { return }
    var result = result
    if fate.isDamaged, let damage, case .success(var answer) = result {
      if let fault = damage(&answer, &world.networkChoices) { mark(fault) }
      result = .success(answer)
    }
    let final = result
    world.schedule(after: delay, in: process) {
      guard process.close(number) else { return }
      if case .failure(let error) = final { note("d\(process.device) \(what): \(error.code)") }
      try act(devices[process.device]) { call.answer(final) }
    }
  }

  // MARK: Faults

  private func drawFate(of device: SimulatedDevice, hasBody: Bool) -> CallFate {
    var fate = CallFate()
    guard !world.isHealed else { return fate }
    fate.requestMilliseconds = Int64(1 + world.networkChoices.next(below: configuration.latencyMilliseconds))
    fate.answerMilliseconds = Int64(1 + world.networkChoices.next(below: configuration.latencyMilliseconds))
    if device.isCutOff {
      mark(.partition)
      fate.requestMilliseconds = nil
      return fate
    }
    if happens(.requestDelayed) { fate.requestMilliseconds = drawMilliseconds(100...10_000) }
    if happens(.requestDelayed) { fate.answerMilliseconds = drawMilliseconds(100...10_000) }
    if happens(.requestDelayedForDays) {
      fate.requestMilliseconds = Int64(world.networkChoices.next(in: 1...90 * 24)) * 3_600_000
    }
    if happens(.requestRepeated) {
      fate.repeatMilliseconds = Int64(
        world.networkChoices.next(in: 1...(world.networkChoices.next(below: 10) == 9 ? 86_400_000 : 5000)))
    }
    if happens(.requestLost) { fate.requestMilliseconds = nil }
    if happens(.answerLost) { fate.answerMilliseconds = nil }
    if happens(.throttled) { fate.refusal = .throttled }
    if happens(.unavailable) { fate.refusal = .unavailable }
    if happens(.denied) { fate.refusal = .denied }
    if hasBody {
      let rate = configuration.rate(.bodyCut) + configuration.rate(.bodyFlipped)
      fate.isDamaged = world.networkChoices.happens(perMille: rate)
    }
    return fate
  }

  private func drawMilliseconds(_ range: ClosedRange<Int>) -> Int64 {
    Int64(world.networkChoices.next(in: range))
  }

  private func happens(_ fault: SimulationFault) -> Bool {
    guard world.networkChoices.happens(perMille: configuration.rate(fault)) else { return false }
    mark(fault)
    return true
  }

  /// Cuts bytes, or flips one bit of them.
  ///
  /// - Returns: what was done; nil if there was nothing to damage.
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

extension RemoteError {
  /// The error of a call without an answer.
  static let unreachable = RemoteError(.unreachable, "the remote does not answer", hint: "try again")
}
