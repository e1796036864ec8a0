/// Expects where the replica inserts or removes next in a list or text, as someone who types does.
///
/// It knows nothing of the cell but the operations of the run, and may be wrong: then the run says the unit.
/// Numbers wrap around, so that no bytes can stop it.
struct UnitCursor {
  private var record = -1
  private var field = -1
  /// The number that the next inserted unit probably gets.
  private var next: UInt64 = 0
  /// The replica's own unit after which it inserts next; nil for the start.
  private(set) var unit: UInt64?
  /// Where the latest units were inserted elsewhere than after their predecessor by number: the first unit,
  /// and the own unit before it; nil for another one.
  private var jumps: [(unit: UInt64, previous: UInt64?)] = []

  private static let jumpsMax = 16

  /// Prepares for an operation on this cell.
  mutating func enter(record: Int, field: Int) {
    guard record != self.record || field != self.field else { return }
    self = UnitCursor()
    self.record = record
    self.field = field
  }

  /// The number that a unit of this replica is compared with.
  var expectedNumber: UInt64 { unit ?? 0 }

  /// The first of `count` units that it removes next.
  func removal(of count: UInt64) -> UInt64 { expectedNumber &- count &+ 1 }

  /// Notes that `count` units were inserted after an own unit; nil for the start, or another's unit.
  mutating func noteInsertion(of count: UInt64, after previous: UInt64?) {
    // The number is known to exist, so the next one is greater.
    if let previous, previous >= next { next = previous &+ 1 }
    if previous != (next == 0 ? nil : next &- 1) {
      if jumps.count == Self.jumpsMax { jumps.removeFirst() }
      jumps.append((next, previous))
    }
    next &+= count
    unit = next &- 1
  }

  /// Notes that an element was moved: the move makes a unit.
  mutating func noteMove() { next &+= 1 }

  /// Notes that a run of own units was removed.
  mutating func noteRemoval(from first: UInt64) {
    while let last = jumps.last, last.unit > first { jumps.removeLast() }
    if let last = jumps.last, last.unit == first {
      unit = last.previous
    } else {
      unit = first == 0 ? nil : first &- 1
    }
  }
}
