import OperationFormat

/// Names a unit of a list or a text: a scalar of a text, or a place in a list.
///
/// `number` counts from 0 what a replica's epoch has inserted into the cell. The fold gives it out, and since
/// the transactions of an epoch are folded in the order of their sequences everywhere, it is the same in
/// every store.
package struct UnitID: Hashable, Sendable {
  package var replica: ReplicaNumber
  package var epoch: UInt32
  package var number: UInt64

  package init(replica: ReplicaNumber, epoch: UInt32, number: UInt64) {
    self.replica = replica
    self.epoch = epoch
    self.number = number
  }

  package init(_ inserter: Inserter, _ number: UInt64) {
    self.init(replica: inserter.replica, epoch: inserter.epoch, number: number)
  }

  /// Who has inserted it.
  package var inserter: Inserter { Inserter(replica: replica, epoch: epoch) }
}

/// One replica's epoch, as it inserts units into a cell.
package struct Inserter: Hashable, Sendable {
  var replica: ReplicaNumber
  var epoch: UInt32

  init(replica: ReplicaNumber, epoch: UInt32) {
    self.replica = replica
    self.epoch = epoch
  }

  package init(_ operation: HeadID) { self.init(replica: operation.replica, epoch: operation.epoch) }
}

/// Units of one inserter whose numbers follow each other.
package struct UnitRange: Hashable, Sendable {
  package var first: UnitID
  package var count: UInt64

  package init(first: UnitID, count: UInt64) {
    self.first = first
    self.count = count
  }

  /// The number after the last one; `UInt64.max` for a range without an end.
  package var end: UInt64 {
    let (end, isBeyond) = first.number.addingReportingOverflow(count)
    return isBeyond ? .max : end
  }

  func contains(_ unit: UnitID) -> Bool {
    unit.inserter == first.inserter && unit.number >= first.number && unit.number < end
  }
}
