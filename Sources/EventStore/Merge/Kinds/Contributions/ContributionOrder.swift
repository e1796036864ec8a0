/// Puts contributions into the order in which a reducer gets them.
///
/// What one has seen comes before it; of those that are free to come next, the least. The order is that of
/// the heads, if that agrees with what they have seen, as it does but for clocks that jump and timestamps
/// that were capped. Where claims contradict each other, so that none is free, the least of the rest comes
/// next: any claims give one order, the same everywhere.
package struct ContributionOrder<Sight: ContributionSight> {
  let sight: Sight

  package init(_ sight: Sight) { self.sight = sight }

  /// What an order follows.
  package enum Ground: Sendable {
    /// The order of the heads, which agrees with what the contributions have seen.
    case heads
    /// What they have seen, and else the order of the heads.
    case sight
    /// Claims that contradict each other.
    case contradictions
  }

  /// Sorts contributions, and says what their order follows.
  ///
  /// - Complexity: O(n log n) in the contributions; for each its lineage, and the incarnations that any base
  ///   names, count.
  package func sort(_ contributions: inout [ContributionKey]) throws -> Ground {
    try contributions.sort { try sight.isGreater($1.head, $0.head) }
    if contributions.count < 2 { return .heads }
    let claims = try ContributionClaims(contributions, sight)
    if claims.agreeWithHeads { return .heads }
    let (order, isContradictory) = claims.order()
    contributions = order.map { contributions[$0] }
    return isContradictory ? .contradictions : .sight
  }
}

/// What contributions, ascending by their heads, claim to have seen of each other.
///
/// All that one has seen are beginnings of chains: of the lanes, and of the incarnations by offset. So each
/// has few claims however much it has seen, and a chain tells at once which of them are met when its next one
/// comes.
private struct ContributionClaims {
  /// Contributions of which others have seen the first ones.
  private struct Chain {
    /// Their indexes.
    var members: [Int]
    /// The greatest index among the first ones up to each.
    var greatest: [Int] = []

    init(_ members: [Int]) {
      self.members = members
      greatest.reserveCapacity(members.count)
      for member in members { greatest.append(max(member, greatest.last ?? member)) }
    }
  }

  /// That a contribution has seen the first `count` of a chain.
  private struct Claim {
    var item: Int
    var chain: Int
    /// From 1.
    var count: Int
  }

  private let itemCount: Int
  /// The lanes, then the incarnations.
  private var chains: [Chain] = []
  private var claims: [Claim] = []
  /// Which lane each is of.
  private var lanes: [Int] = []
  private var laneCount = 0

  init(_ items: [ContributionKey], _ sight: some ContributionSight) throws {
    itemCount = items.count
    try addLanes(items, sight)
    try addIncarnations(items, sight)
  }

  private mutating func addLanes(_ items: [ContributionKey], _ sight: some ContributionSight) throws {
    var numbers: [ContributionLane: Int] = [:]
    var members: [[Int]] = []
    lanes.reserveCapacity(items.count)
    for (index, item) in items.enumerated() {
      let number = numbers[item.lane] ?? members.count
      if number == members.count {
        numbers[item.lane] = number
        members.append([])
      }
      lanes.append(number)
      members[number].append(index)
    }
    laneCount = members.count
    for lane in members {
      let sorted = lane.sorted { LanePlace(items[$0].head.id) < LanePlace(items[$1].head.id) }
      for (count, item) in sorted.enumerated() where count > 0 {
        claims.append(Claim(item: item, chain: chains.count, count: count))
      }
      chains.append(Chain(sorted))
    }
    for chain in 0..<laneCount {
      guard let first = chains[chain].members.first else { continue }
      let id = items[first].head.id
      if id.isCompacted {
        addCompacted(items, chain, last: items[first])
        continue
      }
      for ancestor in try sight.lineage(of: id.replica, id.epoch) {
        let lane = ContributionLane(replica: ancestor.replica, epoch: ancestor.epoch)
        guard let number = numbers[lane], number != chain else { continue }
        let count = chains[number].members.prefixCount { items[$0].head.id.sequence <= ancestor.sequence }
        claim(chains[chain].members, number, count)
      }
    }
  }

  /// Who has seen the last of what is compacted has seen all of that.
  private mutating func addCompacted(_ items: [ContributionKey], _ chain: Int, last: ContributionKey) {
    let seers = items.indices.filter { !items[$0].head.id.isCompacted && items[$0].reaches(last) }
    claim(seers, chain, chains[chain].members.count)
  }

  private mutating func claim(_ items: [Int], _ chain: Int, _ count: Int) {
    if count == 0 { return }
    for item in items { claims.append(Claim(item: item, chain: chain, count: count)) }
  }

  private mutating func addIncarnations(_ items: [ContributionKey], _ sight: some ContributionSight) throws {
    var seers: [IncarnationNumber: [Int]] = [:]
    var named: [IncarnationNumber] = []
    for (index, item) in items.enumerated() where item.incarnation != .none && !item.head.id.isCompacted {
      // A hostile base may name any incarnation; few of them have places.
      guard try sight.hasPlaces(in: item.incarnation) else { continue }
      if seers[item.incarnation] == nil { named.append(item.incarnation) }
      seers[item.incarnation, default: []].append(index)
    }
    for incarnation in named {
      var places: [(offset: UInt64, item: Int)] = []
      var own = [UInt64](repeating: .max, count: items.count)
      for (index, item) in items.enumerated() {
        guard let offset = try sight.offset(of: item.head.id, in: incarnation) else { continue }
        places.append((offset, index))
        own[index] = offset
      }
      places.sort { $0 < $1 }
      for item in seers[incarnation] ?? [] {
        // How many are up to its base, and before its own place.
        let count = places.prefixCount { $0.offset <= items[item].baseOffset && $0.offset < own[item] }
        claim([item], chains.count, count)
      }
      chains.append(Chain(places.map(\.item)))
    }
  }

  /// Whether all that is claimed to be seen comes before in the order of the heads.
  var agreeWithHeads: Bool {
    claims.allSatisfy { chains[$0.chain].greatest[$0.count - 1] < $0.item }
  }

  /// The order that the claims demand, as indexes, and whether they contradict each other.
  func order() -> (order: [Int], isContradictory: Bool) {
    let claims = claims.sorted { ($0.chain, $0.count) < ($1.chain, $1.count) }
    var waiting = [Int](repeating: 0, count: itemCount)
    for claim in claims { waiting[claim.item] += 1 }
    // For each chain, how many of it are out, and its first claim that is not met.
    var done = [Int](repeating: 0, count: chains.count)
    var unmet = [Int](repeating: claims.count, count: chains.count)
    for (place, claim) in claims.enumerated().reversed() { unmet[claim.chain] = place }
    var isOut = [Bool](repeating: false, count: itemCount)
    var free = LeastFirst()
    for item in 0..<itemCount where waiting[item] == 0 { free.insert(item) }
    var order: [Int] = []
    order.reserveCapacity(itemCount)
    var least = 0
    var isContradictory = false
    func advance(_ chain: Int) {
      let members = chains[chain].members
      while done[chain] < members.count, isOut[members[done[chain]]] { done[chain] += 1 }
      while unmet[chain] < claims.count, claims[unmet[chain]].chain == chain,
        claims[unmet[chain]].count <= done[chain]
      {
        let item = claims[unmet[chain]].item
        unmet[chain] += 1
        waiting[item] -= 1
        if waiting[item] == 0, !isOut[item] { free.insert(item) }
      }
    }
    while order.count < itemCount {
      var next = free.removeLeast()
      if next == nil {
        isContradictory = true
        while isOut[least] { least += 1 }
        next = least
      }
      guard let next else { break }
      isOut[next] = true
      order.append(next)
      advance(lanes[next])
      for chain in laneCount..<chains.count { advance(chain) }
    }
    return (order, isContradictory)
  }
}

/// Numbers of which the least comes out first.
private struct LeastFirst {
  /// A heap: none is less than the one at half its place.
  private var numbers: [Int] = []

  mutating func insert(_ number: Int) {
    var place = numbers.count
    numbers.append(number)
    while place > 0, numbers[(place - 1) / 2] > number {
      numbers[place] = numbers[(place - 1) / 2]
      place = (place - 1) / 2
    }
    numbers[place] = number
  }

  mutating func removeLeast() -> Int? {
    guard let least = numbers.first, let last = numbers.popLast() else { return nil }
    if numbers.isEmpty { return least }
    var place = 0
    while true {
      var child = 2 * place + 1
      guard child < numbers.count else { break }
      if child + 1 < numbers.count, numbers[child + 1] < numbers[child] { child += 1 }
      if numbers[child] >= last { break }
      numbers[place] = numbers[child]
      place = child
    }
    numbers[place] = last
    return least
  }
}
