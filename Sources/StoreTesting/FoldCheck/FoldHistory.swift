import OperationFormat

/// All that happened in one sequence, seen from above: the lanes, their transactions and the remote log.
final class FoldHistory {
  let identities: [ReplicaID]
  let records: Int
  let fields: Int
  private(set) var lanes: [FoldLane] = []
  private(set) var transactions: [FoldTransaction] = []
  /// The remote log; the first has offset 1.
  private(set) var segments: [FoldSegment] = []
  private(set) var oracle: FoldOracle
  var coverage = FoldCheckCoverage()

  init(_ schedule: FoldSchedule) {
    identities = schedule.makeIdentities()
    records = schedule.records
    fields = schedule.fields
    oracle = FoldOracle(records: records, fields: fields)
    transactions.reserveCapacity(16)
  }

  /// Opens a lane in the first epoch of an identity that is not used yet.
  func openLane(identity: Int, parent: (lane: Int, through: Int)?) -> Int {
    let epoch = lanes.lazy.filter { $0.identity == identity }.map(\.epoch).max() ?? 0
    lanes.append(FoldLane(identity: identity, epoch: epoch + 1, parent: parent))
    return lanes.count - 1
  }

  /// Adds a transaction to a lane and gives its number; nil if there are too many.
  func append(_ operations: [FoldOperation], lane: Int, base: Int, timestamp: Timestamp) -> Int? {
    guard transactions.count < FoldSchedule.transactionsMax else { return nil }
    let number = transactions.count
    lanes[lane].transactions.append(number)
    transactions.append(
      FoldTransaction(
        lane: lane, sequence: lanes[lane].transactions.count, base: base, timestamp: timestamp,
        operations: operations))
    for operation in operations where operation.kind == .create && oracle.knows(Int(operation.record)) {
      coverage.recreates += 1
    }
    oracle.append(number, of: transactions, lanes)
    coverage.transactions += 1
    coverage.operations += operations.count
    return number
  }

  /// Appends a segment to the remote log and gives its offset.
  func append(_ segment: FoldSegment) -> Int {
    segments.append(segment)
    for sequence in segment.sequences {
      let number = lanes[segment.lane].transactions[sequence - 1]
      if transactions[number].place == 0 { transactions[number].place = segments.count }
    }
    return segments.count
  }

  /// The number of a lane's transaction.
  func number(of sequence: Int, in lane: Int) -> Int { lanes[lane].transactions[sequence - 1] }

  /// When each transaction was first received, by the remote log.
  var received: [Int64] {
    var received = [Int64](repeating: .max, count: transactions.count)
    for segment in segments {
      for sequence in segment.sequences {
        let number = number(of: sequence, in: segment.lane)
        received[number] = min(received[number], segment.receivedMilliseconds ?? .max)
      }
    }
    return received
  }

  /// A bit for each transaction.
  var all: UInt64 { transactions.count == 64 ? .max : (1 << UInt64(transactions.count)) - 1 }
}
