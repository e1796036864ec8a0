import OperationFormat

/// The heads of a cell that are stored apart, while it is edited: they, their index and their sum.
struct ApartHeads<Storage: FoldStorage> {
  let cell: CellAddress
  private(set) var count: Int
  /// Nil if they are few: then all are read.
  var index: ApartIndex?
  /// As it is in the storage.
  private let storedIndex: ApartIndex?
  /// Whether a sum is kept of them: see ``FieldCellKind/sumsHeads``.
  private let sumsHeads: Bool
  private var sum = CounterSum()
  private let storage: Storage
  private let bound: FoldBound

  init(of cell: CellAddress, count: Int, _ storage: Storage, _ bound: FoldBound) throws {
    (self.storage, self.bound, self.cell, self.count) = (storage, bound, cell, count)
    sumsHeads = cell.path.cell.sumsHeads
    index = count > 0 ? try storage.readElement(cell.index).map { try ApartIndex($0.span.bytes) } : nil
    storedIndex = index
    if count > 0, sumsHeads {
      sum = try storage.readElement(cell.sum).map { try CounterSum($0.span.bytes) } ?? CounterSum()
    }
  }

  /// Writes what changed besides the heads themselves. Many heads get an index; it goes with the last of
  /// them.
  ///
  /// - Parameters:
  ///   - inline: the heads of the row, whose payloads may be stored apart.
  ///   - scannedMax: how many are read without an index.
  /// - Returns: how many there are.
  mutating func finish(except inline: [HeadID], scannedMax: Int) throws -> Int {
    if sumsHeads {
      if sum.isEmpty {
        try storage.deleteElement(cell.sum)
      } else {
        var writer = ByteWriter()
        sum.append(to: &writer)
        try storage.writeElement(writer.span, cell.sum)
      }
    }
    if count == 0 {
      index = nil
    } else if index == nil, count > scannedMax {
      index = ApartIndex()
      try makeOrder(except: Set(inline))
    }
    guard index != storedIndex else { return count }
    if let index {
      var writer = ByteWriter()
      index.append(to: &writer)
      try storage.writeElement(writer.span, cell.index)
    } else {
      try storage.deleteElement(cell.index)
    }
    return count
  }

  // MARK: Adding and removing

  /// Stores a head apart. Its payload is there already if it is large.
  mutating func put(_ head: OwnedHead) throws {
    count += 1
    if sumsHeads { try sum.add(head.payload.span.bytes) }
    if head.payload.first == Cell.apartMark {
      if index != nil { try writeOrder(of: head.head) }
      return
    }
    try add(head)
  }

  private func add(_ head: OwnedHead) throws {
    let key = cell.key(head.head.id)
    let old = sumsHeads ? try readRow(key) ?? ApartRow() : ApartRow()
    var row = old
    row.insert(head)
    try replace(old, by: row, at: key)
  }

  mutating func remove(_ id: HeadID) throws {
    for key in cell.keys(id) where try remove(from: key, { $0 == id }) { return }
  }

  /// Removes some heads of a row.
  ///
  /// - Returns: whether it had any of them.
  @discardableResult
  mutating func remove(from key: ElementKey, _ isRemoved: (HeadID) throws -> Bool) throws -> Bool {
    guard let old = try readRow(key) else { return false }
    var row = old
    let removed = try row.remove(isRemoved)
    if removed.isEmpty { return false }
    for head in removed { try forget(head) }
    try replace(old, by: row, at: key)
    try bound.count(removed: 1)
    try bound.countRemoved(bytes: removed.reduce(0) { $0 + $1.payload.count })
    return true
  }

  /// Takes the greatest heads for the record's row. A large payload stays where it is.
  mutating func takeGreatest(_ wanted: Int, except inline: [HeadID]) throws -> [OwnedHead] {
    var taken: [OwnedHead] = []
    if index == nil {
      var heads = try storage.headsApart(except: Set(inline), under: cell.heads).map(\.head)
      try heads.sort { try storage.isGreater($0, $1) }
      for head in heads.prefix(wanted) { taken.append(try take(head)) }
    } else {
      while taken.count < wanted, let (key, row) = try storage.firstElement(under: cell.order) {
        var reader = ByteReader(row.span.bytes)
        let replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("head.replica"))
        taken.append(try take(key.orderedHead(by: replica)))
      }
    }
    return taken
  }

  private mutating func take(_ head: Head) throws -> OwnedHead {
    for key in cell.keys(head.id) {
      guard let old = try readRow(key) else { continue }
      var row = old
      guard var taken = row.remove({ $0 == head.id }).first else { continue }
      try forget(taken)
      if taken.payload.count > Cell.inlinePayloadBytesMax {
        if index != nil { try storage.deleteElement(orderKey(of: taken.head)) }
        taken.payload = Cell.mark(taken.payload.count)
      } else {
        try replace(old, by: row, at: key)
      }
      return taken
    }
    throw FormatError(
      .damaged, at: 0, in: "cell", expected: "a head that is kept apart", found: "no such row")
  }

  private mutating func forget(_ head: OwnedHead) throws {
    count -= 1
    if sumsHeads { try sum.remove(head.payload.span.bytes) }
  }

  /// - Throws: ``FormatError`` `damaged` if it has another's heads: they could not be put in order with more.
  private func readRow(_ key: ElementKey) throws -> ApartRow? {
    guard let row = try storage.withElement(key, { try ApartRow($0) }) else { return nil }
    // Those between are of the same replica and epoch.
    for id in [row.heads[0].head.id, row.heads[row.heads.count - 1].head.id]
    where !cell.keys(id).contains(key) {
      throw FormatError(
        .damaged, at: 0, in: "element row", expected: "heads of its own key",
        found: "operation \(id.index) of sequence \(id.sequence)")
    }
    return row
  }

  /// Writes what became of a row. In the index there is the greatest of its heads.
  private func replace(_ old: ApartRow, by row: ApartRow, at key: ElementKey) throws {
    if row.heads.isEmpty {
      try storage.deleteElement(key)
    } else {
      var writer = ByteWriter()
      row.append(to: &writer)
      try storage.writeElement(writer.span, key)
    }
    if index == nil { return }
    let (before, after) = (try old.greatest(by: storage), try row.greatest(by: storage))
    if before == after { return }
    if let before { try storage.deleteElement(orderKey(of: before)) }
    if let after { try writeOrder(of: after) }
  }

  /// Puts the addends of a row of an earlier program into the rows where they belong.
  func join(_ key: ElementKey) throws {
    guard let old = try readRow(key) else { return }
    try replace(old, by: ApartRow(), at: key)
    for head in old.heads { try add(head) }
  }

  // MARK: The index

  /// Writes the rows of the index.
  ///
  /// - Parameter inline: the heads of the record's row.
  private func makeOrder(except inline: Set<HeadID>) throws {
    var heads: [Head] = []
    try storage.forEachElement(under: cell.heads) { _, row in
      var row = try ApartRow(row)
      _ = row.remove(inline.contains)
      if let head = try row.greatest(by: storage) { heads.append(head) }
    }
    for head in heads { try writeOrder(of: head) }
  }

  /// Lowers the offset up to which all heads are known, so that it is below a head that was added.
  ///
  /// - Parameter place: the head's place in the incarnation of the index; nil if it has none.
  mutating func lowerFloor(under place: UInt64?) {
    guard let place, var index, place <= index.offset else { return }
    index.setFloor(place > 0 ? place - 1 : 0, in: index.incarnation)
    self.index = index
  }

  private func writeOrder(of head: Head) throws {
    var writer = ByteWriter()
    writer.append(varint: UInt64(head.id.replica.rawValue))
    try storage.writeElement(writer.span, orderKey(of: head))
  }

  private func orderKey(of head: Head) throws -> ElementKey {
    cell.order(of: head, by: try storage.replicaID(head.id.replica))
  }
}

extension FoldStorage {
  /// Writes the row of a head that is stored apart.
  func writeApart(_ head: Head, _ payload: RawSpan, in cell: CellAddress) throws {
    var writer = ByteWriter()
    writer.append(head)
    writer.append(varint: UInt64(payload.byteCount))
    writer.append(payload)
    try writeElement(writer.span, cell.key(head.id))
  }
}
