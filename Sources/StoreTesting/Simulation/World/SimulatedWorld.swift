import EventStore
import OperationFormat
import Replicator

/// A world: devices, a remote, a network, and time. One seed determines all of it.
///
/// It is `@unchecked Sendable` since all of it runs on the thread of whoever calls ``run()``: the stores write there, and
/// tasks run on its own executor.
final class SimulatedWorld: @unchecked Sendable {
  let plan: SimulationPlan
  let options: SimulationOptions
  let configuration: SimulationConfiguration
  let directory: TemporaryDirectory
  let executor = SimulatedExecutor()
  let place: SimulatedPlace
  let facts = SimulationFacts()
  private(set) var devices: [SimulatedDevice] = []

  var queue = SimulatedQueue()
  /// Milliseconds since the world began.
  var now: Int64 {
    get { clock.milliseconds }
    set { clock.milliseconds = newValue }
  }
  private let clock = SimulatedClock()
  private(set) var steps = 0
  /// Zones that any device's app has deleted.
  var deletedZones: Set<ZoneID> = []
  /// Whether two stores share an identity: what is true of the others is no longer true of them.
  var isCopied = false
  /// Whether a store is being verified: what fails then is told as damage.
  var isVerifying = false
  /// Whether it came to rest before.
  var isAtRest = false
  /// Whether nothing goes wrong any more.
  private(set) var isHealed = false
  var trace: SimulationTrace
  var coverage = SimulationCoverage()
  /// How much a commit that folds may do in this world; nil for as much as anywhere.
  private let foldStepsMax: Int?
  /// Which half of the directories of assets has files in their place, by the last bit of their names; nil for none.
  let assetsInTheWay: Int?
  var timing: SimulationChoices
  var network: SimulationChoices
  var disk: SimulationChoices
  /// What went wrong inside a task, which cannot throw to the world.
  private var surprise: SimulationFailure?

  init(_ plan: SimulationPlan, _ options: SimulationOptions, isTraceKept: Bool) throws {
    self.plan = plan
    self.options = options
    configuration = plan.configuration
    trace = SimulationTrace(isKept: isTraceKept, sink: options.traceSink)
    timing = plan.choices(.timing)
    network = plan.choices(.network)
    disk = plan.choices(.disk)
    directory = options.scratchDirectory.map { TemporaryDirectory(in: $0) } ?? TemporaryDirectory()
    var bounds = plan.choices(.bounds)
    foldStepsMax = [nil, nil, nil, nil, 1, 100][bounds.next(below: 6)]
    var inTheWay = plan.choices(.inTheWay)
    assetsInTheWay = inTheWay.next(below: 2) == 1 ? inTheWay.next(below: 2) : nil
    let random = plan.random(.identities)
    place = try SimulatedPlace.make(
      plan.configuration, options.makeRemote, directory.path, clock, executor, random.stream(1))
    devices = plan.configuration.devices.enumerated().map { index, device in
      SimulatedDevice(
        index, device, options.workloads, parent: directory.path, random: random.stream(UInt64(index) + 2))
    }
    for device in devices { device.foldStepsMax = foldStepsMax }
  }

  /// Lives through the plan, and checks what came of it.
  ///
  /// - Throws: ``SimulationFailure`` for the first thing that does not hold.
  func run() throws {
    note(
      "a world of \(devices.count) devices over \(configuration.place.rawValue), \(configuration.steps) steps"
    )
    for device in devices {
      if abs(device.clockOffset) > 2000 { mark(.clockOff) }
      if device.configuration.replicators > 1 { mark(.secondReplicator) }
      if device.configuration.workload != nil { mark(.zonesChosen) }
      try boot(device)
    }
    for (index, step) in plan.steps.enumerated() where steps < configuration.steps {
      for _ in 0..<step.events where steps < configuration.steps { try advance() }
      var choices = plan.choices(ofStep: index)
      // What fails is kept too: it is made smaller.
      defer { didChoose(choices.values, inStep: index) }
      try perform(step, &choices)
      steps += 1
    }
    try heal()
    try settle()
    try auditAssets()
    try audit()
    try liveOn()
  }

  /// What each step chose, for a plan that is to be made smaller.
  private(set) var chosen: [Int: [Int]] = [:]

  private func didChoose(_ values: [Int], inStep index: Int) { chosen[index] = values }

  /// Ends it: closes the stores.
  func close() {
    for device in devices where device.store != nil { device.end() }
    executor.run()
    // What is still under way holds the world, and the world holds that.
    queue = SimulatedQueue()
  }

  // MARK: Time

  /// Lets the next thing that is under way happen.
  func advance() throws {
    guard let event = queue.next() else { return }
    now = max(now, event.milliseconds)
    steps += 1
    try event.body()
    try throwSurprise()
  }

  /// Lets time pass in which nothing happens.
  func pass(_ milliseconds: Int64) { now += milliseconds }

  func wall(of device: SimulatedDevice) -> Int64 {
    configuration.startMilliseconds + now + device.clockOffset
  }

  // MARK: Devices

  /// Does something in a device's process, and checks its store after.
  func act(_ device: SimulatedDevice, _ body: () throws -> Void) throws {
    try body()
    executor.run()
    try throwSurprise()
    // Also where it dies: what its last commit left is there.
    if let store = device.store, !isCopied, try device.hasCommitted(store) {
      try noteWritten(device, store)
      try facts.observe(device, store, wall: wall(of: device), options.workloads)
    }
    let told = (writes: device.toldWrites, logged: device.view.logged)
    (device.toldWrites, device.view.logged) = ([], [])
    try ToldWrite.check(told.writes, logged: told.logged, "d\(device.number)")
    if device.isDying {
      mark(.crashInCommit)
      try crash(device)
    }
  }

  /// Starts a device's process. If the disk does not let it, it is tried again later.
  func boot(_ device: SimulatedDevice) throws {
    guard device.store == nil else { return }
    do {
      try device.start(
        wallMilliseconds: { [unowned self, unowned device] in wall(of: device) },
        commitFault: { [unowned self, unowned device] in drawCommitFault(device) },
        assetThresholdBytes: options.assetThresholdBytes,
        assetFault: { [unowned self, unowned device] in drawAssetFault("\($0)", device) },
        makeRemote: { [unowned self] process in makeRemote(process) })
    } catch {
      coverage.add(.deviceStartsFailed)
      note("d\(device.number) does not start: \(Self.code(of: error))")
      try expect(error, [.full, .system, .commitFailed, .commitUncertain])
      device.isDying = false
      queue.add(at: now + 1000, nil) { [unowned self] in try boot(device) }
      return
    }
    coverage.add(.deviceStarts)
    note("d\(device.number) starts")
    try act(device) { try deliver(.started, device) }
  }

  /// Copies a device whose process is over.
  func copyDevice(_ device: SimulatedDevice) throws -> SimulatedDevice {
    let copy = newDevice(like: device)
    try TemporaryDirectory.copy(device.directory, to: copy.directory)
    return copy
  }

  /// Adds a device without a store.
  func newDevice(like device: SimulatedDevice) -> SimulatedDevice {
    let new = SimulatedDevice(
      devices.count, device.configuration, options.workloads, parent: directory.path,
      random: plan.random(.identities).stream(UInt64(devices.count) + 2))
    new.foldStepsMax = foldStepsMax
    new.clockOffset = device.clockOffset
    // By now all have been upgraded.
    new.isOlder = device.isOlder
    devices.append(new)
    return new
  }

  private func makeRemote(_ process: SimulatedProcess) -> any RemoteLog {
    switch configuration.place {
    case .server: SimulatedRemoteLine(world: self, process: process)
    case .objects, .folder: place.makeLog(over: SimulatedObjectsLine(world: self, process: process))
    }
  }

  /// Ends a device's process, and has it started again some time later.
  func crash(_ device: SimulatedDevice) throws {
    guard device.store != nil else { return }
    note("d\(device.number) crashes")
    device.end()
    executor.run()
    restart(device)
  }

  /// Has a device's process started again.
  func restart(_ device: SimulatedDevice) {
    let delay: Int64
    switch isHealed ? 0 : timing.next(below: 10) {
    case 0...6: delay = Int64(1 + timing.next(below: 2000))
    case 7...8: delay = 600_000
    default: delay = Int64(timing.next(in: 1...48)) * 3_600_000
    }
    queue.add(at: now + delay, nil) { [unowned self] in
      try boot(device)
      guard !isHealed, configuration.has(.crashInRecovery), timing.next(below: 10) == 9 else { return }
      queue.add(at: now + Int64(timing.next(below: 30)), device.process) { [unowned self] in
        if isHealed { return }
        mark(.crashInRecovery)
        try crash(device)
      }
    }
  }

  private func drawCommitFault(_ device: SimulatedDevice) -> CommitFault? {
    // A call for an asset's file was its last.
    if device.isDying, hasAssets { return .failed }
    guard !isHealed, !device.isDying else { return nil }
    if disk.happens(perMille: configuration.rate(.crashInCommit)) {
      device.isDying = true
      return disk.next(below: 2) == 0 ? .failed : .uncertain
    }
    for (fault, kind) in Self.commitFaults where disk.happens(perMille: configuration.rate(fault)) {
      mark(fault)
      return kind
    }
    return nil
  }

  private static let commitFaults: [(SimulationFault, CommitFault)] = [
    (.diskFull, .full), (.commitFailed, .failed), (.commitUncertain, .uncertain),
  ]

  // MARK: Replicators

  /// Tells all replicators of a device of something.
  func deliver(_ event: ReplicatorEvent, _ device: SimulatedDevice) throws {
    for index in device.replicators.indices { try deliver(event, device, index) }
  }

  /// Tells a replicator of something, and does what it says.
  func deliver(_ event: ReplicatorEvent, _ device: SimulatedDevice, _ index: Int) throws {
    let replicator = device.replicators[index]
    switch event {
    case .syncRequested(let steps):
      replicator.isAsked = true
      replicator.pace.call()
      // What is asked for while a round is on comes with the next.
      replicator.steps = replicator.round == nil ? steps : nil
    case .started: replicator.isAsked = true
    case .localCommit, .remoteChanged: replicator.pace.call()
    case .timerFired, .completed: break
    }
    for effect in replicator.machine.step(event) {
      switch effect {
      case .round(let effect): try schedule(effect, device, index)
      case .setTimer(let timer, let range): schedule(timer, range, device, index)
      case .report(let report):
        note("d\(device.number) round over: \(Self.describe(report))")
        try check(report, of: device, replicator)
        replicator.round = nil
        replicator.last = (report, now)
      }
    }
  }

  private func schedule(
    _ timer: ReplicatorTimer, _ range: ClosedRange<Int64>, _ device: SimulatedDevice, _ index: Int
  ) {
    let replicator = device.replicators[index]
    let number = (replicator.timers[timer] ?? 0) + 1
    replicator.timers[timer] = number
    let due = now + device.drawMilliseconds(in: range)
    if timer == .next { replicator.nextMilliseconds = due }
    queue.add(at: due, device.process) { [unowned self] in
      guard replicator.timers[timer] == number else { return }
      if timer == .next { replicator.nextMilliseconds = nil }
      try act(device) { try deliver(.timerFired(timer), device, index) }
    }
  }

  private func schedule(_ effect: RoundEffect, _ device: SimulatedDevice, _ index: Int) throws {
    let process = device.process
    let replicator = device.replicators[index]
    if replicator.round == nil {
      try checkPace(of: replicator, device)
      replicator.round = .init(
        writes: device.view.writes, steps: device.mount == .right ? replicator.steps : nil,
        isAfterHealing: isHealed, ends: facts.ends)
      replicator.steps = .all
      replicator.isAsked = false
    }
    if case .zone(let zone, .prepare) = effect { replicator.round?.cut.insert(zone) }
    // Between two effects there is time for others', and for a crash.
    let delay = isHealed ? 0 : Int64(timing.next(below: 4))
    queue.add(at: now + delay, process) { [unowned self] in
      guard let runner = device.runner else { return }
      note("d\(process.device) \(Self.describe(effect))")
      try act(device) {
        Task(executorPreference: executor) { [self] in
          let result = await runner.perform(effect)
          guard !process.isOver, !device.isDying else { return }
          if case .zone(let zone, let result) = result { note(result, of: zone, device) }
          do { try deliver(.completed(result), device, index) } catch { note(error) }
        }
      }
    }
  }

  // MARK: Notes

  private func note(_ result: ZoneResult, of zone: ZoneID, _ device: SimulatedDevice) {
    switch result {
    case .failed(let failure): note("d\(device.number) \(zone): failed: \(failure.code)")
    case .appended(.appended): coverage.add(.appended)
    case .appended(.alreadyThere): coverage.add(.appendedAlreadyThere)
    case .appended(.gone): coverage.add(.appendedToClosed)
    case .folded(let outcome):
      coverage.add(.foldedKnown, outcome.report.known)
      coverage.add(.foldedBeside, outcome.report.foldedBeside)
      coverage.add(.retimed, outcome.report.retimed)
    case .acknowledged(let report): coverage.add(.retimed, report.retimed)
    default: return
    }
  }

  func note(_ line: String) { trace.add("\(steps) +\(now) \(line)") }

  func mark(_ fault: SimulationFault) { coverage.add(fault) }

  /// Keeps an error of a task for the world to throw.
  func note(_ error: any Error) {
    if surprise == nil {
      surprise = error as? SimulationFailure ?? SimulationFailure(.noSurprise, "\(error)")
    }
  }

  func throwSurprise() throws {
    if let surprise { throw surprise }
  }

  /// Ends all faults: what was lost stays lost, what is late arrives, and every process runs.
  private func heal() throws {
    note("healed")
    for device in devices { try checkGoesOn(device) }
    isHealed = true
    for device in devices {
      (device.isCutOff, device.isOlder) = (false, false)
      try remount(device, .right)
    }
    for event in queue.takeFree() {
      try event.body()
      try throwSurprise()
    }
    for device in devices { try boot(device) }
  }
}

extension SimulatedWorld {
  /// What was thrown, as a failure with its step.
  func failure(_ error: any Error) -> SimulationFailure {
    let told = error as? SimulationFailure ?? SimulationFailure(.noSurprise, "\(error)")
    // Where the world lay differs from run to run, and its trace must not.
    var failure = SimulationFailure(told.invariant, told.message.replacing(directory.path, with: "…"))
    failure.step = steps
    note("FAILED \(failure)")
    return failure
  }

  /// The plan, with all that was drawn while it ran.
  var recordedPlan: SimulationPlan {
    var plan = plan
    plan.recorded = [.timing: timing.values, .network: network.values, .disk: disk.values]
    for (index, values) in chosen { plan.steps[index].choices = values }
    return plan
  }
}
