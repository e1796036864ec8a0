import EventStore
import OperationFormat
import Replicator

/// A world: time, the queue of what happens next, and devices. One seed determines all of it.
///
/// The parts of a world act on it and check it; each is a type of its own (see ``WorldPart``).
///
/// It is `@unchecked Sendable` since all of it runs on the thread that calls ``SimulationRun/run()``: the stores write there,
/// and tasks run on the world's own executor.
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
  /// Draws the times of what happens while the world runs.
  var timing: SimulationChoices

  /// Events and steps of the plan so far.
  private(set) var steps = 0
  /// Whether faults have ended.
  private(set) var isHealed = false
  /// Whether the facts still hold for all stores. They end where two stores share an identity, or a peer lies.
  private(set) var isModelled = true
  private(set) var trace: SimulationTrace
  private(set) var coverage = SimulationCoverage()

  private let clock = SimulatedClock()
  private var queue = SimulatedQueue()
  /// The most steps of a fold in one commit; nil for the engine's own bound.
  private let foldStepsMax: Int?
  /// The first error of a task, which cannot throw to the world.
  private var surprise: SimulationFailure?

  // MARK: Parts with a state

  private(set) lazy var network = SimulatedNetwork(self)
  private(set) lazy var disk = SimulatedDisk(self)
  private(set) lazy var machines = SimulatedMachines(self)
  private(set) lazy var writes = SimulatedWrites(self)
  private(set) lazy var settling = SimulatedSettling(self)
  private(set) lazy var blockedDirectories = BlockedDirectories(self)

  init(_ plan: SimulationPlan, _ options: SimulationOptions, isTraceKept: Bool) throws {
    self.plan = plan
    self.options = options
    trace = SimulationTrace(isKept: isTraceKept, sink: options.traceSink)
    timing = plan.choices(.timing)
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

  /// What a right wall clock shows, in milliseconds since 1970.
  var wallMilliseconds: Int64 { configuration.startMilliseconds + now }

  /// What a device's wall clock shows.
  func wall(of device: SimulatedDevice) -> Int64 { wallMilliseconds + device.clockOffset }

  /// Schedules an event.
  ///
  /// - Parameters:
  ///   - delay: milliseconds from now.
  ///   - process: the event is dropped if this process has ended by then; nil for an event that belongs to none.
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

  // MARK: Phases

  /// Ends all faults: what was lost stays lost, and what is late arrives now.
  func heal() throws {
    isHealed = true
    for device in devices {
      (device.isCutOff, device.isOlder) = (false, false)
      try RemoteMounts(self).mount(.right, on: device)
    }
    for event in queue.takeFree() {
      try event.body()
      try throwSurprise()
    }
  }

  /// Ends the comparison of stores with the facts.
  func endModel() { isModelled = false }

  /// Drops what is still to happen: it refers to the world, and the world to it.
  func clearQueue() { queue = SimulatedQueue() }

  // MARK: Trace, counts and errors

  func note(_ line: String) { trace.add("\(steps) +\(now) \(line)") }

  /// Adds lines that are not in the trace's hash. Their maker runs only if somebody reads the trace.
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
