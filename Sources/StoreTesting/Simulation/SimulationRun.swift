/// One run of a plan: faults, healing, settling, audit, and what may happen to a world after that.
final class SimulationRun {
  let world: SimulatedWorld
  /// What each step chose, for a plan that is to be made smaller.
  private var chosen: [Int: [Int]] = [:]

  init(_ plan: SimulationPlan, _ options: SimulationOptions, isTraceKept: Bool) throws {
    world = try SimulatedWorld(plan, options, isTraceKept: isTraceKept)
    world.hooks.didAct = { [unowned world] in try SimulatedMachines(world).didAct($0) }
    world.hooks.makeRemote = { [unowned world] in SimulatedNetwork(world).makeRemote(for: $0) }
  }

  /// Runs the plan, and checks the world.
  ///
  /// - Throws: ``SimulationFailure`` for the first thing that does not hold.
  func run() throws {
    try start()
    try takeSteps()
    try heal()
    try SimulatedSettling(world).settle()
    try AssetAudit(world).run()
    try WorldAudit(world).run()
    try Aftermath(world).run()
  }

  /// Closes the stores.
  func close() {
    for device in world.devices where device.store != nil { device.end() }
    world.executor.run()
    world.clearQueue()
  }

  /// The plan, with all that was drawn while it ran.
  var recordedPlan: SimulationPlan {
    var plan = world.plan
    plan.recorded = [
      .timing: world.timing.values, .network: world.networkChoices.values, .disk: world.diskChoices.values,
    ]
    for (index, values) in chosen { plan.steps[index].choices = values }
    return plan
  }

  // MARK: Phases

  private func start() throws {
    let configuration = world.configuration
    world.note(
      "a world of \(world.devices.count) devices over \(configuration.place.rawValue), "
        + "\(configuration.steps) steps")
    for fault in [SimulationFault.remoteClockOff, .remoteClockJump] where configuration.has(fault) {
      world.mark(fault)
    }
    for device in world.devices {
      if abs(device.clockOffset) > 2000 { world.mark(.clockOff) }
      if device.configuration.replicators > 1 { world.mark(.secondReplicator) }
      if device.configuration.workload != nil { world.mark(.zonesChosen) }
      try SimulatedMachines(world).boot(device)
    }
  }

  private func takeSteps() throws {
    let stepsMax = world.configuration.steps
    for (index, step) in world.plan.steps.enumerated() where world.steps < stepsMax {
      for _ in 0..<step.events where world.steps < stepsMax { try world.advance() }
      var choices = world.plan.choices(ofStep: index)
      // Also where the step fails: the shrinker starts from what it chose.
      defer { chosen[index] = choices.values }
      try SimulatedActions(world).perform(step, &choices)
      world.countStep()
    }
  }

  /// Ends all faults, and has every process run. What was lost stays lost, and what is late arrives now.
  private func heal() throws {
    world.note("healed")
    for device in world.devices { try PaceChecker(world).checkGoesOn(device) }
    world.endFaults()
    for device in world.devices {
      (device.isCutOff, device.isOlder) = (false, false)
      try RemoteMounts(world).mount(.right, on: device)
    }
    try world.runFreeEvents()
    for device in world.devices { try SimulatedMachines(world).boot(device) }
  }
}
