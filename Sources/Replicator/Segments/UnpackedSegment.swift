package import OperationFormat

/// A segment whose every part was checked against every other.
package struct UnpackedSegment: Hashable, Sendable {
  package var header: SegmentHeader
  /// The canonical bytes of its transactions, in the order of their sequences.
  package var transactions: [[UInt8]]

  package init(header: SegmentHeader, transactions: [[UInt8]]) {
    self.header = header
    self.transactions = transactions
  }
}
