import OperationFormat

/// Units that one entry describes, as ``UnitOrder/forEachRun(_:)`` gives them.
package struct UnitRun: Hashable, Sendable {
  package var units: UnitRange
  /// The left origin of the first unit; of each other one it is the unit before it. Nil is the start.
  package var left: UnitID?
  /// The right origin of all of them; nil is the end.
  package var right: UnitID?
  package var isVisible: Bool
  /// The element that a move has put at the one place that this is.
  package var element: UnitID?
  /// The UTF-8 of visible units of a text; else empty.
  package var text: [UInt8]

  package init(
    units: UnitRange, left: UnitID?, right: UnitID?, isVisible: Bool, element: UnitID?, text: [UInt8]
  ) {
    self.units = units
    self.left = left
    self.right = right
    self.isVisible = isVisible
    self.element = element
    self.text = text
  }
}

/// Reading all, in the document's order.
extension UnitOrder {
  /// The visible text.
  ///
  /// - Complexity: O(n)
  func text() throws -> String {
    precondition(isText, "a list has no text")
    var text: [UInt8] = []
    try tree.forEachLeaf { _, leaf in
      for piece in leaf.pieces { text += leaf.bytes[piece.text] }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Calls a closure with all units, hidden ones too, in runs as long as possible: the same ones in each
  /// store that has the same units, however their rows are cut.
  ///
  /// - Complexity: O(n)
  package func forEachRun(_ body: (UnitRun) throws -> Void) throws {
    var last: (piece: Piece, text: [UInt8])?
    func finish() throws {
      guard let (piece, text) = last else { return }
      try body(
        UnitRun(
          units: UnitRange(first: piece.first, count: piece.count), left: piece.left, right: piece.right,
          isVisible: piece.isVisible, element: piece.element, text: text))
    }
    try tree.forEachLeaf { _, leaf in
      for piece in leaf.pieces {
        if let (before, text) = last, piece.continues(before) {
          last = nil
          var joined = text
          joined += leaf.bytes[piece.text]
          var whole = before
          whole.count &+= piece.count
          last = (whole, joined)
        } else {
          try finish()
          last = (piece, Array(leaf.bytes[piece.text]))
        }
      }
    }
    try finish()
  }
}
