import OperationFormat

/// The naive second implementation of the one rule for all conflicts: it keeps every operation, and finds the
/// heads of a cell by comparing each operation with each.
///
/// An operation replaces what it has seen. A transaction has seen an operation if its offset is at most the
/// transaction's base, or it is an earlier one of the same replica and epoch, or of an identity that this one
/// continues. The oracle shares no code with the fold: it knows no rows, and it sees from above, so no placement
/// is ever unknown to it.
struct FoldOracle {
  /// What an operation does to one cell.
  struct CellOperation {
    var transaction: Int
    var index: Int
    /// What its head says; nil if it adds none.
    var content: Int?
  }

  private let fields: Int
  /// The operations that work on a cell, in the order in which they were made. All of them remove what they have
  /// seen.
  private var operations: [[CellOperation]]
  /// For each transaction the ones that it has seen, a bit each.
  private(set) var seen: [UInt64] = []
  private var makers: [Maker] = []

  /// What of a transaction counts in the order of heads.
  private struct Maker {
    var timestamp: UInt64
    var identity: Int
    var epoch: UInt32
    var sequence: Int
  }

  init(records: Int, fields: Int) {
    self.fields = fields
    operations = Array(repeating: [], count: records * (1 + fields))
  }

  /// The number of a cell: field −1 is the record's existence.
  func cell(_ record: Int, _ field: Int) -> Int { record * (1 + fields) + 1 + field }

  // MARK: What happened

  /// Takes in a transaction that was just made: what it has seen is settled now, as a base never passes the end of
  /// the log and a first place never changes.
  mutating func append(_ number: Int, of transactions: [FoldTransaction], _ lanes: [FoldLane]) {
    let made = transactions[number]
    var mask: UInt64 = 0
    for other in 0..<number where Self.hasSeen(transactions[other], made, lanes) {
      mask |= 1 << UInt64(other)
    }
    seen.append(mask)
    let lane = lanes[made.lane]
    makers.append(
      Maker(
        timestamp: made.timestamp.rawValue, identity: lane.identity, epoch: lane.epoch,
        sequence: made.sequence))
    for (index, operation) in made.operations.enumerated() {
      let record = Int(operation.record)
      func add(_ field: Int, _ content: Int?) {
        operations[cell(record, field)].append(
          CellOperation(transaction: number, index: index, content: content))
      }
      switch operation.kind {
      case .create:
        add(-1, Int(operation.type))
        for field in 0..<fields { add(field, nil) }
      case .set:
        add(-1, Int(operation.type))
        add(Int(operation.field), Int(operation.value.rawValue))
      case .delete:
        add(-1, OracleHead.dead)
      }
    }
  }

  /// Whether a transaction has seen another one.
  private static func hasSeen(_ other: FoldTransaction, _ made: FoldTransaction, _ lanes: [FoldLane]) -> Bool
  {
    if other.place > 0 && other.place <= made.base { return true }
    if other.lane == made.lane { return other.sequence < made.sequence }
    var at = made.lane
    while let parent = lanes[at].parent {
      if parent.lane == other.lane && other.sequence <= parent.through { return true }
      at = parent.lane
    }
    return false
  }

  /// Whether one operation on a cell has seen another one.
  private func hasSeen(_ other: CellOperation, _ made: CellOperation) -> Bool {
    if other.transaction == made.transaction { return other.index < made.index }
    return seen[made.transaction] & 1 << UInt64(other.transaction) != 0
  }

  /// Whether any operation works on a record.
  func knows(_ record: Int) -> Bool { !operations[cell(record, -1)].isEmpty }

  // MARK: What comes of it

  /// Finds the heads of a cell, greatest first, once certain transactions were folded.
  ///
  /// - Parameters:
  ///   - folded: the transactions, a bit each.
  ///   - received: each transaction's first known time of receipt, `Int64.max` if none is known.
  ///   - history: where the lanes' identities are.
  func heads(
    of cell: Int, folded: UInt64, received: [Int64], _ history: FoldHistory, into heads: inout [OracleHead]
  ) {
    heads.removeAll(keepingCapacity: true)
    let there = operations[cell]
    for operation in there where folded & 1 << UInt64(operation.transaction) != 0 {
      guard let content = operation.content else { continue }
      let isReplaced = there.contains {
        folded & 1 << UInt64($0.transaction) != 0 && hasSeen(operation, $0)
      }
      if isReplaced { continue }
      let maker = makers[operation.transaction]
      heads.append(
        OracleHead(
          timestamp: Self.effective(maker.timestamp, received[operation.transaction]),
          replica: history.identities[maker.identity], epoch: maker.epoch, sequence: maker.sequence,
          index: operation.index, content: content))
    }
    if heads.count > 1 { heads.sort(by: OracleHead.isGreater) }
  }

  /// At most 5 minutes after the time of receipt, whatever the counter.
  static func effective(_ timestamp: UInt64, _ received: Int64) -> UInt64 {
    if received == .max { return timestamp }
    return min(timestamp, UInt64(max(received, 0) + 300_000) << 16 | 0xffff)
  }

  /// The type of a record that is visible under the policies of the types, nil for one that is not: as the text says
  /// it.
  static func visibleType(_ heads: [OracleHead], policies: [Int]) -> Int? {
    guard let type = heads.first(where: { $0.content != OracleHead.dead })?.content else { return nil }
    switch policies[type] {
    case 0: return heads[0].content == OracleHead.dead ? nil : type
    case 1: return heads.contains { $0.content == OracleHead.dead } ? nil : type
    default: return type
    }
  }
}
