/// A piece of the remote log: consecutive transactions of one lane.
struct FoldSegment {
  var lane: Int
  /// The sequences, from 1.
  var sequences: ClosedRange<Int>
  /// When the remote received it, in milliseconds since 1970; nil where it keeps no such times.
  var receivedMilliseconds: Int64?
}
