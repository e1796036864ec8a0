@testable import EventStore

extension UnitOrder {
  /// The sequence as the fold has it at the start of each operation: with its root and its view, and nothing
  /// else in memory.
  func forNextOperation() -> UnitOrder {
    var next = UnitOrder(storage, keys, root: root, isText: isText, limits: limits)
    next.view = view
    return next
  }
}
