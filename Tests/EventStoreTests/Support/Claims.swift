@testable import EventStore
@testable import OperationFormat

/// What operations claim to have seen, in memory.
struct Claims: ContributionSight {
  typealias Lane = LaneParent

  var replicas: [ReplicaID] = []
  var lineages: [UInt64: [Lane]] = [:]
  /// By incarnation, then replica, epoch and sequence.
  var places: [UInt32: [[UInt64]: UInt64]] = [:]

  func replicaID(_ number: ReplicaNumber) -> ReplicaID { replicas[Int(number.rawValue) - 1] }

  func lineage(of replica: ReplicaNumber, _ epoch: UInt32) -> [Lane] {
    lineages[UInt64(replica.rawValue) << 32 | UInt64(epoch)] ?? []
  }

  func offset(of head: HeadID, in incarnation: IncarnationNumber) -> UInt64? {
    places[incarnation.rawValue]?[[UInt64(head.replica.rawValue), UInt64(head.epoch), head.sequence]]
  }

  func hasPlaces(in incarnation: IncarnationNumber) -> Bool { places[incarnation.rawValue] != nil }

  /// Repeats: takes the least of those that have seen no remaining one; if there is none, the least of all.
  func naive(_ keys: [ContributionKey]) -> [ContributionKey] {
    var left = keys.sorted { a, b in
      if a.head.timestamp != b.head.timestamp { return a.head.timestamp < b.head.timestamp }
      let (one, other) = (replicaID(a.head.id.replica).rawValue, replicaID(b.head.id.replica).rawValue)
      if one != other { return one < other }
      return (a.head.id.epoch, a.head.id.sequence, a.head.id.index)
        < (b.head.id.epoch, b.head.id.sequence, b.head.id.index)
    }
    var order: [ContributionKey] = []
    while !left.isEmpty {
      let free = left.firstIndex { later in !left.contains { seen($0.head.id, by: later) } }
      order.append(left.remove(at: free ?? 0))
    }
    return order
  }

  private func seen(_ earlier: HeadID, by later: ContributionKey) -> Bool {
    let id = later.head.id
    if (id.replica, id.epoch) == (earlier.replica, earlier.epoch) {
      return (earlier.sequence, earlier.index) < (id.sequence, id.index)
    }
    let isOfParent = lineage(of: id.replica, id.epoch).contains {
      ($0.replica, $0.epoch) == (earlier.replica, earlier.epoch) && earlier.sequence <= $0.sequence
    }
    if isOfParent { return true }
    guard let place = offset(of: earlier, in: later.incarnation) else { return false }
    return place <= later.baseOffset && place < offset(of: id, in: later.incarnation) ?? .max
  }
}

/// Lanes that write, and logs that receive some of it, with clocks that jump.
struct HistoryOfClaims {
  var random: SeededGenerator
  var claims = Claims()
  var keys: [ContributionKey] = []
  /// Replica and epoch, the last sequence, and how many were placed in each log.
  private var lanes: [(replica: UInt32, epoch: UInt32, last: UInt64, placed: [UInt64])] = []
  private var offsets: [UInt64]
  private let isHostile: Bool

  init(seed: UInt64, logs: Int, isHostile: Bool) {
    random = SeededGenerator(seed: seed)
    self.isHostile = isHostile
    offsets = [UInt64](repeating: 0, count: logs)
    let count = 1 + random.below(4)
    claims.replicas = (0..<count + 2).map { ReplicaID(rawValue: UInt128(($0 * 7 + 3) % 11)) }
    for replica in 1...count {
      lanes.append((UInt32(replica), 0, 0, [UInt64](repeating: 0, count: logs)))
    }
  }

  mutating func step() {
    let lane = random.below(lanes.count)
    switch random.below(10) {
    case 0..<6: write(lane)
    case 6..<9: ship(lane)
    default: if lanes.count < 8 { renew(lane) }
    }
  }

  private mutating func write(_ lane: Int) {
    lanes[lane].last += 1
    let log = random.below(offsets.count)
    let offset = isHostile ? UInt64(random.below(12)) : min(offsets[log], UInt64(random.below(30)))
    let base = random.chance(80) ? (IncarnationNumber(rawValue: UInt32(log + 1)), offset) : nil
    for index in 0..<(1 + random.below(2)) {
      // Few timestamps, so that many are equal and many contradict what was seen.
      let head = Head(
        timestamp: Timestamp(milliseconds: UInt64(random.below(6)), counter: 0),
        id: HeadID(
          replica: ReplicaNumber(rawValue: lanes[lane].replica), epoch: lanes[lane].epoch,
          sequence: lanes[lane].last, index: UInt32(index)))
      keys.append(ContributionKey(head: head, base: base))
    }
  }

  private mutating func ship(_ lane: Int) {
    let log = random.below(offsets.count)
    guard lanes[lane].placed[log] < lanes[lane].last else { return }
    offsets[log] += 1
    for sequence in lanes[lane].placed[log] + 1...lanes[lane].last {
      let name = [UInt64(lanes[lane].replica), UInt64(lanes[lane].epoch), sequence]
      claims.places[UInt32(log + 1), default: [:]][name] = offsets[log]
    }
    lanes[lane].placed[log] = lanes[lane].last
  }

  private mutating func renew(_ lane: Int) {
    let parent = lanes[lane]
    let epoch = 1 + (lanes.filter { $0.replica == parent.replica }.map(\.epoch).max() ?? 0)
    lanes.append((parent.replica, epoch, 0, [UInt64](repeating: 0, count: offsets.count)))
    let former = claims.lineage(of: ReplicaNumber(rawValue: parent.replica), parent.epoch)
    claims.lineages[UInt64(parent.replica) << 32 | UInt64(epoch)] =
      [(ReplicaNumber(rawValue: parent.replica), parent.epoch, parent.last)] + former
  }
}
