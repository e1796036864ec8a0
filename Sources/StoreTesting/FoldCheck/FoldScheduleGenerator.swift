/// Makes random schedules. The sequence's number and the seed determine the schedule.
struct FoldScheduleGenerator {
  private let sizes: FoldCheckSizes
  private var random: SeededRandom
  private var schedule: FoldSchedule
  /// How many transactions are to be made.
  private var transactionsLeft: Int
  private let isCrowd: Bool
  private let receipts: Receipts
  /// True time, in milliseconds since 1970.
  private var now = start
  /// The error of each replica's clock.
  private var skews: [Int64]
  private var replicas: Int
  private var nextIdentity = FoldSchedule.replicasMax
  private var operations: CellOperations
  /// The stream that decides on a rush. A stream of its own: the others draw the same without a rush.
  private var rushRandom: SeededRandom
  /// The stream that decides on floors.
  private var floorRandom: SeededRandom

  /// True time at the start.
  private static let start: Int64 = 1_750_000_000_000

  /// Whether the remote keeps times of receipt, and which times.
  private enum Receipts: CaseIterable { case none, trueTime, atTimes, wild }

  static func schedule(seed: UInt64, number: Int, sizes: FoldCheckSizes) -> FoldSchedule {
    var generator = FoldScheduleGenerator(
      SeededRandom(seed: seed).stream(UInt64(bitPattern: Int64(number))), sizes)
    return generator.make()
  }

  private init(_ root: SeededRandom, _ sizes: FoldCheckSizes) {
    self.sizes = sizes
    var choice = root.stream(3)
    isCrowd = choice.chance(6)
    replicas = isCrowd ? choice.next(in: 5...7) : choice.few(2...max(2, sizes.replicasMax))
    let records = isCrowd ? 1 : choice.few(1...max(1, sizes.recordsMax))
    let fields = isCrowd ? 1 : choice.few(1...max(1, sizes.fieldsMax))
    schedule = FoldSchedule(replicas: replicas, records: records, fields: fields, seed: root.stream(4).peek)
    let most = sizes.transactionsMax
    transactionsLeft =
      switch choice.next(below: 100) {
      case 0..<20: choice.next(in: 2...max(2, most / 3))
      case 20..<60: choice.next(in: max(2, most / 3)...max(2, most * 2 / 3))
      case 60..<97: choice.next(in: max(2, most / 2)...most)
      default: choice.next(in: most...max(most, min(most * 2, FoldSchedule.transactionsMax)))
      }
    receipts = Receipts.allCases[choice.next(below: 4)]
    operations = CellOperations(records: records, fields: fields, from: &choice)
    skews = (0..<FoldSchedule.replicasMax).map { _ in Self.skew(&choice) }
    random = root.stream(5)
    rushRandom = root.stream(7)
    floorRandom = root.stream(8)
    var mix = root.stream(6)
    operations.addPercent = mix.chance(50) ? mix.next(in: 10...90) : 0
    operations.elementPercent = mix.chance(50) ? mix.next(in: 10...90) : 0
    operations.sequencePercent = mix.chance(15) ? mix.next(in: 30...95) : 0
    operations.contributePercent = mix.chance(30) ? mix.next(in: 20...95) : 0
  }

  // MARK: Steps

  private mutating func make() -> FoldSchedule {
    if isCrowd { gather() }
    var rest = random.next(below: 6)
    while transactionsLeft > 0 || rest > 0 {
      if transactionsLeft == 0 { rest -= 1 }
      schedule.steps.append(makeStep())
      advance()
    }
    if rushRandom.next(below: 200) == 0 { rush() }
    if floorRandom.chance(33) { if floorRandom.chance(40) { addCarefulFloors() } else { addFloors() } }
    return schedule
  }

  /// Lets replicas name floors one after the other, each of which all have seen: nobody writes late.
  private mutating func addCarefulFloors() {
    let all = 0..<schedule.replicas
    var place = schedule.steps.count / 4
    for _ in 0..<floorRandom.few(2...4) {
      var steps = all.map { FoldStep.ship(replica: $0, count: 64, receivedMilliseconds: nil, again: false) }
      steps += all.map { .fetch(replica: $0, segments: 64, wallMilliseconds: Self.start) }
      let replica = floorRandom.next(below: schedule.replicas)
      steps.append(
        .nameFloor(replica: replica, wallMilliseconds: Self.start, below: floorRandom.few(0...3)))
      steps.append(.ship(replica: replica, count: 8, receivedMilliseconds: nil, again: false))
      place = floorRandom.next(in: place...schedule.steps.count)
      schedule.steps.insert(contentsOf: steps, at: place)
      place += steps.count
    }
  }

  /// Lets replicas name floors here and there, most of which they have seen, and compact some records. Some write late.
  private mutating func addFloors() {
    func insert(_ steps: [FoldStep], from first: Int) {
      schedule.steps.insert(contentsOf: steps, at: floorRandom.next(in: first...schedule.steps.count))
    }
    let first = schedule.steps.count / 4
    for _ in 0..<floorRandom.few(1...3) {
      let replica = floorRandom.next(below: schedule.replicas)
      var steps: [FoldStep] = []
      if floorRandom.chance(75) {
        steps.append(.ship(replica: replica, count: 8, receivedMilliseconds: nil, again: false))
        steps.append(.fetch(replica: replica, segments: 8, wallMilliseconds: Self.start))
      }
      let below = floorRandom.chance(15) ? -1 : floorRandom.few(0...3)
      steps.append(.nameFloor(replica: replica, wallMilliseconds: Self.start, below: below))
      if floorRandom.chance(75) {
        steps.append(.ship(replica: replica, count: 8, receivedMilliseconds: nil, again: false))
      }
      insert(steps, from: first)
    }
    for _ in 0..<floorRandom.next(below: 5) {
      let replica = floorRandom.next(below: schedule.replicas)
      insert([.compact(replica: replica, records: floorRandom.next(in: 1...2))], from: first)
    }
  }

  /// Lets all replicas insert tens of units at one place of a list and a text without having seen each other.
  /// Then lets one insert that has seen some of it.
  private mutating func rush() {
    let field = UInt8(rushRandom.next(below: schedule.fields))
    let record = UInt8(rushRandom.next(below: schedule.records))
    // In front of all, or near it.
    let places = rushRandom.chance(60) ? 1 : 4
    func operations(_ random: inout SeededRandom) -> [FoldOperation] {
      (0..<random.next(in: 6...14)).map { _ in
        FoldOperation(
          random.chance(50) ? .insertText : .insertElements, record: record, field: field, type: 0,
          value: FoldValue(rawValue: UInt8(random.next(below: places))), element: UInt8(random.next(below: 3))
        )
      }
    }
    func write(_ replica: Int) {
      schedule.steps.append(
        .write(
          replica: replica, wallMilliseconds: now + skews[replica], operations: operations(&rushRandom)))
    }
    let writers = min(replicas, 4)
    for _ in 0..<2 { for replica in 0..<writers { write(replica) } }
    for replica in 0..<writers where rushRandom.chance(70) {
      schedule.steps.append(.ship(replica: replica, count: 3, receivedMilliseconds: nil, again: false))
    }
    let last = rushRandom.next(below: writers)
    schedule.steps.append(
      .fetch(
        replica: last, segments: rushRandom.next(in: 1...8), wallMilliseconds: now + skews[last]))
    write(last)
  }

  /// Lets all replicas write without having seen each other. Then two fetch some or all of it and write. So
  /// cells get more heads than a row holds, and then fewer again.
  private mutating func gather() {
    for replica in 0..<replicas {
      schedule.steps.append(makeWrite(replica))
      if random.chance(90) { schedule.steps.append(makeShip(replica)) }
      advance()
    }
    for segments in [random.next(in: 1...replicas), 8] {
      let replica = random.next(below: replicas)
      schedule.steps.append(
        .fetch(replica: replica, segments: segments, wallMilliseconds: now + skews[replica]))
      schedule.steps.append(makeWrite(replica))
      schedule.steps.append(makeShip(replica))
      advance()
    }
  }

  private mutating func makeWrite(_ replica: Int) -> FoldStep {
    transactionsLeft = max(0, transactionsLeft - 1)
    return .write(
      replica: replica, wallMilliseconds: now + skews[replica],
      operations: operations.draw(upTo: sizes.operationsMax, from: &random))
  }

  private mutating func makeShip(_ replica: Int) -> FoldStep {
    .ship(
      replica: replica, count: random.next(in: 1...3), receivedMilliseconds: makeReceipt(),
      again: random.chance(15))
  }

  private mutating func makeStep() -> FoldStep {
    let replica = random.next(below: replicas)
    switch random.next(below: 100) {
    case 0..<42: return makeWrite(replica)
    case 42..<62: return makeShip(replica)
    case 62..<84:
      let segments = random.chance(60) ? 8 : random.next(in: 1...2)
      return .fetch(replica: replica, segments: segments, wallMilliseconds: now + skews[replica])
    case 84..<91: return .acknowledge(replica: replica)
    case 91..<95: return .redeliver(replica: replica, back: random.next(below: 3))
    case 95..<99: return .renew(replica: replica, identity: makeIdentity())
    default:
      guard replicas < FoldSchedule.replicasMax else { return .acknowledge(replica: replica) }
      replicas += 1
      return .copy(from: replica, to: replicas - 1, identity: makeIdentity())
    }
  }

  /// Another identity, or nil for the next epoch of the same.
  private mutating func makeIdentity() -> Int? {
    guard nextIdentity < FoldNumbering.identitiesMax, random.chance(40) else { return nil }
    defer { nextIdentity += 1 }
    return nextIdentity
  }

  private mutating func makeReceipt() -> Int64? {
    switch receipts {
    case .none: nil
    case .trueTime: now
    case .atTimes: random.chance(50) ? now : nil
    case .wild: random.chance(20) ? Int64(random.next(below: 3)) * 1_000_000 : now
    }
  }

  // MARK: Time

  /// Lets time pass: mostly none, so that timestamps are often equal.
  private mutating func advance() {
    switch random.next(below: 100) {
    case 0..<60: break
    case 60..<88: now += 1
    case 88..<94: now += 1000
    case 94..<99: now += 600_000
    default: skews[random.next(below: replicas)] = Self.skew(&random)
    }
  }

  /// The error of a clock: little, or an hour, or the clock shows 1970 or 2099.
  private static func skew(_ random: inout SeededRandom) -> Int64 {
    switch random.next(below: 100) {
    case 0..<55: 0
    case 55..<75: Int64(random.next(in: -2000...2000))
    case 75..<80: 3_600_000
    case 80..<85: -3_600_000
    case 85..<92: -1_749_999_999_000
    default: 2_340_000_000_000
    }
  }
}

extension SeededRandom {
  /// The first number of the stream.
  fileprivate var peek: UInt64 {
    var copy = self
    return copy.next()
  }
}
