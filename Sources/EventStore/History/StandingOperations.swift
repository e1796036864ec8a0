import DequeModule
import OperationFormat

/// The operations on a cell that no later one has replaced, while a zone's log is read in its order.
///
/// A transaction has seen a beginning of its own lane and of each lane that it continues, by sequence, and a
/// beginning of the remote log, by offset. So standing operations are kept in both orders, and what an
/// operation replaces is taken from the front; the others are not visited. `CausalContext.hasSeen` decides
/// the same for one operation.
struct StandingOperations<Sight: ContributionSight> {
  private let sight: Sight
  /// All added operations, in the log's order, and whether they still stand.
  private var operations: [HeadID] = []
  private var isStanding: [Bool] = []
  /// The operations of each element, and all of them.
  private var groups: [Value: Group] = [:]
  private var all = Group()

  init(_ sight: Sight) { self.sight = sight }

  /// Adds an operation. The operations of a lane must come in the order of their sequences.
  ///
  /// - Parameter element: the element that it changes; nil in a cell without elements.
  /// - Returns: the operation's number: how many were added before it.
  @discardableResult
  mutating func add(_ operation: HeadID, element: Value?) -> Int {
    let number = operations.count
    operations.append(operation)
    isStanding.append(true)
    all.add(number, operation)
    if let element { groups[element, default: Group()].add(number, operation) }
    return number
  }

  /// Removes the operations that another operation has seen.
  ///
  /// - Parameters:
  ///   - context: the causal context of its transaction. It needs no lineage: the sight has it.
  ///   - index: the operation's index in its transaction.
  ///   - element: removes only operations on this element; nil removes those on all.
  /// - Returns: their numbers.
  /// - Complexity: O(log n) in the added operations, for each that is added or removed; each call also walks
  ///   its lineage. The placement of each operation is looked up at most twice in each incarnation that any
  ///   base names.
  mutating func takeSeen(by context: CausalContext, at index: UInt32, element: Value?) throws -> [Int] {
    // The group is moved out of the dictionary, so that it changes in place.
    guard let element else {
      var group = all
      all = Group()
      defer { all = group }
      return try takeSeen(by: context, at: index, in: &group)
    }
    guard var group = groups.removeValue(forKey: element) else { return [] }
    let taken = try takeSeen(by: context, at: index, in: &group)
    groups[element] = group
    return taken
  }

  private mutating func takeSeen(
    by context: CausalContext, at index: UInt32, in group: inout Group
  ) throws -> [Int] {
    var taken: [Int] = []
    let own = ContributionLane(replica: context.replica, epoch: context.epoch)
    take(&taken, from: &group, own) { ($0.sequence, $0.index) < (context.sequence, index) }
    for parent in try sight.lineage(of: context.replica, context.epoch) {
      let lane = ContributionLane(replica: parent.replica, epoch: parent.epoch)
      take(&taken, from: &group, lane) { $0.sequence <= parent.sequence }
    }
    guard let base = context.base, try sight.hasPlaces(in: base.incarnation) else { return taken }
    var places = group.places.removeValue(forKey: base.incarnation) ?? Places()
    while places.lookedUpCount < group.members.count {
      let number = group.members[places.lookedUpCount]
      places.lookedUpCount += 1
      guard isStanding[number], let offset = try sight.offset(of: operations[number], in: base.incarnation)
      else { continue }
      places.insert(offset, number)
    }
    while let first = places.first, context.reaches(first.offset) {
      places.removeFirst()
      if isStanding[first.number] { take(first.number, &taken) }
    }
    group.places[base.incarnation] = places
    return taken
  }

  /// Removes the operations at the beginning of a lane that a transaction has seen.
  private mutating func take(
    _ taken: inout [Int], from group: inout Group, _ lane: ContributionLane, where isSeen: (HeadID) -> Bool
  ) {
    guard var queue = group.lanes.removeValue(forKey: lane) else { return }
    while let number = queue.first, !isStanding[number] || isSeen(operations[number]) {
      queue.removeFirst()
      if isStanding[number] { take(number, &taken) }
    }
    if !queue.isEmpty { group.lanes[lane] = queue }
  }

  private mutating func take(_ number: Int, _ taken: inout [Int]) {
    isStanding[number] = false
    taken.append(number)
  }
}

/// Standing operations by their numbers, in their lanes and by their placements. It may also have operations
/// that were removed through another group.
private struct Group {
  /// In the log's order.
  var members: [Int] = []
  var lanes: [ContributionLane: Deque<Int>] = [:]
  var places: [IncarnationNumber: Places] = [:]

  mutating func add(_ number: Int, _ operation: HeadID) {
    members.append(number)
    lanes[ContributionLane(replica: operation.replica, epoch: operation.epoch), default: []].append(number)
  }
}

/// Operations with a placement in an incarnation of the remote log, as a heap: the least offset first.
private struct Places {
  /// How many of the group's members were looked up.
  var lookedUpCount = 0
  private var heap: [(offset: UInt64, number: Int)] = []

  var first: (offset: UInt64, number: Int)? { heap.first }

  mutating func insert(_ offset: UInt64, _ number: Int) {
    heap.append((offset, number))
    var at = heap.count - 1
    while at > 0, heap[at] < heap[(at - 1) / 2] {
      heap.swapAt(at, (at - 1) / 2)
      at = (at - 1) / 2
    }
  }

  mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var at = 0
    while true {
      var least = at
      for child in [2 * at + 1, 2 * at + 2] where child < heap.count && heap[child] < heap[least] {
        least = child
      }
      guard least != at else { return }
      heap.swapAt(at, least)
      at = least
    }
  }
}
