/// One step of a plan: an action on a world, after some scheduled events ran.
struct SimulationStep: Hashable, Sendable {
  enum Action: String, Sendable, CaseIterable {
    /// A workload writes.
    case write
    /// Several writes wait and are committed together.
    case writeGroup
    /// The app asks for a round.
    case sync
    /// The remote says that something changed.
    case push
    /// The process ends.
    case crash
    /// The store is closed and opened.
    case restart
    /// The device loses its connection to the remote, or gets it back.
    case partition
    /// Time passes while every machine is suspended.
    case sleep
    /// The device is offline for months of the world's time.
    case leave
    case clockJump
    case wipe
    case forgetTokens
    /// The device sees nothing or another remote in the remote's place, or the right one again.
    case unmount
    case mountForeign
    case mountOld
    case deleteZone
    /// A newer version's replica appends a segment.
    case newerWrite
    case upgrade
    case holdRead
    case endRead
    /// A loser of a conflict is restored.
    case restoreLoser
    /// The store is verified: records against a fold of the log.
    case verify
    /// The space of removed zones is taken back.
    case reclaim
    /// A write of the device is taken back, or brought back.
    case undo
    /// The store is read as it was.
    case readPast
  }

  /// How many scheduled events run before the step.
  var events: Int
  var action: Action
  var device: Int
  /// What the action chooses: none yet, or what it chose when it was first run.
  var choices: [Int]?
}

extension SimulationConfiguration {
  /// Draws the steps of a world.
  func makeSteps(_ random: SeededRandom) -> [SimulationStep] {
    var choices = SimulationChoices(random)
    let weights = weights()
    var steps: [SimulationStep] = []
    var total = 0
    // Bursts and quiet times. Concurrent work finds other faults than work without any other in between.
    let eventsMax = choices.pick([8, 3, 1, 20, 40])
    while total < self.steps {
      let events = choices.next(below: eventsMax + 1)
      let action = weights[choices.pick(weights: weights.map(\.weight))].action
      steps.append(
        SimulationStep(
          events: events, action: action, device: choices.next(below: devices.count), choices: nil))
      total += events + 1
    }
    return steps
  }

  /// Puts steps that undo, and that read the past, among the others. They are drawn apart, so that worlds without them
  /// stay what they are.
  mutating func addLooksBack(
    to steps: inout [SimulationStep], _ options: SimulationOptions, _ choices: inout SimulationChoices
  ) {
    for (fault, percent, action) in [
      (SimulationFault.undo, 40, SimulationStep.Action.undo), (.pastRead, 25, .readPast),
    ] {
      let isThere = choices.happens(perMille: percent * 10)
      let count = choices.next(in: 1...max(1, steps.count / (action == .undo ? 5 : 25)))
      guard isThere, options.faults.contains(fault) else { continue }
      add(fault)
      for _ in 0..<count {
        steps.insert(
          SimulationStep(
            events: choices.next(below: 3), action: action, device: choices.next(below: devices.count),
            choices: nil),
          at: choices.next(below: steps.count + 1))
      }
    }
  }

  private func weights() -> [(action: SimulationStep.Action, weight: Int)] {
    var weights: [(SimulationStep.Action, Int)] = [(.write, 500), (.sync, 90), (.push, 60)]
    func add(_ action: SimulationStep.Action, _ weight: Int, if fault: SimulationFault) {
      if has(fault) { weights.append((action, weight)) }
    }
    add(.writeGroup, 30, if: .groupCommit)
    if has(.crash) { weights.append((.crash, max(1, 4 * rate(.crash)))) }
    add(.restart, 5, if: .restart)
    add(.partition, 20, if: .partition)
    add(.sleep, 8, if: .sleep)
    add(.leave, 4, if: .offlineForMonths)
    if devices.contains(where: \.clockJumps) { weights.append((.clockJump, 40)) }
    add(.wipe, 10, if: .storeWiped)
    add(.forgetTokens, 12, if: .tokensForgotten)
    add(.unmount, 20, if: .remoteUnmounted)
    add(.mountForeign, 20, if: .remoteForeign)
    add(.mountOld, 25, if: .remoteOld)
    add(.deleteZone, 60, if: .zoneDeleted)
    add(.newerWrite, 25, if: .newerWriter)
    add(.upgrade, 2, if: .newerSegment)
    if has(.heldRead) { weights += [(.holdRead, 10), (.endRead, 10)] }
    weights += [(.restoreLoser, 15), (.verify, 1), (.reclaim, 4)]
    return weights
  }
}
