/// What a world is, before anything happens in it.
struct SimulationConfiguration: Hashable, Sendable {
  /// Where the remote keeps its log, and which calls cross the network.
  enum Place: String, Sendable, CaseIterable {
    /// A server that keeps the log; calls of the remote cross the network.
    case server
    /// Objects as in S3; the devices run the log's algorithm, and each verb on objects crosses the network.
    case objects
    /// The same in a folder.
    case folder
  }

  enum Role: String, Sendable {
    case writer
    case reader
  }

  struct Device: Hashable, Sendable {
    var role: Role
    /// The error of its wall clock, in milliseconds.
    var clockOffset: Int64
    /// Whether its clock jumps now and then.
    var clockJumps: Bool
    var pollMilliseconds: Int64
    var replicators: Int
    /// Whether it is of an older version, which does not read newer segments.
    var isOlder: Bool
    /// The one workload whose zones it has; nil for all.
    var workload: Int?
    /// Bytes of a page that it fetches.
    var pageBytesMax: Int
  }

  var place = Place.server
  var devices: [Device] = []
  /// How often a fault occurs, in 1,000 chances; absent: never in this world.
  var rates: [SimulationFault: Int] = [:]
  var steps = 0
  /// How long a call and its answer take at most, each, in milliseconds. Where that is near the time for
  /// which a caller waits, there are timeouts and retries among the steps, and not after them.
  var latencyMilliseconds = 20
  /// The time of a correct wall clock when the world begins, in milliseconds since 1970.
  var startMilliseconds: Int64 = 1_800_000_000_000
  /// The error of the remote's clock, in milliseconds; nil if it has no clock.
  var remoteClockOffset: Int64?
  /// The errors that it has besides, one after the other and again, each for so many milliseconds.
  var remoteClockErrors: [RemoteClockError] = []
  var remoteClockSpanMilliseconds: Int64 = 600_000

  func rate(_ fault: SimulationFault) -> Int { rates[fault] ?? 0 }

  /// Draws a world.
  init(_ choices: inout SimulationChoices, _ options: SimulationOptions) {
    steps = options.steps ?? Self.steps(&choices)
    place = Place.allCases[choices.pick(weights: [50, 30, 20])]
    if options.makeRemote != nil { place = .server }
    latencyMilliseconds = [20, 200, 2000, 10_000][choices.pick(weights: [40, 20, 25, 15])]
    remoteClockOffset = Self.remoteClockOffset(&choices)
    drawRates(&choices, options)
    let count = 2 + choices.pick(weights: [25, 35, 20, 10, 6, 4])
    for _ in 0..<count { devices.append(drawDevice(&choices, workloads: options.workloads.count)) }
    devices[0].role = .writer
  }

  private static func steps(_ choices: inout SimulationChoices) -> Int {
    switch choices.next(below: 100) {
    case ..<80: choices.next(in: 200...400)
    case ..<97: choices.next(in: 400...800)
    default: choices.next(in: 800...2000)
    }
  }

  private static func remoteClockOffset(_ choices: inout SimulationChoices) -> Int64? {
    switch choices.next(below: 10) {
    case 0...3: nil
    case 4...7: Int64(choices.next(below: 2000))
    // A server that is a year off: nothing but the cap of timestamps may depend on it.
    case 8: -365 * dayMilliseconds
    default: 365 * dayMilliseconds
    }
  }

  /// The faults that each call, commit or step may have: the greatest rate in 1,000, and in how many of 100
  /// seeds they occur.
  private static let frequent: [(SimulationFault, perMilleMax: Int, percent: Int)] = [
    (.requestLost, 300, 50), (.answerLost, 100, 50), (.requestRepeated, 500, 40), (.requestDelayed, 300, 50),
    (.requestDelayedForDays, 30, 30), (.bodyCut, 20, 40), (.bodyFlipped, 20, 40), (.throttled, 100, 25),
    (.unavailable, 100, 25), (.denied, 100, 20), (.crash, 20, 60), (.crashInCommit, 20, 50),
    (.diskFull, 50, 25), (.commitFailed, 20, 25), (.commitUncertain, 20, 25),
  ]

  /// Those that a seed has or has not, in percent of the seeds. Their steps are drawn with the others.
  private static let rare: [(SimulationFault, percent: Int)] = [
    (.partition, 50), (.crashInRecovery, 100), (.restart, 50), (.storeWiped, 10), (.tokensForgotten, 10),
    (.clockJump, 100),
    (.clockOff, 100), (.sleep, 50), (.offlineForMonths, 20), (.remoteUnmounted, 5), (.remoteForeign, 5),
    (.remoteOld, 5), (.zoneDeleted, 10), (.zoneRecreated, 50), (.groupCommit, 40), (.heldRead, 20),
    (.secondReplicator, 100), (.zonesChosen, 100), (.storeCopied, 10), (.newerWriter, 20),
    (.newerSegment, 10),
  ]

  private mutating func drawRates(_ choices: inout SimulationChoices, _ options: SimulationOptions) {
    for (fault, most, percent) in Self.frequent {
      let isThere = choices.happens(perMille: percent * 10)
      let rate = isThere ? choices.next(in: 1...most) : 0
      if rate > 0, options.faults.contains(fault) { rates[fault] = rate }
    }
    for (fault, percent) in Self.rare {
      let isThere = choices.happens(perMille: percent * 10)
      if isThere, options.faults.contains(fault) { rates[fault] = 1000 }
    }
    // Segments of a newer version are those of a newer writer.
    if has(.newerSegment), options.faults.contains(.newerWriter) { rates[.newerWriter] = 1000 }
  }

  private func drawDevice(_ choices: inout SimulationChoices, workloads: Int) -> Device {
    var device = Device(
      role: choices.happens(perMille: 150) ? .reader : .writer, clockOffset: 0, clockJumps: false,
      pollMilliseconds: choices.pick([15_000, 1_000, 60_000, 600_000, 3_600_000]),
      replicators: 1, isOlder: false, pageBytesMax: choices.pick([8 << 20, 1, 600, 4096]))
    let clock = choices.next(below: 100)
    let small = Int64(choices.next(below: 4001)) - 2000
    let sign: Int64 = choices.next(below: 2) == 0 ? 1 : -1
    switch clock {
    case 0..<70: device.clockOffset = small
    case 70..<80 where has(.clockOff): device.clockOffset = sign * 3_600_000
    case 80..<85 where has(.clockOff):
      device.clockOffset = sign * 1_800_000 * Int64(choices.next(in: 1...24))
    case 85..<90 where has(.clockOff): device.clockOffset = -startMilliseconds
    case 90..<95 where has(.clockOff): device.clockOffset = 4_070_908_800_000 - startMilliseconds
    case 95... where has(.clockJump): device.clockJumps = true
    default: break
    }
    let isSecond = choices.happens(perMille: 200)
    if isSecond, has(.secondReplicator) { device.replicators = 2 }
    let isOlder = choices.happens(perMille: 400)
    if isOlder, has(.newerSegment) { device.isOlder = true }
    let hasSome = choices.happens(perMille: 150)
    if hasSome, has(.zonesChosen) { device.workload = choices.next(below: workloads) }
    return device
  }

  func has(_ fault: SimulationFault) -> Bool { rate(fault) > 0 }

  mutating func add(_ fault: SimulationFault) { rates[fault] = 1000 }
}

/// A day, in milliseconds.
let dayMilliseconds: Int64 = 86_400_000
