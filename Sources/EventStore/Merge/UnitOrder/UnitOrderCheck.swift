import OperationFormat

/// What a verification of one unit order has read so far.
struct UnitOrderCheck {
  private struct Placed {
    var piece: Piece
    var leaf: NodeNumber
    /// How many units come before it.
    var rank: UInt64
  }

  var problems: [String] = []
  var places: [Inserter: [PlaceRow.Entry]] = [:]
  /// The number after the last unit's, as the makers tell it.
  private var ends: [Inserter: UInt64] = [:]
  private var lastOperations: [Inserter: (sequence: UInt64, index: UInt32)] = [:]
  /// Of each inserter, by number once they are sorted.
  private var pieces: [Inserter: [Placed]] = [:]
  private var units: UInt64 = 0
  /// Of each inserter, the number behind its last compacted unit.
  private var compactedEnds: [Inserter: UInt64] = [:]
  /// How many units are in no leaf.
  private(set) var dropped: UInt64 = 0

  mutating func add(_ leaf: Leaf, _ node: NodeNumber) {
    for (index, piece) in leaf.pieces.enumerated() {
      pieces[piece.first.inserter, default: []].append(Placed(piece: piece, leaf: node, rank: units))
      units &+= piece.count
      if index > 0, piece.continues(leaf.pieces[index - 1]) {
        problems.append("leaf \(node) tells one piece as two")
      }
    }
  }

  mutating func sortPieces() {
    for inserter in pieces.keys { pieces[inserter]?.sort { $0.piece.first.number < $1.piece.first.number } }
  }

  /// The rows come in the order of their numbers.
  mutating func add(_ makers: MakerRow, of inserter: Inserter) {
    if makers.first != ends[inserter, default: 0] {
      problems.append("makers go on at \(makers.first), not \(ends[inserter, default: 0])")
    }
    ends[inserter] = makers.end
    if makers.first == 0, let made = makers.operation(making: 0), made.sequence == 0 {
      compactedEnds[inserter] = made.units.upperBound
    }
    for entry in makers.entries {
      if let last = lastOperations[inserter], (entry.sequence, entry.index) <= last {
        problems.append("the operations of sequence \(entry.sequence) are not in order")
      }
      lastOperations[inserter] = (entry.lastSequence, entry.index)
    }
  }

  mutating func finish() {
    let inserters = Set(pieces.keys).union(ends.keys).sorted {
      ($0.replica, $0.epoch) < ($1.replica, $1.epoch)
    }
    for inserter in inserters {
      let name = "replica \(inserter.replica.rawValue), epoch \(inserter.epoch)"
      var end: UInt64 = 0
      var leaf = PlaceRow.dropped
      for placed in pieces[inserter] ?? [] {
        checkDropped(end, placed.piece.first.number, behind: leaf, of: inserter, name)
        (end, leaf) = (placed.piece.end, placed.leaf)
        check(placed, name)
      }
      checkDropped(end, ends[inserter, default: 0], behind: leaf, of: inserter, name)
    }
  }

  /// Checks that the units between two numbers were dropped.
  ///
  /// - Parameter leaf: which has the unit in front of them.
  private mutating func checkDropped(
    _ start: UInt64, _ end: UInt64, behind leaf: NodeNumber, of inserter: Inserter, _ name: String
  ) {
    if start == end { return }
    guard start < end, end <= compactedEnds[inserter, default: 0] else {
      return problems.append("\(name): unit \(start) is missing, or there twice, or has no maker")
    }
    dropped += end - start
    let entries = places[inserter] ?? []
    let first = max(0, entries.prefixCount { $0.number <= start } - 1)
    for entry in entries[min(first, entries.count)...]
    where entry.number < end && entry.leaf != PlaceRow.dropped && entry.leaf != leaf {
      problems.append(
        "\(name): unit \(max(start, entry.number)) was dropped behind leaf \(leaf), not \(entry.leaf)")
    }
  }

  private mutating func check(_ placed: Placed, _ name: String) {
    let (piece, entries) = (placed.piece, places[placed.piece.first.inserter] ?? [])
    // The last entry whose number is at most the piece's first.
    let count = entries.prefixCount { $0.number <= piece.first.number }
    var index = max(0, count - 1)
    if count == 0 {
      problems.append("\(name): unit \(piece.first.number) has no leaf")
    }
    while index < entries.count, entries[index].number < piece.end {
      if entries[index].leaf != placed.leaf {
        problems.append(
          "\(name): units from \(piece.first.number) are in leaf \(placed.leaf), not \(entries[index].leaf)")
      }
      index += 1
    }
    if let level = level(of: piece), level != piece.level {
      problems.append("\(name): unit \(piece.first.number) is said to be at \(piece.level), not \(level)")
    }
    for (origin, isLeft) in [(piece.left, true), (piece.right, false)] {
      guard let origin else { continue }
      guard let rank = rank(of: origin) else {
        problems.append("\(name): an origin of unit \(piece.first.number) is not there")
        continue
      }
      if isLeft ? rank >= placed.rank : rank < placed.rank + piece.count {
        problems.append("\(name): an origin of unit \(piece.first.number) is on its other side")
      }
    }
  }

  /// The level that follows from a piece's origins; nil if one of them is not there.
  private func level(of piece: Piece) -> Level? {
    var level = Level(depth: 0, rightDepth: 0)
    if let left = piece.left {
      guard let placed = placed(left) else { return nil }
      level.depth = placed.piece.level(at: left.number - placed.piece.first.number).depth &+ 1
    }
    if let right = piece.right {
      guard let placed = placed(right) else { return nil }
      let offset = right.number - placed.piece.first.number
      let leftOfRight = offset == 0 ? placed.piece.left : UnitID(right.inserter, right.number - 1)
      if leftOfRight == piece.left { level.rightDepth = placed.piece.level(at: offset).rightDepth &+ 1 }
    }
    return level
  }

  private func rank(of unit: UnitID) -> UInt64? {
    placed(unit).map { $0.rank + (unit.number - $0.piece.first.number) }
  }

  private func placed(_ unit: UnitID) -> Placed? {
    let pieces = pieces[unit.inserter] ?? []
    let count = pieces.prefixCount { $0.piece.first.number <= unit.number }
    guard count > 0, pieces[count - 1].piece.contains(unit) else { return nil }
    return pieces[count - 1]
  }
}
