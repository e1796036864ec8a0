import OperationFormat

/// Units that an undo has made for others that were gone: which they stand for.
///
/// What was removed comes back as new units. An undo inserts them after the last of those whose copies they are, so what
/// it has written says what they stand for.
struct UnitCopies {
  /// What each copy stands for, which is no copy.
  private var origins: [UnitReference: UnitReference] = [:]
  /// The copies of a unit, in the order in which they were made.
  private var copies: [UnitReference: [UnitReference]] = [:]
  /// All copies, in that order.
  private(set) var inOrder: [UnitReference] = []

  var isEmpty: Bool { origins.isEmpty }

  init(_ parts: [UnitOrderPart], _ transactions: UndoneTransactions) {
    if transactions.made.isEmpty { return }
    struct Operation: Hashable {
      let maker: UnitMaker
      let sequence: UInt64
      let index: UInt32
    }
    // An operation's units may be in several parts.
    var runs: [Operation: [(first: UInt64, count: UInt64)]] = [:]
    for part in parts {
      guard let maker = part.first.maker else { continue }
      var number = part.first.number
      for some in part.makers {
        let id = TransactionID(replica: maker.replica, epoch: maker.epoch, sequence: some.sequence)
        if transactions.made[id] != nil {
          let operation = Operation(maker: maker, sequence: some.sequence, index: some.index)
          runs[operation, default: []].append((number, some.units))
        }
        number += some.units
      }
    }
    let inOrder = runs.sorted {
      ($0.key.maker.epoch, $0.key.sequence) < ($1.key.maker.epoch, $1.key.sequence)
    }
    for (operation, some) in inOrder {
      let id = TransactionID(
        replica: operation.maker.replica, epoch: operation.maker.epoch, sequence: operation.sequence)
      guard let made = transactions.made[id], operation.index < made.operations.count,
        case .update(_, _, _, let change) = made.operations[Int(operation.index)]
      else { continue }
      let last: UnitReference?
      switch change {
      case .insertText(_, let origin), .insertElements(_, let origin), .moveElement(_, let origin):
        last = origin
      default: continue
      }
      let count = some.reduce(0) { $0 + $1.count }
      guard let last = last?.named(by: made), last.number < UInt64(Int64.max), last.number + 1 >= count else {
        continue
      }
      let first = some.map(\.first).min()!
      for (start, units) in some {
        for number in start..<start + units where number - first < count {
          let former = UnitReference(maker: last.maker, number: last.number + 1 - count + (number - first))
          note(UnitReference(maker: operation.maker, number: number), for: origin(of: former))
        }
      }
    }
  }

  private mutating func note(_ copy: UnitReference, for origin: UnitReference) {
    origins[copy] = origin
    inOrder.append(copy)
    copies[origin, default: []].append(copy)
  }

  /// What a unit stands for: itself, if it is no copy.
  func origin(of unit: UnitReference) -> UnitReference { origins[unit] ?? unit }

  func isCopy(_ unit: UnitReference) -> Bool { origins[unit] != nil }

  func copies(of unit: UnitReference) -> [UnitReference] { copies[unit] ?? [] }

  /// Some units, and what those of them that are copies stand for.
  func origins(of spans: [UnitSpan]) -> UnitSet {
    let units = UnitSet(spans)
    return UnitSet(spans + inOrder.filter(units.contains).map { UnitSpan(first: origin(of: $0), count: 1) })
  }
}
