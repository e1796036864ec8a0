import OperationFormat

/// Finds where insertions belong.
///
/// The units form a tree, and its order is the document's. A unit is a left child of its right origin if both
/// have the same left origin. Otherwise it is a right child of its left origin. Left children are sorted by
/// the order of units; right children first by right origin, rightmost first, then by the order of units. A
/// subtree is contiguous. A transaction that has seen a unit has seen all its ancestors. So after an unseen
/// unit the search continues behind its whole subtree.
struct GapSearch<Storage: RunReading> {
  let tree: UnitTree<Storage>
  /// What is known of what the transaction has seen.
  var view: UnitOrderView

  init(_ tree: UnitTree<Storage>, _ view: consuming UnitOrderView) {
    self.tree = tree
    self.view = view
  }

  /// Whether a transaction has seen a unit; it has not if there is no such unit.
  mutating func sees(_ unit: UnitID, _ hasSeen: (HeadID) throws -> Bool) throws -> Bool {
    if let known = view.sees(unit) { return known }
    guard let found = try tree.makerRow(atMost: unit)?.operation(making: unit.number) else { return false }
    let isSeen = try hasSeen(
      HeadID(replica: unit.replica, epoch: unit.epoch, sequence: found.sequence, index: found.index))
    view.learn(found.units, of: unit.inserter, areSeen: isSeen)
    return isSeen
  }

  /// Finds where a unit comes that is inserted behind another, and its origins. The order must not be
  /// without nodes.
  mutating func gap(
    for new: UnitID, after left: UnitID?, _ hasSeen: (HeadID) throws -> Bool
  ) throws -> Gap {
    var left = left
    if let unit = left, try !view.knows(unit) && !sees(unit, hasSeen) { left = nil }
    var origin = try left.flatMap { try spot(of: $0) }
    if origin == nil, let unit = left {
      // It was dropped.
      left = try tree.lastKept(before: unit)
      origin = try left.flatMap { try spot(of: $0) }
    }
    let right: Spot?
    if let known = view.successor(of: left) {
      right = try known.map { unit in
        guard let spot = try spot(of: unit) else { throw Self.missing(unit) }
        return spot
      }
    } else {
      let start = try spot(behind: origin)
      right = try firstSeen(from: start, hasSeen)
      if right?.unit != start?.unit { view.learn(right?.unit, of: left) }
    }
    var gap: Gap
    if let right, right.left == left {
      gap = try self.gap(for: new, hangingFrom: right)
      gap.level = Level(depth: right.level.depth, rightDepth: right.level.rightDepth &+ 1)
    } else {
      gap = try self.gap(for: new, behind: &origin, before: right?.unit)
      gap.level = Level(depth: origin.map { $0.level.depth &+ 1 } ?? 0, rightDepth: 0)
    }
    gap.left = left
    gap.right = right?.unit
    return gap
  }

  /// The first unit from one on that the transaction has seen.
  private mutating func firstSeen(from start: Spot?, _ hasSeen: (HeadID) throws -> Bool) throws -> Spot? {
    var next = start
    var passed: UInt64 = 0
    while let spot = next {
      if try sees(spot.unit, hasSeen) { return spot }
      // Of those that it hangs from by right origins, the last that is not seen: mostly the outermost.
      var unseen = spot
      let depth = spot.level.depth
      var (outer, inner) = (0 as UInt64, spot.level.rightDepth)
      while outer < inner {
        let middle = outer == 0 && inner == spot.level.rightDepth ? 0 : outer + (inner - outer) / 2
        guard let other = try self.next(spot, atMost: Level(depth: depth, rightDepth: middle)) else {
          throw FormatError.damagedRuns("level", expected: "a right origin", found: "none")
        }
        if try sees(other.unit, hasSeen) {
          outer = middle + 1
        } else {
          (inner, unseen) = (middle, other)
        }
      }
      // Rows that name each other in a circle end here.
      passed &+= unseen.leaf.pieces[unseen.piece].count
      guard passed <= tree.root.units else {
        throw FormatError.damagedRuns("node", expected: "\(tree.root.units) units", found: "more")
      }
      next = try end(of: unseen)
    }
    return nil
  }

  /// The last unit up to one that is seen; nil if there is none.
  ///
  /// - Complexity: O(log n) rows, and those of the units passed over
  mutating func lastSeen(upTo spot: Spot, _ hasSeen: (HeadID) throws -> Bool) throws -> UnitID? {
    var (node, leaf, piece, offset) = (spot.node, spot.leaf, spot.piece, spot.offset)
    var passed: UInt64 = 0
    while true {
      let inserter = leaf.pieces[piece].first.inserter
      let first = leaf.pieces[piece].first.number
      // The units of a piece that are seen are its first ones.
      if try sees(leaf.pieces[piece].first, hasSeen) {
        var (seen, unseen) = (first, first + offset + 1)
        while try unseen - seen > 1 && !sees(UnitID(inserter, unseen - 1), hasSeen) {
          let middle = seen + (unseen - seen) / 2
          if try sees(UnitID(inserter, middle), hasSeen) { seen = middle } else { unseen = middle }
        }
        return UnitID(inserter, unseen - 1)
      }
      if piece > 0 {
        piece -= 1
      } else {
        guard let before = try tree.neighbour(of: node, parent: leaf.parent, isBehind: false) else {
          return nil
        }
        passed &+= leaf.units
        guard passed <= tree.root.units else { throw UnitTree<Storage>.tooFew(node) }
        (node, leaf) = (before, try tree.leaf(before))
        piece = leaf.pieces.count - 1
      }
      offset = leaf.pieces[piece].count - 1
    }
  }

  /// The gap for a unit that hangs from its right origin.
  private func gap(for new: UnitID, hangingFrom right: Spot) throws -> Gap {
    let depth = right.level.depth
    // Mostly it is the only one, or the last.
    guard let before = try last(before: right, atMost: Level(depth: depth, rightDepth: .max)),
      before.level.depth == depth, before.right == right.unit, try comes(new, before: before.unit)
    else { return right.gap }
    let start: Spot?
    if let outer = try last(before: right, atMost: right.level) {
      start = try outer.level.depth == depth ? end(of: outer) : spot(behind: outer)
    } else {
      start = try spot(behind: nil)
    }
    guard let start else { return right.gap }
    let level = Level(depth: depth, rightDepth: right.level.rightDepth &+ 1)
    let next = try place(among: level, from: start, to: right) { try comes(new, before: $0.unit) }
    return next?.gap ?? right.gap
  }

  /// The gap for a unit that hangs from its left origin, nil for the start.
  private func gap(for new: UnitID, behind left: inout Spot?, before right: UnitID?) throws -> Gap {
    let depth = left.map { $0.level.depth &+ 1 } ?? 0
    let start = try spot(behind: left)
    var next = start
    if let start, start.level.depth >= depth {
      let end = try depth == 0 ? nil : self.next(start, atMost: Level(depth: depth - 1, rightDepth: .max))
      next = try place(among: Level(depth: depth, rightDepth: 0), from: start, to: end) { other in
        if other.right == right { return try comes(new, before: other.unit) }
        return try isLess(other.right, right)
      }
      guard let next else { return try gapAtEnd() }
      if next.unit != start.unit { return next.gap }
    }
    guard var gap = left?.gap else { return try start?.gap ?? gapAtEnd() }
    gap.offset &+= 1
    return gap
  }

  /// Among units of one level that are sorted, and what hangs from them, where another one comes: the unit
  /// that it comes before, nil for the end.
  ///
  /// - Complexity: O(log² n) rows
  private func place(
    among level: Level, from start: Spot, to end: Spot?, comesBefore: (Spot) throws -> Bool
  ) throws -> Spot? {
    let first = try rank(of: start)
    let bound = try end.map { try rank(of: $0) } ?? tree.root.units
    var (low, high) = (first, bound)
    while low < high {
      let middle = low + (high - low) / 2
      guard let other = try next(try spot(at: middle), atMost: level) else {
        high = middle
        continue
      }
      let rank = try rank(of: other)
      if try rank < middle || rank >= bound || comesBefore(other) { high = middle } else { low = rank + 1 }
    }
    if low == first { return start }
    if low >= tree.root.units { return nil }
    return try next(try spot(at: low), atMost: Level(depth: level.depth, rightDepth: .max))
  }

  private func gapAtEnd() throws -> Gap {
    let node = try tree.endLeaf(below: tree.root.node, levels: tree.root.height - 1, isLast: true)
    let leaf = try tree.leaf(node)
    return Gap(
      node: node, leaf: leaf, piece: leaf.pieces.count - 1, offset: leaf.pieces[leaf.pieces.count - 1].count)
  }

  // MARK: Order

  /// Whether a right origin is before another; nil is the end.
  private func isLess(_ right: UnitID?, _ other: UnitID?) throws -> Bool {
    guard let right else { return false }
    guard let other else { return true }
    return try rank(of: right) < rank(of: other)
  }

  private func comes(_ unit: UnitID, before other: UnitID) throws -> Bool {
    if unit.replica != other.replica {
      return try tree.storage.replicaID(unit.replica) < tree.storage.replicaID(other.replica)
    }
    return (unit.epoch, unit.number) < (other.epoch, other.number)
  }

  /// How many units are before a unit that is an origin.
  private func rank(of unit: UnitID) throws -> UInt64 {
    guard let spot = try spot(of: unit) else { throw Self.missing(unit) }
    return try rank(of: spot)
  }

  private func rank(of spot: Spot) throws -> UInt64 {
    let before = try tree.count(before: spot.node, parent: spot.leaf.parent).units
    let inLeaf = spot.leaf.pieces[..<spot.piece].reduce(0 as UInt64) { $0 &+ $1.count }
    return before &+ inLeaf &+ spot.offset
  }

  private static func missing(_ unit: UnitID) -> FormatError {
    .damagedRuns("origin", expected: "a unit that is there", found: "unit \(unit.number)")
  }
}
