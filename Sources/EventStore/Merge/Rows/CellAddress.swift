import OperationFormat

/// A cell of one record, with the keys of what is stored apart of it.
struct CellAddress: Hashable {
  let state: StateNumber
  let record: UInt32
  let path: CellPath

  init(state: StateNumber, record: UInt32, _ path: CellPath) {
    (self.state, self.record) = (state, record)
    self.path = path
  }

  /// The key of the row of a head that is stored apart.
  func key(_ head: HeadID) -> ElementKey { ElementKey(state: state, record: record, path, head: head) }

  /// The keys of the rows that may have a head that is stored apart: an earlier program gave each addend a row.
  func keys(_ head: HeadID) -> [ElementKey] {
    let own = ElementKey(
      state: state, record: record, path, headsOf: head.replica, epoch: head.epoch, from: head.sequence,
      index: head.index)
    let key = key(head)
    return key == own ? [key] : [key, own]
  }

  /// A prefix of the heads that are stored apart.
  var heads: ElementKey { .heads(of: state, record: record, path) }

  /// The key of the index of those heads.
  var index: ElementKey { .apartIndex(of: state, record: record, path) }

  /// A prefix of that index's rows in the order of heads.
  var order: ElementKey { .apartOrder(of: state, record: record, path) }

  /// The row of a head in that index.
  func order(of head: Head, by replica: ReplicaID) -> ElementKey {
    .apartOrder(of: state, record: record, path, head, by: replica)
  }

  /// The key of the sum of those heads.
  var sum: ElementKey { .sum(of: state, record: record, cell: path.cell) }

  /// The keys of all these rows.
  var keys: Range<ElementKey> {
    heads..<ElementKey(bytes: heads.bytes + [UInt8](repeating: .max, count: ElementKey.headBytes + 1))
  }

  /// The keys of the rows with the heads that a run of sequences made; the first may have others too.
  func keys(of run: HeadRun) -> Range<ElementKey> {
    let first = key(HeadID(replica: run.replica, epoch: run.epoch, sequence: run.first, index: 0))
    let end = ElementKey(
      state: state, record: record, path, headsOf: run.replica, epoch: run.epoch, from: run.end,
      index: run.endIndex)
    return first..<max(first, end)
  }
}
