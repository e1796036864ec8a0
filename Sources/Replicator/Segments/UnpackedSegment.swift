package import OperationFormat

/// A segment whose every part was checked against every other.
package struct UnpackedSegment: Hashable, Sendable {
  package var header: SegmentHeader
  /// The canonical bytes of its transactions, in the order of their sequences.
  package var transactions: [[UInt8]]

  /// What folding it takes: see ``FoldWork``.
  package var steps: Int

  package init(header: SegmentHeader, transactions: [[UInt8]], steps: Int) {
    self.header = header
    self.transactions = transactions
    self.steps = steps
  }
}
