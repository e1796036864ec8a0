import OperationFormat

/// A sum of addends. Each head is what one transaction has added; nothing but a `create` removes it.
enum CounterKind: FieldCellKind {
  enum Operation: UInt64, CaseIterable {
    case add = 4
  }

  static var layout: CellLayout { .heads }
  static var showsGreatest: Bool { false }
  static var sumsHeads: Bool { true }
  static var identityIsValue: Bool { false }

  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool { false }

  // MARK: Folding

  /// Adds to a counter. What one transaction adds is one addend: no other transaction will ever have seen
  /// only a part of it.
  ///
  /// - Parameter operand: an encoded integer or decimal.
  static func apply<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, to field: NameNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    let cell = CellNumber(field, .counter)
    if index > 0, let earlier = try ownAddend(to: cell, in: &fold) {
      var sum = CounterSum()
      try sum.add(earlier.payload.span.bytes)
      try sum.add(operand)
      let counter = sum.counter
      if !counter.isClamped {
        let whole = try counter.value.encoded()
        return try fold.replace(
          cell, removing: .head(earlier.head.id), adding: fold.step.head(at: index), payload: whole.span.bytes
        )
      }
    }
    try fold.replace(cell, removing: .nothing, adding: fold.step.head(at: index), payload: operand)
  }

  /// What the transaction has added to a counter so far.
  private static func ownAddend<Storage>(
    to cell: CellNumber, in fold: inout Fold<Storage>
  ) throws -> OwnedHead? {
    let own = fold.context
    let place = try fold.loaded.place(of: cell)
    let heads = try RecordRow.heads(of: place.body, in: fold.loaded.bytes.span.bytes)
    for index in 0..<heads.count
    where heads[index].head.id.isOfTransaction(own.replica, own.epoch, own.sequence) {
      return OwnedHead(head: heads[index].head, payload: Array(fold.loaded.bytes[heads[index].payload]))
    }
    guard heads.total > heads.count else { return nil }
    let address = CellAddress(state: fold.state, record: try fold.recordNumber, CellPath(cell))
    return try lastAddendApart(of: own, address, fold.storage, fold.bound)
  }

  /// The last addend of a transaction that is stored apart.
  private static func lastAddendApart<Storage: FoldStorage>(
    of own: CausalContext, _ cell: CellAddress, _ storage: Storage, _ bound: FoldBound
  ) throws -> OwnedHead? {
    var last: OwnedHead?
    func look(in row: RawSpan) throws {
      // Sums that do not fit leave many rows, and each addition looks for its transaction's last one.
      try bound.count(looked: 1)
      for head in try ApartRow(row).heads
      where head.head.id.isOfTransaction(own.replica, own.epoch, own.sequence)
        && last?.head.id.index ?? 0 <= head.head.id.index
      {
        last = head
      }
    }
    // Those of the first operations share rows with other transactions.
    func head(_ index: UInt32) -> HeadID {
      HeadID(replica: own.replica, epoch: own.epoch, sequence: own.sequence, index: index)
    }
    let shared = cell.key(head(ElementKey.addendsMax - 1))
    try storage.forEachElement(under: cell.heads, from: cell.key(head(0))) { key, row in
      guard compareBytes(key, shared.bytes.span.bytes) <= 0 else { return false }
      try look(in: row)
      return true
    }
    // Those of later ones do not. An earlier program gave each addend a row.
    let prefix = ElementKey(
      state: cell.state, record: cell.record, cell.path, headsOf: own.replica, epoch: own.epoch,
      sequence: own.sequence)
    let end = ElementKey(
      state: cell.state, record: cell.record, cell.path, headsOf: own.replica, epoch: own.epoch,
      from: own.sequence, index: .max)
    if let found = try storage.element(atMost: end, under: prefix).found {
      try look(in: found.row.span.bytes)
      if let last { _ = try storage.withElement(cell.key(last.head.id), look) }
    }
    return last
  }

  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws {
    try fold.clearHeads(of: cell, seenAt: index)
  }

  /// The sum, also if it is 0, as the greatest addend's.
  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>
  ) throws {
    try fold.compactHeads(of: CellPath(cell), keeps: keeps) { heads in
      var sum = CounterSum()
      for owned in heads { try sum.add(owned.payload.span.bytes) }
      return try sum.addends.map { OwnedHead(head: heads[0].head, payload: try $0.encoded()) }
    }
  }

  /// What a counter reads does not depend on the order of its heads.
  static func retime<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, of field: NameNumber, by id: HeadID,
    to timestamp: Timestamp, in fold: inout Fold<Storage>
  ) throws -> Bool {
    try fold.retimeHeads(of: CellPath(CellNumber(field, .counter)), by: id, to: timestamp)
    return false
  }

  // MARK: Reading

  static func value<Rows>(of cell: CellReader<Rows>) throws -> Value? { try sum(of: cell).counter.value }

  /// The sum of what was added.
  ///
  /// - Complexity: O(log n) in the addends.
  static func sum<Rows>(of cell: CellReader<Rows>) throws -> CounterSum {
    let heads = try cell.inlineHeads()
    var sum = CounterSum()
    for index in 0..<heads.count { try sum.add(cell.row.extracting(heads[index].payload)) }
    if heads.total > heads.count {
      let key = ElementKey.sum(of: cell.state, record: try cell.record, cell: cell.cell)
      guard let apart = try cell.rows.withElement(key, { try CounterSum($0) }) else {
        throw FormatError.missingElement
      }
      sum.add(apart)
    }
    return sum
  }

  static func count<Rows>(of cell: CellReader<Rows>) throws -> Int { try cell.inlineHeads().total }

  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead] {
    try cell.heads().map { try cell.head($0, .addend(try Value(decoding: $0.payload.span.bytes))) }
  }

  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict] { [] }

  static func changes<Rows>(showing cell: CellReader<Rows>) throws -> [FieldChange] {
    [.add(try sum(of: cell).counter.value)]
  }

  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws {
    try digest.append(cell.heads(), cell.rows)
  }

  // MARK: Explaining

  /// What is added replaces nothing.
  static func effect(of change: FieldChange) -> CellEffect? {
    guard case .add(let value) = change else { return nil }
    return CellEffect(content: .addend(value), replaces: false)
  }

  static func change(restoring content: CellHead.Content) -> FieldChange? { nil }
}
