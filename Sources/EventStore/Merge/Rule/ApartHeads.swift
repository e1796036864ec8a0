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
    sumsHeads = cell.path.cell != .existence && cell.path.cell.kind?.with { $0.sumsHeads } ?? false
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
      for head in try marked(except: inline) { try writeOrder(of: head.head) }
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

  /// Stores a head apart. Its payload is there already if it is large.
  mutating func put(_ head: OwnedHead) throws {
    count += 1
    if sumsHeads { try sum.add(head.payload.span.bytes) }
    if head.payload.first != Cell.apartMark {
      try storage.writeApart(head.head, head.payload.span.bytes, in: cell)
    }
    if index != nil { try writeOrder(of: head.head) }
  }

  mutating func remove(_ head: OwnedHead) throws {
    try storage.deleteElement(cell.key(head.head.id))
    try forget(head)
    try bound.count(removed: 1)
    try bound.countRemoved(bytes: head.payload.count)
  }

  /// Takes the greatest heads for the row. A large payload stays where it is.
  mutating func takeGreatest(_ wanted: Int, except inline: [HeadID]) throws -> [OwnedHead] {
    var taken: [OwnedHead] = []
    if index == nil {
      taken = try storage.headsApart(except: Set(inline), under: cell.heads)
      try taken.sort { try storage.isGreater($0.head, $1.head) }
      taken.removeLast(max(0, taken.count - wanted))
      for head in taken { try forget(head) }
    } else {
      while taken.count < wanted, let (key, row) = try storage.firstElement(under: cell.order) {
        var reader = ByteReader(row.span.bytes)
        let replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("head.replica"))
        let head = try key.orderedHead(by: replica)
        guard let row = try storage.readElement(cell.key(head.id)) else {
          throw FormatError(
            .damaged, at: 0, in: "cell", expected: "a head that is kept apart", found: "no such row")
        }
        taken.append(try OwnedHead(apart: row.span.bytes))
        try forget(taken[taken.count - 1])
      }
    }
    for index in taken.indices {
      let byteCount = taken[index].payload.count
      if byteCount > Cell.inlinePayloadBytesMax {
        taken[index].payload = Cell.mark(byteCount)
      } else {
        try storage.deleteElement(cell.key(taken[index].head.id))
      }
    }
    return taken
  }

  /// All of them but some. There may be very many: of a large payload there is only the mark.
  func marked(except inline: [HeadID]) throws -> [OwnedHead] {
    let known = Set(inline)
    var heads: [OwnedHead] = []
    try storage.forEachElement(under: cell.heads) { _, row in
      var reader = ByteReader(row)
      let head = try reader.readHead()
      if known.contains(head.id) { return }
      let payload = try OwnedHead.payload(inApart: row)
      let isLarge = payload.count > Cell.inlinePayloadBytesMax
      heads.append(
        OwnedHead(head: head, payload: isLarge ? Cell.mark(payload.count) : row.extracting(payload).bytes))
    }
    return heads
  }

  /// Lowers the offset up to which all heads are known, so that it is below a head that was added.
  ///
  /// - Parameter place: the head's place in the incarnation of the index; nil if it has none.
  mutating func lowerFloor(under place: UInt64?) {
    guard let place, var index, place <= index.offset else { return }
    index.setFloor(place > 0 ? place - 1 : 0, in: index.incarnation)
    self.index = index
  }

  private mutating func forget(_ head: OwnedHead) throws {
    count -= 1
    if sumsHeads { try sum.remove(head.payload.span.bytes) }
    if index != nil { try storage.deleteElement(orderKey(of: head.head)) }
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
