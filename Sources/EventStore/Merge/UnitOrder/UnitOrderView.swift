/// What is known of what a transaction has seen of a list or a text, so that most of it need not be searched
/// for.
///
/// It may be kept from one insertion to the next of the same inserter, as long as that one has seen no more
/// of others.
struct UnitOrderView {
  /// Whether the transaction may have seen units that others inserted.
  var seesOthers = true

  private var known: [Inserter: (seenEnd: UInt64, unseenStart: UInt64)] = [:]
  /// By units, nil for the start, those that come next among all that are seen, nil for the end.
  private var successors: [UnitID?: UnitID?] = [:]
  /// The same for each inserter that has seen what the transaction's base says and nothing else; nil where
  /// this one has seen more.
  var ofBase: [UnitID?: UnitID?]?
  /// The inserter's next unit.
  private var next: UnitID?

  /// More than these are not kept: they are a cache.
  private static let successorsMax = 65_536
  private static let successorsOfBaseMax = 1024

  init() {}

  /// Begins an insertion of an inserter, whose earlier units are all seen.
  mutating func begin(_ first: UnitID, from inserter: Inserter) {
    if next != first { successors.removeAll() }
    learn(0..<first.number, of: inserter, areSeen: true)
    next = first
  }

  /// Learns what was inserted.
  mutating func learn(_ piece: Piece) {
    if successors.count >= Self.successorsMax { successors.removeAll() }
    successors[piece.left] = .some(piece.first)
    successors[piece.last] = .some(piece.right)
    next = UnitID(piece.first.inserter, piece.end)
  }

  /// The first seen unit behind one that is seen, nil for the start; nil where it is not known.
  func successor(of left: UnitID?) -> UnitID?? {
    // Who has inserted nothing and has seen nobody has seen nothing.
    if !seesOthers, hasNone { return .some(nil) }
    if let known = successors[left] { return known }
    return hasNone ? ofBase?[left] : nil
  }

  /// Whether the inserter has no unit here yet.
  private var hasNone: Bool { next?.number == 0 }

  /// Learns what comes behind a unit, where that took a search. Others with the same base need not search.
  mutating func learn(_ successor: UnitID?, of left: UnitID?) {
    guard hasNone, let count = ofBase?.count else { return }
    if count >= Self.successorsOfBaseMax { ofBase?.removeAll() }
    ofBase?[left] = .some(successor)
  }

  /// Whether a unit is seen and the next one behind it known.
  func knows(_ unit: UnitID) -> Bool { successors[unit] != nil }

  /// Whether a unit is seen; nil where it is not known.
  func sees(_ unit: UnitID) -> Bool? {
    guard let entry = known[unit.inserter] else { return nil }
    if unit.number < entry.seenEnd { return true }
    return unit.number >= entry.unseenStart ? false : nil
  }

  /// Learns whether the units of an operation are seen.
  mutating func learn(_ units: Range<UInt64>, of inserter: Inserter, areSeen: Bool) {
    var entry = known[inserter] ?? (0, .max)
    if areSeen {
      entry.seenEnd = max(entry.seenEnd, units.upperBound)
    } else {
      entry.unseenStart = min(entry.unseenStart, units.lowerBound)
    }
    known[inserter] = entry
  }
}
