/// One identity of a store, a replica and an epoch, with the transactions made under it.
struct FoldLane {
  /// The number of the replica's identity in the schedule.
  var identity: Int
  var epoch: UInt32
  /// The lane that this one continues, and the last sequence of it that was held; nil for a first one.
  var parent: OracleLane.Parent?
  /// The numbers of its transactions, in the order of their sequences, from 1.
  var transactions: [Int] = []
}
