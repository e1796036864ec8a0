package import OperationFormat

/// A segment whose parts were all checked against each other.
package struct UnpackedSegment: Hashable, Sendable {
  package var header: SegmentHeader
  /// The canonical bytes of its transactions, in the order of their sequences.
  package var transactions: [[UInt8]]

  /// The work of folding it: see ``FoldWork``.
  package var steps: Int
}
