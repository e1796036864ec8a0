import EventStore
import OperationFormat
import Replicator

/// A world: time, the queue of what happens next, and devices. One seed determines all of it.
///
/// The parts of a world act on it and check it. Each is a type of its own (see ``WorldPart``), and the world
/// knows none of them: ``WorldHooks`` has what the world must call.
///
/// It is `@unchecked Sendable` since all of it runs on one thread, which runs the plan: the stores write
/// there, and tasks run on the world's own executor.
final class SimulatedWorld: @unchecked Sendable {
  let plan: SimulationPlan
  let options: SimulationOptions
  var configuration: SimulationConfiguration { plan.configuration }
  let directory: TemporaryDirectory
  let executor = SimulatedExecutor()
  /// The remote.
  let place: SimulatedPlace
  /// What is true in this world, which the checkers compare stores with.
  let facts = SimulationFacts()
  private(set) var devices: [SimulatedDevice] = []
  /// What the world calls in its parts. It is set before the first event.
  var hooks = WorldHooks()
  /// Draws the times of what happens while the world runs.
  var timing: SimulationChoices
  /// Draws what the network does to calls.
  var networkChoices: SimulationChoices
  /// Draws what disks do to commits and files.
  var diskChoices: SimulationChoices

  /// Events and steps of the plan so far.
  private(set) var steps = 0
  /// Whether faults have ended.
  private(set) var isHealed = false
  /// Whether the facts still hold for all stores. False once two stores share an identity, or a peer sends
  /// false segments.
  private(set) var isModelled = true
  /// Whether a verification runs, which would report a failed call for an asset's file as damage.
  private(set) var isVerifying = false
  /// Whether the world has come to rest once.
  var hasRested = false
  private(set) var trace: SimulationTrace
  private(set) var coverage = SimulationCoverage()

  private let clock = SimulatedClock()
  private var queue = SimulatedQueue()
  /// The most steps of a fold in one commit; nil for the engine's own bound.
  private let foldStepsMax: Int?
  /// The first error of a task, which cannot throw to the world.
  private var surprise: SimulationFailure?

  init(_ plan: SimulationPlan, _ options: SimulationOptions, isTraceKept: Bool) throws {
    self.plan = plan
    self.options = options
    trace = SimulationTrace(isKept: isTraceKept, sink: options.traceSink)
    timing = plan.choices(.timing)
    networkChoices = plan.choices(.network)
    diskChoices = plan.choices(.disk)
    directory = options.scratchDirectory.map { TemporaryDirectory(in: $0) } ?? TemporaryDirectory()
    var bounds = plan.choices(.bounds)
    foldStepsMax = [nil, nil, nil, nil, 1, 100][bounds.next(below: 6)]
    let random = plan.random(.identities)
    place = try SimulatedPlace.make(
      plan.configuration, options.makeRemote, directory.path, clock, executor, random.stream(1))
    devices = plan.configuration.devices.enumerated().map { index, device in
      SimulatedDevice(
        index, device, options.workloads, parent: directory.path, random: random.stream(UInt64(index) + 2))
    }
    for device in devices { device.foldStepsMax = foldStepsMax }
    var history = plan.choices(.history)
    guard history.happens(perMille: 100), options.faults.contains(.historyCut) else { return }
    for device in devices where history.next(below: 3) > 0 {
      device.history = HistoryPolicy(logBytesMax: UInt64(history.next(below: 2000)))
    }
  }

  /// Adds a device without a store.
  func newDevice(like device: SimulatedDevice) -> SimulatedDevice {
    let new = SimulatedDevice(
      devices.count, device.configuration, options.workloads, parent: directory.path,
      random: plan.random(.identities).stream(UInt64(devices.count) + 2))
    new.foldStepsMax = foldStepsMax
    new.clockOffset = device.clockOffset
    // By now all devices have been upgraded.
    new.isOlder = device.isOlder
    devices.append(new)
    return new
  }

  // MARK: Time

  /// Milliseconds since the world began.
  var now: Int64 { clock.milliseconds }

  /// The time of a correct wall clock, in milliseconds since 1970.
  var wallMilliseconds: Int64 { configuration.startMilliseconds + now }

  /// The time of a device's wall clock.
  func wall(of device: SimulatedDevice) -> Int64 { wallMilliseconds + device.clockOffset }

  /// Schedules an event.
  ///
  /// - Parameters:
  ///   - delay: milliseconds from now.
  ///   - process: the event is dropped if this process has ended by then; nil for an event that belongs to
  ///     none.
  ///   - body: the event.
  func schedule(after delay: Int64, in process: SimulatedProcess?, _ body: @escaping () throws -> Void) {
    queue.add(at: now + delay, process, body)
  }

  /// Runs the next event.
  func advance() throws {
    guard let event = queue.next() else { return }
    clock.milliseconds = max(now, event.milliseconds)
    steps += 1
    try event.body()
    try throwSurprise()
  }

  /// Lets time pass in which nothing happens.
  func pass(_ milliseconds: Int64) { clock.milliseconds += milliseconds }

  /// Counts a step of the plan.
  func countStep() { steps += 1 }

  // MARK: Devices

  /// Does something in a device's process, and lets the parts check the result.
  func act(_ device: SimulatedDevice, _ body: () throws -> Void) throws {
    try body()
    executor.run()
    try throwSurprise()
    try hooks.didAct(device)
  }

  /// Lets no call for an asset's file fail meanwhile.
  func whileVerifying<R>(_ body: () throws -> R) rethrows -> R {
    isVerifying = true
    defer { isVerifying = false }
    return try body()
  }

  // MARK: Phases

  /// Ends all faults, except those that devices keep, such as ``SimulatedDevice/isCutOff``.
  func endFaults() { isHealed = true }

  /// Runs the events that belong to no process, such as late arrivals, now.
  func runFreeEvents() throws {
    for event in queue.takeFree() {
      try event.body()
      try throwSurprise()
    }
  }

  /// Ends the comparison of stores with the facts.
  func endModel() { isModelled = false }

  /// Drops all scheduled events. They refer to the world, and the world to them.
  func clearQueue() { queue = SimulatedQueue() }

  // MARK: Trace, counts and errors

  func note(_ line: String) { trace.add("\(steps) +\(now) \(line)") }

  /// Adds lines that are not in the trace's hash. The closure runs only if the trace is read.
  func noteDetails(_ lines: () throws -> [String]) rethrows {
    if trace.isRead { for line in try lines() { trace.addDetail(line) } }
  }

  func mark(_ fault: SimulationFault) { coverage.add(fault) }

  func count(_ mark: SimulationCoverage.Mark, _ count: Int = 1) { coverage.add(mark, count) }

  func count(code: String) { coverage.add(code: code) }

  /// Keeps the error of a task, for the world to throw.
  func keep(_ error: any Error) {
    if surprise == nil {
      surprise = error as? SimulationFailure ?? SimulationFailure(.noSurprise, "\(error)")
    }
  }

  /// Throws the first error that was kept.
  func throwSurprise() throws {
    if let surprise { throw surprise }
  }

  /// An error as a failure with its step.
  func failure(_ error: any Error) -> SimulationFailure {
    let told = error as? SimulationFailure ?? SimulationFailure(.noSurprise, "\(error)")
    // The directory differs from run to run, and the trace must not.
    var failure = SimulationFailure(told.invariant, told.message.replacing(directory.path, with: "…"))
    failure.step = steps
    note("FAILED \(failure)")
    return failure
  }
}
