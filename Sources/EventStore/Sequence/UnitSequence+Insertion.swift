import OperationFormat

/// Inserting units.
extension UnitSequence where Storage: RunStorage {
  /// Inserts the scalars of a text behind a unit.
  ///
  /// An operation that has made the inserter's last units gets more of them if `left` is the last one: then all is as if
  /// it had brought them at once.
  ///
  /// - Parameters:
  ///   - text: UTF-8, not empty.
  ///   - left: the left origin, nil for the start.
  ///   - hasSeen: whether the operation's transaction has seen another operation.
  /// - Returns: the first unit; the others have the numbers that follow.
  /// - Complexity: O(log n) rows, and what others have inserted at that very place and the transaction has not seen.
  package mutating func insert(
    text: RawSpan, by operation: HeadID, after left: UnitID?, hasSeen: (HeadID) throws -> Bool
  ) throws -> UnitID {
    precondition(isText, "a list has places")
    guard !text.isEmpty, isUTF8(text) else {
      throw FormatError(
        .invalidUTF8, at: 0, in: "insertion.text", expected: "UTF-8 of at least one byte",
        found: "other bytes")
    }
    return try insert(
      scalarCount(of: text), text: text.bytes, element: nil, by: operation, after: left, hasSeen: hasSeen)
  }

  /// Inserts places into a list behind a unit; else as ``insert(text:by:after:hasSeen:)``.
  package mutating func insert(
    places count: UInt64, by operation: HeadID, after left: UnitID?, hasSeen: (HeadID) throws -> Bool
  ) throws -> UnitID {
    precondition(!isText, "a text has scalars")
    return try insert(count, text: [], element: nil, by: operation, after: left, hasSeen: hasSeen)
  }

  /// Inserts one place into a list for an element that was inserted as another unit; else as
  /// ``insert(text:by:after:hasSeen:)``.
  package mutating func insert(
    placeOf element: UnitID, by operation: HeadID, after left: UnitID?, hasSeen: (HeadID) throws -> Bool
  ) throws -> UnitID {
    precondition(!isText, "a text has scalars")
    guard element.number < SequenceLimits.unitsMax else { throw Self.tooMany("unit \(element.number)") }
    return try insert(1, text: [], element: element, by: operation, after: left, hasSeen: hasSeen)
  }

  private static func tooMany(_ found: String) -> FormatError {
    FormatError(
      .limitExceeded, at: 0, in: "insertion", expected: "1 to \(SequenceLimits.unitsMax) units in all",
      found: found)
  }

  private mutating func insert(
    _ count: UInt64, text: [UInt8], element: UnitID?, by operation: HeadID, after left: UnitID?,
    hasSeen: (HeadID) throws -> Bool
  ) throws -> UnitID {
    let inserter = Inserter(operation)
    let makers = try lastMakerRow(of: inserter)
    let first = UnitID(inserter, makers?.end ?? 0)
    guard count > 0, count <= SequenceLimits.unitsMax, root.units <= SequenceLimits.unitsMax - count,
      first.number <= SequenceLimits.unitsMax - count
    else { throw Self.tooMany("\(root.units) and \(count) more") }

    var gap: Gap
    let isExtension: Bool
    if let left, left.inserter == inserter, left.number &+ 1 == first.number, let last = makers?.last,
      last.sequence == operation.sequence, last.index == operation.index, let found = try find(left)
    {
      isExtension = true
      let piece = found.leaf.pieces[found.piece]
      gap = Gap(node: found.node, leaf: found.leaf, piece: found.piece, offset: piece.count)
      gap.left = left
      gap.right = piece.right
    } else {
      isExtension = false
      gap = try root.height == 0 ? makeFirstLeaf() : self.gap(for: first, after: left, hasSeen)
    }

    try addMaker(operation, units: count, isExtension: isExtension, to: makers)
    let piece = Piece(
      first: first, count: count, left: gap.left, right: gap.right, isVisible: true, element: element,
      text: 0..<0)
    try insert(piece, text: text[...], at: gap)
    return first
  }

  /// Inserts units whose makers are written already.
  ///
  /// A leaf that becomes too long is cut at the first unit for which that is so, and the others go on behind it: the rows
  /// are the same if the operation gets its units one by one.
  private mutating func insert(_ piece: Piece, text: ArraySlice<UInt8>, at gap: Gap) throws {
    var (piece, text, gap) = (piece, text, gap)
    while true {
      var part = piece
      part.count = gap.unitsToTake(of: piece, text, bytesMax: limits.nodeBytesMax)
      let bytes = Gap.byteCount(of: part.count, in: text, units: piece.count)
      let index = gap.insert(part, text: text.prefix(bytes))
      try place(part.first.number..<part.end, of: part.first.inserter, in: gap.node, areLast: true)
      try write(gap.leaf, gap.node, changed: index)
      if part.count == piece.count { return }
      piece.first.number = part.end
      piece.count &-= part.count
      piece.left = part.last
      text = text.dropFirst(bytes)
      guard let last = try find(part.last) else {
        throw FormatError.damagedRuns("makers", expected: "unit \(part.end - 1)", found: "fewer")
      }
      gap = Gap(
        node: last.node, leaf: last.leaf, piece: last.piece, offset: last.leaf.pieces[last.piece].count)
    }
  }

  /// The leaf of an empty sequence, which is written with the first piece in it.
  private mutating func makeFirstLeaf() throws -> Gap {
    root.node = try makeNode()
    root.height = 1
    return Gap(node: root.node, leaf: Leaf(parent: 0), piece: 0, offset: 0)
  }
}

/// A place to insert at.
struct Gap {
  var node: NodeNumber
  var leaf: Leaf
  /// The piece that it lies in or before, and how many units of it lie in front.
  var piece: Int
  var offset: UInt64
  var left: UnitID?
  var right: UnitID?

  /// Puts units here.
  ///
  /// - Returns: the index of the piece that has them.
  mutating func insert(_ new: Piece, text: ArraySlice<UInt8>) -> Int {
    var index = piece
    if offset > 0 {
      if offset < leaf.pieces[index].count { leaf.cutPiece(index, before: offset) }
      index += 1
    }
    return leaf.insert(new, text: text, at: index)
  }

  /// How many units the leaf can take and, where it cannot take all, one more.
  func unitsToTake(of new: Piece, _ text: ArraySlice<UInt8>, bytesMax: Int) -> UInt64 {
    func fits(_ count: UInt64) -> Bool {
      var (gap, part) = (self, new)
      part.count = count
      _ = gap.insert(part, text: text.prefix(Self.byteCount(of: count, in: text, units: new.count)))
      var writer = ByteWriter()
      gap.leaf.append(to: &writer)
      return writer.count <= bytesMax
    }
    // A scalar takes a byte at least.
    var tooMany = text.isEmpty ? new.count : min(new.count, UInt64(bytesMax))
    if fits(tooMany) { return tooMany }
    var few: UInt64 = 0
    while tooMany - few > 1 {
      let middle = few + (tooMany - few) / 2
      if fits(middle) { few = middle } else { tooMany = middle }
    }
    return tooMany
  }

  /// How many bytes the first units of a text take; none for places.
  static func byteCount(of count: UInt64, in text: ArraySlice<UInt8>, units: UInt64) -> Int {
    text.isEmpty ? 0 : utf8ByteCount(of: count, in: text.span.bytes, scalars: units)
  }
}

/// What is known of what a transaction has seen, so that most units need no look-up.
struct Sight {
  private var known: [(inserter: Inserter, seenEnd: UInt64, unseenStart: UInt64)] = []

  init() {}

  /// Whether a unit is seen; nil where it is not known.
  func sees(_ unit: UnitID) -> Bool? {
    let inserter = unit.inserter
    for entry in known where entry.inserter == inserter {
      if unit.number < entry.seenEnd { return true }
      return unit.number >= entry.unseenStart ? false : nil
    }
    return nil
  }

  /// Learns whether the units of an operation are seen.
  mutating func learn(_ units: Range<UInt64>, of inserter: Inserter, areSeen: Bool) {
    let index = known.firstIndex { $0.inserter == inserter } ?? known.count
    if index == known.count { known.append((inserter, 0, .max)) }
    if areSeen {
      known[index].seenEnd = max(known[index].seenEnd, units.upperBound)
    } else {
      known[index].unseenStart = min(known[index].unseenStart, units.lowerBound)
    }
  }
}

extension UnitSequence {
  /// Units at the gap that the transaction has not seen, from the first unit behind the left origin on.
  private struct Concurrent {
    var first: UnitID
    var left: UnitID?
    var right: UnitID?
    var node: NodeNumber
    var piece: Int
  }

  /// Whether a transaction has seen a unit; it has not if there is no such unit.
  func sees(_ unit: UnitID, _ sight: inout Sight, _ hasSeen: (HeadID) throws -> Bool) throws -> Bool {
    if let known = sight.sees(unit) { return known }
    guard let found = try makerRow(atMost: unit)?.operation(making: unit.number) else { return false }
    let isSeen = try hasSeen(
      HeadID(replica: unit.replica, epoch: unit.epoch, sequence: found.sequence, index: found.index))
    sight.learn(found.units, of: unit.inserter, areSeen: isSeen)
    return isSeen
  }

  /// Finds where units come that are inserted behind a unit, and their origins. The sequence must not be without nodes.
  func gap(
    for new: UnitID, after left: UnitID?, _ hasSeen: (HeadID) throws -> Bool
  ) throws -> Gap {
    var sight = Sight()
    var gap: Gap
    if let left, try sees(left, &sight, hasSeen), let found = try find(left) {
      let offset = left.number - found.leaf.pieces[found.piece].first.number + 1
      gap = Gap(node: found.node, leaf: found.leaf, piece: found.piece, offset: offset)
      gap.left = left
    } else {
      let node = try endLeaf(below: root.node, levels: root.height - 1, isLast: false)
      gap = Gap(node: node, leaf: try leaf(node), piece: 0, offset: 0)
    }
    var concurrent: [Concurrent] = []
    gap.right = try rightOrigin(from: gap, &sight, hasSeen, &concurrent)
    if concurrent.isEmpty { return gap }
    let count = try self.concurrent(before: new, gap, concurrent)
    if count == 0 { return gap }
    let before = concurrent[count - 1]
    if before.node != gap.node { gap.leaf = try leaf(before.node) }
    gap.node = before.node
    gap.piece = before.piece
    gap.offset = gap.leaf.pieces[before.piece].count
    return gap
  }

  /// The first unit from a gap on that the transaction has seen, nil if there is none; and what lies in front of it.
  private func rightOrigin(
    from gap: Gap, _ sight: inout Sight, _ hasSeen: (HeadID) throws -> Bool,
    _ concurrent: inout [Concurrent]
  ) throws -> UnitID? {
    var (node, leaf, index, offset) = (gap.node, gap.leaf, gap.piece, gap.offset)
    var passed: UInt64 = 0
    while true {
      while index < leaf.pieces.count {
        var piece = leaf.pieces[index]
        if offset < piece.count {
          if offset > 0 {
            piece.first.number &+= offset
            piece.left = UnitID(piece.first.inserter, piece.first.number &- 1)
          }
          if try sees(piece.first, &sight, hasSeen) { return piece.first }
          concurrent.append(
            Concurrent(first: piece.first, left: piece.left, right: piece.right, node: node, piece: index))
        }
        index += 1
        offset = 0
      }
      guard let next = try neighbour(of: node, parent: leaf.parent, isBehind: true) else { return nil }
      // Rows that name each other in a circle end here.
      passed &+= leaf.units
      guard passed <= root.units else {
        throw FormatError.damagedRuns("node", expected: "\(root.units) units", found: "more")
      }
      (node, leaf, index) = (next, try self.leaf(next), 0)
    }
  }

  /// How many of the concurrent pieces behind the left origin come before new units.
  ///
  /// It is the rule of YjsMod (Gentle, reference-crdts), which gives the order of FugueMax: pieces further right than
  /// the left origin hang from units already passed; those with the same left origin are ordered by their
  /// right origins, the rightmost first, then by their units.
  private func concurrent(before new: UnitID, _ gap: Gap, _ concurrent: [Concurrent]) throws -> Int {
    var leftRank: UInt64?
    var isUncertain = false
    var count = 0
    for (index, other) in concurrent.enumerated() {
      if !isUncertain { count = index }
      if other.left == gap.left {
        if other.right == gap.right {
          if try comes(new, before: other.first) { return count }
          isUncertain = false
        } else {
          isUncertain = try isLess(other.right, gap.right)
        }
        continue
      }
      guard let left = other.left else { return count }
      if leftRank == nil { leftRank = try gap.left.map { try rank(of: $0) + 1 } ?? 0 }
      if try rank(of: left) + 1 <= leftRank ?? 0 { return count }
    }
    return isUncertain ? count : concurrent.count
  }

  /// Whether a right origin lies before another; nil is the end.
  private func isLess(_ right: UnitID?, _ other: UnitID?) throws -> Bool {
    guard let right else { return false }
    guard let other else { return true }
    return try rank(of: right) < rank(of: other)
  }

  private func comes(_ unit: UnitID, before other: UnitID) throws -> Bool {
    if unit.replica != other.replica {
      return try storage.replicaID(unit.replica) < storage.replicaID(other.replica)
    }
    return (unit.epoch, unit.number) < (other.epoch, other.number)
  }

  /// How many units lie before a unit that is an origin.
  func rank(of unit: UnitID) throws -> UInt64 {
    guard let found = try find(unit) else {
      throw FormatError.damagedRuns("origin", expected: "a unit that is there", found: "unit \(unit.number)")
    }
    let before = try count(before: found.node, parent: found.leaf.parent).units
    let inLeaf = found.leaf.pieces[..<found.piece].reduce(0 as UInt64) { $0 &+ $1.count }
    return before &+ inLeaf &+ (unit.number - found.leaf.pieces[found.piece].first.number)
  }
}
