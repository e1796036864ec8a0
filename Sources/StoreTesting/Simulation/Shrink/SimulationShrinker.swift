/// Makes a failing plan smaller as long as the same invariant fails: it removes faults, devices, steps and
/// choices, and simplifies the rest.
///
/// Each attempt is a run. Those that take away the most come first; they are repeated until a whole pass
/// changes nothing, or there were enough runs.
struct SimulationShrinker {
  private(set) var plan: SimulationPlan
  private(set) var failure: SimulationFailure
  private(set) var runs = 0
  private let runsMax: Int
  private let run: (SimulationPlan) -> SimulationFailure?
  private let progress: (_ runs: Int, _ steps: Int) throws -> Void

  /// - Parameters:
  ///   - plan: a plan that fails, with all that was drawn when it ran.
  ///   - failure: how it fails. A plan that fails in another way does not count.
  ///   - runsMax: how many plans are tried at most.
  ///   - run: runs a plan.
  ///   - progress: hears of each run, and of the steps of the smallest plan. What it throws ends the
  ///     shrinking.
  init(
    _ plan: SimulationPlan, _ failure: SimulationFailure, runsMax: Int,
    run: @escaping (SimulationPlan) -> SimulationFailure?,
    progress: @escaping (_ runs: Int, _ steps: Int) throws -> Void = { _, _ in }
  ) {
    self.plan = plan
    self.failure = failure
    self.runsMax = runsMax
    self.run = run
    self.progress = progress
  }

  /// Whether the number of runs has reached its limit.
  var isSpent: Bool { runs >= runsMax }

  /// Shrinks until nothing more can be removed.
  ///
  /// - Throws: what `progress` throws. What was found before stays.
  mutating func shrink() throws {
    dropUnreached()
    while !isSpent {
      var isSmaller = try simplifyStreams(from: .whole)
      isSmaller = try lowerRates() || isSmaller
      isSmaller = try removeDevices() || isSmaller
      isSmaller = try removeSteps() || isSmaller
      isSmaller = try simplifyStreams(from: .parts) || isSmaller
      isSmaller = try lowerEvents() || isSmaller
      isSmaller = try simplifyChoices() || isSmaller
      isSmaller = try simplifyConfiguration() || isSmaller
      if !isSmaller { return }
    }
  }

  /// Leaves out steps that the run did not reach.
  private mutating func dropUnreached() {
    let reached = plan.steps.lastIndex { $0.choices != nil } ?? -1
    var candidate = plan
    candidate.steps.removeSubrange((reached + 1)...)
    plan = candidate
  }

  // MARK: Steps

  private mutating func removeSteps() throws -> Bool {
    try removeRuns(plan.steps.count) { candidate, range in candidate.steps.removeSubrange(range) }
  }

  /// Lets fewer events run before steps: none, then half.
  private mutating func lowerEvents() throws -> Bool {
    var isSmaller = try changeRuns(plan.steps.count, least: 1) { candidate, range in
      for index in range { candidate.steps[index].events = 0 }
    }
    for index in plan.steps.indices {
      while plan.steps[index].events > 1, try attempt({ $0.steps[index].events /= 2 }) { isSmaller = true }
    }
    return isSmaller
  }

  /// Has steps choose the least.
  private mutating func simplifyChoices() throws -> Bool {
    var isSmaller = try changeRuns(plan.steps.count, least: 1) { candidate, range in
      for index in range { candidate.steps[index].choices = [] }
    }
    for step in plan.steps.indices {
      guard var last = plan.steps[step].choices?.count else { continue }
      while last > 0, !isSpent {
        last -= 1
        // The end goes first, then single numbers: a list that was cut ends in the least.
        guard let choices = plan.steps[step].choices, last < choices.count else { continue }
        let isLast = last == choices.count - 1
        if isLast, try attempt({ $0.steps[step].choices?.removeLast() }) {
          isSmaller = true
          continue
        }
        for smaller in [0, choices[last] / 2] where smaller < plan.steps[step].choices?[last] ?? 0 {
          if try attempt({ $0.steps[step].choices?[last] = smaller }) {
            isSmaller = true
            break
          }
        }
      }
    }
    return isSmaller
  }

  // MARK: Streams

  private enum Share { case whole, parts }

  /// Streams of which the least is the simplest, those with the most faults first.
  private static let streams: [SimulationPlan.Stream] = [.network, .disk, .timing]
  /// A stream's smallest part that is tried: an n-th of it, since each takes a run.
  private static let streamParts = 64

  /// Sets what was drawn from the streams to the least, one after the other.
  private mutating func simplifyStreams(from share: Share) throws -> Bool {
    var isSmaller = false
    for stream in Self.streams {
      guard let count = plan.recorded[stream]?.count, count > 0 else { continue }
      if share == .whole {
        if try attempt({ $0.recorded[stream] = [] }) { isSmaller = true }
        continue
      }
      isSmaller = try truncate(stream) || isSmaller
      let left = plan.recorded[stream]?.count ?? 0
      isSmaller =
        try changeRuns(left, least: max(1, left / Self.streamParts)) { candidate, range in
          // A smaller world may have drawn less.
          for index in range.clamped(to: 0..<(candidate.recorded[stream]?.count ?? 0)) {
            candidate.recorded[stream]?[index] = 0
          }
        } || isSmaller
    }
    return isSmaller
  }

  /// Cuts a stream's end: what comes after it is the least.
  private mutating func truncate(_ stream: SimulationPlan.Stream) throws -> Bool {
    var isSmaller = false
    var length = (plan.recorded[stream]?.count ?? 0) / 2
    while length > 0, !isSpent {
      if length <= plan.recorded[stream]?.count ?? 0, try attempt({ $0.recorded[stream]?.removeLast(length) })
      {
        isSmaller = true
      } else {
        length /= 2
      }
    }
    return isSmaller
  }

  // MARK: The world

  /// Takes faults out of the world, one after the other.
  private mutating func lowerRates() throws -> Bool {
    var isSmaller = false
    for fault in SimulationFault.allCases where plan.configuration.rate(fault) > 0 {
      if try attempt({ $0.configuration.rates[fault] = nil }) { isSmaller = true }
    }
    return isSmaller
  }

  /// Takes devices out of the world, with what was done on them.
  private mutating func removeDevices() throws -> Bool {
    var isSmaller = false
    for device in plan.configuration.devices.indices.reversed() where plan.configuration.devices.count > 1 {
      let isRemoved = try attempt { candidate in
        candidate.configuration.devices.remove(at: device)
        candidate.steps.removeAll { $0.device == device }
        for index in candidate.steps.indices where candidate.steps[index].device > device {
          candidate.steps[index].device -= 1
        }
      }
      if isRemoved { isSmaller = true }
    }
    return isSmaller
  }

  /// Makes devices ordinary ones.
  private mutating func simplifyConfiguration() throws -> Bool {
    var isSmaller = false
    for device in plan.configuration.devices.indices {
      for change in Self.simplerDevices where try attempt({ change(&$0.configuration.devices[device]) }) {
        isSmaller = true
      }
    }
    if try attempt({ $0.configuration.remoteClockErrors = [] }) { isSmaller = true }
    if try attempt({ $0.configuration.remoteClockOffset = nil }) { isSmaller = true }
    if try attempt({ $0.configuration.place = .server }) { isSmaller = true }
    if try attempt({ $0.configuration.latencyMilliseconds = 20 }) { isSmaller = true }
    return isSmaller
  }

  private static let simplerDevices: [@Sendable (inout SimulationConfiguration.Device) -> Void] = [
    { $0.clockOffset = 0 }, { $0.clockJumps = false }, { $0.replicators = 1 }, { $0.isOlder = false },
    { $0.pageBytesMax = 8 << 20 }, { $0.pollMilliseconds = 15_000 }, { $0.role = .writer },
    { $0.workload = nil },
  ]

  // MARK: Helpers

  /// Takes runs of elements away: halves first, then quarters, down to single ones.
  private mutating func removeRuns(
    _ count: Int, _ remove: (inout SimulationPlan, Range<Int>) -> Void
  ) throws -> Bool {
    var isSmaller = false
    var left = count
    var length = max(1, count / 2)
    while true {
      // From the end: what comes last is the least needed by the rest.
      var end = left
      while end > 0, !isSpent {
        let range = max(0, end - length)..<end
        if try attempt({ remove(&$0, range) }) {
          isSmaller = true
          left -= range.count
        }
        end = range.lowerBound
      }
      if length == 1 || isSpent { return isSmaller }
      length = max(1, length / 2)
    }
  }

  /// Changes runs of elements: all first, then halves, down to `least`.
  private mutating func changeRuns(
    _ count: Int, least: Int, _ change: (inout SimulationPlan, Range<Int>) -> Void
  ) throws -> Bool {
    var isSmaller = false
    var length = count
    while length >= least, length > 0 {
      for start in stride(from: 0, to: count, by: length) where !isSpent {
        let range = start..<min(start + length, count)
        if try attempt({ change(&$0, range) }) { isSmaller = true }
      }
      if isSpent { break }
      length /= 2
    }
    return isSmaller
  }

  /// Takes a changed plan if it still fails. A plan that is not different is not run.
  private mutating func attempt(_ change: (inout SimulationPlan) -> Void) throws -> Bool {
    var candidate = plan
    change(&candidate)
    guard !isSpent, candidate != plan else { return false }
    runs += 1
    try progress(runs, plan.steps.count)
    guard let found = run(candidate), found.isLike(failure) else { return false }
    plan = candidate
    failure = found
    return true
  }
}

extension SimulationFailure {
  /// Whether another failure is of the same kind. Failures without an invariant must have the same words,
  /// except those with digits: otherwise one surprise would shrink to another.
  fileprivate func isLike(_ other: SimulationFailure) -> Bool {
    guard invariant == other.invariant else { return false }
    return invariant != .noSurprise || words == other.words
  }

  private var words: [Substring] {
    message.split(separator: " ").filter { word in !word.contains { $0.isNumber } }
  }
}
