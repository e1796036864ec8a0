import EventStore
import OperationFormat

/// A sequence as in the paper (Weidner and Kleppmann, "The Art of the Fugue", section 5, FugueMax): a tree
/// with a node for each unit, which is walked to list them. Slow and obvious: an insertion walks the whole
/// tree.
struct UnitOrderModel {
  /// A unit is a scalar of a text, or a place of a list. A move may have put an element at a place.
  enum Content: Hashable, Sendable {
    case scalar(Unicode.Scalar)
    case place(element: UnitID?)
  }

  private struct Unit {
    var id: UnitID
    var content: Content
    var operation: HeadID
    /// The unit it was inserted behind, nil for the start.
    var leftOrigin: UnitID?
    /// The unit it was inserted in front of, nil for the end.
    var rightOrigin: UnitID?
    var isVisible = true
    /// Its children in the tree, in order.
    var leftChildren: [UnitID] = []
    var rightChildren: [UnitID] = []
  }

  private let identity: (ReplicaNumber) -> ReplicaID
  private var units: [UnitID: Unit] = [:]
  /// The children of the tree's root, all of them right children.
  private var topChildren: [UnitID] = []
  private var numbers: [[UInt32]: UInt64] = [:]
  /// The numbers that each inserter's units had when the order was last compacted.
  private var compacted: [[UInt32]: UInt64] = [:]

  /// - Parameter identity: of a replica: the smaller comes first where two insert between the same units.
  init(identity: @escaping (ReplicaNumber) -> ReplicaID) { self.identity = identity }

  // MARK: Changes

  /// Inserts units behind one; a left origin that is not there or not seen counts as the start. What stands for one that
  /// compaction has dropped is the compacted unit of the same inserter with the greatest smaller number.
  @discardableResult
  mutating func insert(
    _ contents: [Content], by operation: HeadID, after left: UnitID?, hasSeen: (HeadID) -> Bool
  ) -> UnitID {
    let inserter = Self.inserter(operation.replica, operation.epoch)
    let left = left.flatMap { isDropped($0) ? lastUnit(before: $0) : $0 }
    let first = UnitID(
      replica: operation.replica, epoch: operation.epoch, number: numbers[inserter, default: 0])
    numbers[inserter] = first.number + UInt64(contents.count)
    // Further units of the same operation follow those that it has made, as if it had inserted all at once.
    let isMore =
      left.flatMap { units[$0] }.map { $0.operation == operation && $0.id.number + 1 == first.number }
      ?? false
    let leftOrigin =
      isMore ? left : left.flatMap { units[$0] }.flatMap { hasSeen($0.operation) ? $0.id : nil }
    let rightOrigin: UnitID? =
      isMore
      ? leftOrigin.flatMap { units[$0]?.rightOrigin }
      : firstSeen(after: leftOrigin, hasSeen)
    var id = first
    var parent = leftOrigin
    for (index, content) in contents.enumerated() {
      let unit = Unit(
        id: id, content: content, operation: operation, leftOrigin: parent, rightOrigin: rightOrigin)
      // Each further unit of a run is a child of the unit before it, which no other operation has seen yet.
      let hangsFromRight =
        index == 0 && !isMore && children(right: parent).contains { hasSeen(units[$0]!.operation) }
      add(unit, asLeftChildOf: hangsFromRight ? rightOrigin : nil)
      parent = id
      id.number += 1
    }
    return first
  }

  /// Shows or hides units; those that do not exist are skipped.
  mutating func setVisible(_ isVisible: Bool, _ range: UnitRange) {
    for id in units.keys
    where id.replica == range.first.replica && id.epoch == range.first.epoch
      && id.number >= range.first.number && id.number < range.end
    {
      units[id]!.isVisible = isVisible
    }
  }

  /// Leaves the visible units, as if one operation had inserted them, each behind the one before it. The numbers of the
  /// next units stay.
  ///
  /// - Parameter keeps: whether any units are left.
  mutating func compact(keeps: Bool) {
    let left = keeps ? visible : []
    var kept: [UnitID: Unit] = [:]
    for (place, id) in left.enumerated() {
      var unit = Unit(
        id: id, content: units[id]!.content, operation: Self.compactedOperation(id),
        leftOrigin: place > 0 ? left[place - 1] : nil)
      unit.rightChildren = place + 1 < left.count ? [left[place + 1]] : []
      kept[id] = unit
    }
    (units, topChildren, compacted) = (kept, Array(left.prefix(1)), numbers)
  }

  private static func inserter(_ replica: ReplicaNumber, _ epoch: UInt32) -> [UInt32] {
    [replica.rawValue, epoch]
  }

  private static func compactedOperation(_ unit: UnitID) -> HeadID {
    HeadID(replica: unit.replica, epoch: unit.epoch, sequence: 0, index: 0)
  }

  /// Whether compaction has dropped a unit.
  func isDropped(_ unit: UnitID) -> Bool {
    units[unit] == nil && unit.number < compacted[Self.inserter(unit.replica, unit.epoch), default: 0]
  }

  private func lastUnit(before unit: UnitID) -> UnitID? {
    units.keys.filter { $0.inserter == unit.inserter && $0.number < unit.number }.max {
      $0.number < $1.number
    }
  }

  private func children(right parent: UnitID?) -> [UnitID] {
    parent.map { units[$0]!.rightChildren } ?? topChildren
  }

  private func firstSeen(after left: UnitID?, _ hasSeen: (HeadID) -> Bool) -> UnitID? {
    let order = listing
    let start = left.map { order.firstIndex(of: $0)! + 1 } ?? 0
    return order[start...].first { hasSeen(units[$0]!.operation) }
  }

  private mutating func add(_ unit: Unit, asLeftChildOf right: UnitID?) {
    let order = listing
    func place(_ id: UnitID?) -> Int { id.map { order.firstIndex(of: $0)! } ?? order.count }
    units[unit.id] = unit
    if let right {
      // Left siblings: by unit.
      let index = units[right]!.leftChildren.firstIndex { comes(unit.id, before: $0) }
      units[right]!.leftChildren.insert(unit.id, at: index ?? units[right]!.leftChildren.count)
      return
    }
    // Right siblings: the rightmost right origin first, then by unit.
    var siblings = children(right: unit.leftOrigin)
    let index = siblings.firstIndex { sibling in
      let (mine, other) = (place(unit.rightOrigin), place(units[sibling]!.rightOrigin))
      return mine != other ? mine > other : comes(unit.id, before: sibling)
    }
    siblings.insert(unit.id, at: index ?? siblings.count)
    if let parent = unit.leftOrigin {
      units[parent]!.rightChildren = siblings
    } else {
      topChildren = siblings
    }
  }

  private func comes(_ unit: UnitID, before other: UnitID) -> Bool {
    let (mine, others) = (identity(unit.replica), identity(other.replica))
    if mine != others { return mine < others }
    return (unit.epoch, unit.number) < (other.epoch, other.number)
  }

  // MARK: Reading

  /// All units, hidden ones too, in the document's order.
  var listing: [UnitID] {
    var order: [UnitID] = []
    // The units still to walk, the next one last: a unit with its children, or without them.
    var rest: [(id: UnitID, isAlone: Bool)] = topChildren.reversed().map { ($0, false) }
    while let (id, isAlone) = rest.popLast() {
      if isAlone {
        order.append(id)
        continue
      }
      let unit = units[id]!
      rest += unit.rightChildren.reversed().map { ($0, false) }
      rest.append((id, true))
      rest += unit.leftChildren.reversed().map { ($0, false) }
    }
    return order
  }

  /// The visible units in the document's order.
  var visible: [UnitID] { listing.filter { units[$0]!.isVisible } }

  /// The visible text.
  var text: String {
    var text = ""
    for id in visible {
      if case .scalar(let scalar) = units[id]!.content { text.unicodeScalars.append(scalar) }
    }
    return text
  }

  /// What a unit is; nil if there is none.
  func content(of unit: UnitID?) -> Content? { unit.flatMap { units[$0]?.content } }

  /// The operation that made a unit; nil if there is none. One that was dropped counts as compacted.
  func operation(making unit: UnitID) -> HeadID? {
    isDropped(unit) ? Self.compactedOperation(unit) : units[unit]?.operation
  }

  /// All units in runs as long as they can be.
  var runs: [UnitRun] {
    var runs: [UnitRun] = []
    for id in listing {
      let unit = units[id]!
      var element: UnitID?
      var text: [UInt8] = []
      switch unit.content {
      case .scalar(let scalar): if unit.isVisible { text = Array(String(scalar).utf8) }
      case .place(let moved): element = moved
      }
      let before = id.number == 0 ? nil : UnitID(replica: id.replica, epoch: id.epoch, number: id.number - 1)
      if let last = runs.last, last.units.first.replica == id.replica, last.units.first.epoch == id.epoch,
        last.units.end == id.number, unit.leftOrigin == before, last.right == unit.rightOrigin,
        last.isVisible == unit.isVisible, last.element == nil, element == nil
      {
        runs[runs.count - 1].units.count += 1
        runs[runs.count - 1].text += text
      } else {
        runs.append(
          UnitRun(
            units: UnitRange(first: id, count: 1), left: unit.leftOrigin, right: unit.rightOrigin,
            isVisible: unit.isVisible, element: element, text: text))
      }
    }
    return runs
  }
}
