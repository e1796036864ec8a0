@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

/// What several writers did to one sequence, and what each had seen. It can be folded in any valid order.
struct UnitOrderHistory {
  enum Action {
    case insert(text: String, after: UnitID?)
    case places(Int, after: UnitID?)
    case place(of: UnitID, after: UnitID?)
    case set(isVisible: Bool, [UnitRange])
  }

  struct Operation {
    var id: HeadID
    var action: Action
    /// The operations that its transaction has seen, by index; closed.
    var seen: Set<Int>
  }

  var isText = true
  /// The writers' identities, in the order of their numbers from 1.
  var identities: [ReplicaID]
  /// In an order in which seen operations come first.
  private(set) var operations: [Operation] = []
  private var indexes: [HeadID: Int] = [:]

  init(writers: Int, isText: Bool = true) {
    identities = (1...writers).map { ReplicaID(rawValue: UInt128($0)) }
    self.isText = isText
  }

  /// Adds an operation of a writer, in a separate transaction.
  ///
  /// - Returns: its index.
  @discardableResult
  mutating func add(_ action: Action, by writer: Int, seen: Set<Int>) -> Int {
    let number = ReplicaNumber(rawValue: UInt32(writer))
    let sequence = UInt64(operations.count { $0.id.replica == number } + 1)
    let id = HeadID(replica: number, epoch: 0, sequence: sequence, index: 0)
    indexes[id] = operations.count
    operations.append(Operation(id: id, action: action, seen: seen))
    return operations.count - 1
  }

  mutating func removeLast() {
    if let last = operations.popLast() { indexes[last.id] = nil }
  }

  func hasSeen(_ head: HeadID, by seen: Set<Int>) -> Bool { indexes[head].map(seen.contains) ?? false }

  func makeStorage() -> MemoryFoldStorage { MemoryFoldStorage(replicas: identities) { _, _, _, _, _ in nil } }

  static let keys = RunKeys(
    state: StateNumber(rawValue: 1), record: 7, cell: CellNumber(rawValue: 0x25))

  func makeSequence<Storage>(
    _ storage: Storage, nodeBytesMax: Int = 2000
  ) -> UnitOrder<Storage> {
    UnitOrder(
      storage, Self.keys, root: UnitOrderRoot(), isText: isText,
      limits: UnitOrderLimits(nodeBytesMax: nodeBytesMax))
  }

  /// Folds one operation.
  func fold<Storage: RunStorage>(_ index: Int, into sequence: inout UnitOrder<Storage>) throws {
    let operation = operations[index]
    let hasSeen = { (head: HeadID) in self.hasSeen(head, by: operation.seen) }
    switch operation.action {
    case .insert(let text, let left):
      let text = Array(text.utf8)
      _ = try sequence.insert(text: text.span.bytes, by: operation.id, after: left, hasSeen: hasSeen)
    case .places(let count, let left):
      _ = try sequence.insert(places: UInt64(count), by: operation.id, after: left, hasSeen: hasSeen)
    case .place(let element, let left):
      _ = try sequence.insert(placeOf: element, by: operation.id, after: left, hasSeen: hasSeen)
    case .set(let isVisible, let ranges):
      for range in ranges { try sequence.setVisible(isVisible, range) }
    }
  }

  /// Folds all operations in an order.
  func folded(_ order: [Int], nodeBytesMax: Int = 2000) throws -> UnitOrder<MemoryFoldStorage> {
    var sequence = makeSequence(makeStorage(), nodeBytesMax: nodeBytesMax)
    for index in order { try fold(index, into: &sequence) }
    return sequence
  }

  var emptyModel: UnitOrderModel {
    UnitOrderModel { [identities] in identities[Int($0.rawValue) - 1] }
  }

  func fold(_ index: Int, into model: inout UnitOrderModel) {
    let operation = operations[index]
    let hasSeen = { (head: HeadID) in self.hasSeen(head, by: operation.seen) }
    switch operation.action {
    case .insert(let text, let left):
      let scalars = text.unicodeScalars.map { UnitOrderModel.Content.scalar($0) }
      model.insert(scalars, by: operation.id, after: left, hasSeen: hasSeen)
    case .places(let count, let left):
      let places = [UnitOrderModel.Content](repeating: .place(element: nil), count: count)
      model.insert(places, by: operation.id, after: left, hasSeen: hasSeen)
    case .place(let element, let left):
      model.insert([.place(element: element)], by: operation.id, after: left, hasSeen: hasSeen)
    case .set(let isVisible, let ranges):
      for range in ranges { model.setVisible(isVisible, range) }
    }
  }

  func model(_ order: [Int]) -> UnitOrderModel {
    var model = emptyModel
    for index in order { fold(index, into: &model) }
    return model
  }

  /// All orders in which seen operations come first.
  var orders: [[Int]] {
    var orders: [[Int]] = []
    func extend(_ order: [Int]) {
      if order.count == operations.count { return orders.append(order) }
      for index in operations.indices
      where !order.contains(index) && operations[index].seen.isSubset(of: order) {
        extend(order + [index])
      }
    }
    extend([])
    return orders
  }

  /// A random one of these orders.
  func order(_ random: inout SeededGenerator) -> [Int] {
    var rest = Array(operations.indices)
    var done: Set<Int> = []
    var order: [Int] = []
    while !rest.isEmpty {
      let ready = rest.indices.filter { operations[rest[$0]].seen.isSubset(of: done) }
      let index = rest.remove(at: ready[random.below(ready.count)])
      done.insert(index)
      order.append(index)
    }
    return order
  }
}

extension UnitOrder {
  var runs: [UnitRun] {
    get throws {
      var runs: [UnitRun] = []
      try forEachRun { runs.append($0) }
      return runs
    }
  }
}
