/// Heads of one replica's epoch that may be stored apart: those that its operations made from one sequence up
/// to a place in another.
struct HeadRun {
  var replica: ReplicaNumber
  var epoch: UInt32
  var first: UInt64
  var end: UInt64
  var endIndex: UInt32

  init(replica: ReplicaNumber, epoch: UInt32, first: UInt64, end: UInt64, endIndex: UInt32) {
    (self.replica, self.epoch) = (replica, epoch)
    (self.first, self.end, self.endIndex) = (first, end, endIndex)
  }

  /// All that transactions made.
  init(replica: ReplicaNumber, epoch: UInt32, _ sequences: ClosedRange<UInt64>) {
    let last = sequences.upperBound
    self.init(
      replica: replica, epoch: epoch, first: sequences.lowerBound, end: last == .max ? .max : last + 1,
      endIndex: 0)
  }

  /// All that one transaction made.
  init(transaction head: HeadID) {
    self.init(replica: head.replica, epoch: head.epoch, head.sequence...head.sequence)
  }

  func contains(_ head: HeadID) -> Bool {
    head.replica == replica && head.epoch == epoch && first <= head.sequence
      && (head.sequence, head.index) < (end, endIndex)
  }

  /// In the order of their keys.
  static func < (a: HeadRun, b: HeadRun) -> Bool {
    (a.replica, a.epoch, a.first) < (b.replica, b.epoch, b.first)
  }
}
