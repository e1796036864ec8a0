@testable import EventStore

extension UnitSequence {
  /// The sequence as the fold begins each operation with it: with its root and its view, and nothing else in memory.
  func forNextOperation() -> UnitSequence {
    var next = UnitSequence(storage, keys, root: root, isText: isText, limits: limits)
    next.view = view
    return next
  }
}
