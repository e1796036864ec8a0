import OperationFormat

/// Cells with more heads than their row holds: the others lie apart, each in a row of its own.
///
/// A transaction finds those of them that it has seen without looking at all: its own and those of the identities that it
/// continues by their keys, and what lies in the remote log up to its base through ``ApartIndex``.
extension Fold {
  /// Edits a cell that has more heads than its row holds, or comes to have: see ``edit(_:in:_:_:_:_:to:)``.
  func editMany(
    _ path: CellPath, in row: RawSpan, _ heads: InlineHeads, _ removal: Removal, _ added: Head?,
    _ payload: RawSpan, to edited: inout ByteWriter
  ) throws -> CellEdit {
    var inline: [OwnedHead] = []
    var inlineIDs: [HeadID] = []
    // Whether the new head is greater than one that goes, and so than all that lie apart.
    var isAddedGreat = false
    for index in 0..<heads.count {
      let head = heads[index]
      inlineIDs.append(head.head.id)
      if try !removes(removal, head.head.id) {
        inline.append(OwnedHead(head: head.head, payload: row.extracting(head.payload).bytes))
      } else if let added, try storage.isGreater(added, head.head) {
        isAddedGreat = true
      }
    }
    let greatCount = inline.count + (isAddedGreat ? 1 : 0)
    var apart = try apartHeads(of: path, count: heads.total - heads.count)
    try remove(removal, from: &apart, except: inlineIDs)
    if let added {
      let isLarge = payload.byteCount > Cell.inlinePayloadBytesMax
      if isLarge { try writeApart(added, payload, in: path) }
      inline.append(
        OwnedHead(head: added, payload: isLarge ? Cell.mark(payload.byteCount) : payload.bytes))
    }
    // Where one of the row went, the greatest of those apart come back.
    if greatCount < heads.count && apart.count > 0 {
      let known = inline.map(\.head.id)
      inline += try takeGreatest(heads.count - greatCount, from: &apart, except: known)
    }
    try inline.sort { try storage.isGreater($0.head, $1.head) }
    // Those that do not fit move apart.
    while let least = inline.last, inline.count > Cell.inlineHeadsMax {
      inline.removeLast()
      try put(least, in: &apart)
    }
    if let added { try apart.lowerFloor(under: place(of: added.id, in: apart.index)) }
    try finish(apart, except: inline.map(\.head.id))
    if !inline.isEmpty { edited.append(varint: UInt64(inline.count + apart.count)) }
    for head in inline {
      edited.append(head.head)
      edited.append(varint: UInt64(head.payload.count))
      edited.append(head.payload)
    }
    return CellEdit(hasOtherWinner: inline.first?.head.id != heads.winner)
  }

  // MARK: What is kept of them

  func apartHeads(of path: CellPath, count: Int) throws -> ApartHeads {
    var apart = ApartHeads(path: path, count: count)
    guard count > 0 else { return apart }
    let key = ElementKey.apartIndex(of: state, record: try recordNumber, path)
    apart.index = try storage.readElement(key).map { try ApartIndex($0.span.bytes) }
    apart.storedIndex = apart.index
    if apart.sumsHeads {
      let key = ElementKey.sum(of: state, record: try recordNumber, cell: path.cell)
      apart.sum = try storage.readElement(key).map { try CounterSum($0.span.bytes) } ?? CounterSum()
    }
    return apart
  }

  /// Writes what changed besides the heads themselves. Many heads get an index; it goes with the last of them.
  ///
  /// - Parameter inline: the heads of the row, whose payloads may lie apart.
  private func finish(_ changed: consuming ApartHeads, except inline: [HeadID]) throws {
    var apart = changed
    let (record, path) = (try recordNumber, apart.path)
    if apart.sumsHeads {
      let key = ElementKey.sum(of: state, record: record, cell: path.cell)
      if apart.sum.isEmpty {
        try storage.deleteElement(key)
      } else {
        var writer = ByteWriter()
        apart.sum.append(to: &writer)
        try storage.writeElement(writer.span, key)
      }
    }
    if apart.count == 0 {
      apart.index = nil
    } else if apart.index == nil, apart.count > scannedHeadsMax {
      apart.index = ApartIndex()
      for head in try headsApart(path, except: inline) { try writeOrder(head.head, in: path) }
    }
    guard apart.index != apart.storedIndex else { return }
    let key = ElementKey.apartIndex(of: state, record: record, path)
    guard let index = apart.index else { return try storage.deleteElement(key) }
    var writer = ByteWriter()
    index.append(to: &writer)
    try storage.writeElement(writer.span, key)
  }

  /// Moves a head apart. Its payload is there already if it is large.
  private func put(_ head: OwnedHead, in apart: inout ApartHeads) throws {
    apart.count += 1
    if apart.sumsHeads { try apart.sum.add(head.payload.span.bytes) }
    if head.payload.first != Cell.apartMark {
      try writeApart(head.head, head.payload.span.bytes, in: apart.path)
    }
    if apart.index != nil { try writeOrder(head.head, in: apart.path) }
  }

  private func writeOrder(_ head: Head, in path: CellPath) throws {
    var writer = ByteWriter()
    writer.append(varint: UInt64(head.id.replica.rawValue))
    try storage.writeElement(writer.span, orderKey(of: head, in: path))
  }

  private func orderKey(of head: Head, in path: CellPath) throws -> ElementKey {
    .apartOrder(
      of: state, record: try recordNumber, path, head, by: try storage.replicaID(head.id.replica))
  }

  /// Takes all heads of a cell that lie apart away, those of the row with them.
  func removeHeads(of path: CellPath) throws {
    for prefix in [
      try headKey(of: path), .apartIndex(of: state, record: try recordNumber, path),
      .apartOrder(of: state, record: try recordNumber, path),
    ] {
      for (key, _) in try storage.elements(under: prefix) {
        try storage.deleteElement(key)
        try bound.count(removed: 1)
      }
    }
  }

  // MARK: Removing

  /// Takes away what goes by an operation.
  private func remove(_ removal: Removal, from apart: inout ApartHeads, except inline: [HeadID]) throws {
    guard apart.count > 0 else { return }
    let path = apart.path
    switch removal {
    case .nothing: return
    case .head(let id):
      guard !inline.contains(id), let row = try storage.readElement(key(of: path, id)) else { return }
      return try remove(OwnedHead(apart: row.span.bytes), from: &apart)
    case .seen(let index):
      guard let runs = try seenRuns(at: index, of: &apart) else { break }
      try bound.count(looked: runs.count)
      for run in runs {
        for key in try storage.elementKeys(in: keys(of: run, in: path)) {
          guard let row = try storage.readElement(key) else { continue }
          let head = try OwnedHead(apart: row.span.bytes)
          if !inline.contains(head.head.id) { try remove(head, from: &apart) }
        }
      }
      return
    }
    try bound.count(looked: apart.count)
    for var head in try headsApart(path, except: inline) where try removes(removal, head.head.id) {
      if head.payload.first == Cell.apartMark, let row = try storage.readElement(key(of: path, head.head.id))
      {
        head = try OwnedHead(apart: row.span.bytes)
      }
      try remove(head, from: &apart)
    }
  }

  /// Where the heads are that a transaction has seen, at one of its operations: those of its own identity and of those that it
  /// continues, and those up to its base, after where an earlier transaction has looked.
  ///
  /// - Returns: nil if these are too many places, or none is known: then the heads are to be looked at, each.
  func seenRuns(at index: UInt32, of apart: inout ApartHeads) throws -> [HeadRun]? {
    guard !context.seesAllPlaced, apart.index != nil || context.base == nil else { return nil }
    let own = context
    var runs = [
      HeadRun(replica: own.replica, epoch: own.epoch, first: 0, end: own.sequence, endIndex: index)
    ]
    for ancestor in own.lineage {
      runs.append(HeadRun(replica: ancestor.replica, epoch: ancestor.epoch, 0...ancestor.through))
    }
    guard let base = context.base, var known = apart.index,
      let placed = try storage.placedThrough(context.zone, base.incarnation)
    else { return runs }
    let floor = known.floor(in: base.incarnation)
    guard base.offset > floor else { return runs }
    let end = min(base.offset, placed)
    if end > floor {
      known.setFloor(end, in: base.incarnation)
      apart.index = known
    }
    guard end == base.offset, end - floor <= UInt64(apart.count) else { return nil }
    try bound.count(looked: Int(end - floor))
    for run in try storage.placedRuns(at: floor + 1...end, of: context.zone, base.incarnation) {
      runs.append(HeadRun(replica: run.replica, epoch: run.epoch, run.sequences))
    }
    return runs
  }

  func keys(of run: HeadRun, in path: CellPath) throws -> Range<ElementKey> {
    let record = try recordNumber
    let first = ElementKey(
      state: state, record: record, path, headsOf: run.replica, epoch: run.epoch, from: run.first)
    let end = ElementKey(
      state: state, record: record, path, headsOf: run.replica, epoch: run.epoch, from: run.end,
      index: run.endIndex)
    return first..<max(first, end)
  }

  private func remove(_ head: OwnedHead, from apart: inout ApartHeads) throws {
    try storage.deleteElement(key(of: apart.path, head.head.id))
    try forget(head, in: &apart)
    try bound.count(removed: 1)
    try bound.countRemoved(bytes: head.payload.count)
  }

  private func forget(_ head: OwnedHead, in apart: inout ApartHeads) throws {
    apart.count -= 1
    if apart.sumsHeads { try apart.sum.remove(head.payload.span.bytes) }
    if apart.index != nil { try storage.deleteElement(orderKey(of: head.head, in: apart.path)) }
  }

  // MARK: Coming back

  /// Takes the greatest heads for the row. A large payload stays where it is.
  private func takeGreatest(
    _ count: Int, from apart: inout ApartHeads, except inline: [HeadID]
  ) throws -> [OwnedHead] {
    let path = apart.path
    var taken: [OwnedHead] = []
    if apart.index == nil {
      taken = try storage.headsApart(except: Set(inline), under: headKey(of: path))
      try taken.sort { try storage.isGreater($0.head, $1.head) }
      taken.removeLast(max(0, taken.count - count))
      for head in taken { try forget(head, in: &apart) }
    } else {
      let prefix = ElementKey.apartOrder(of: state, record: try recordNumber, path)
      while taken.count < count, let (key, row) = try storage.firstElement(under: prefix) {
        var reader = ByteReader(row.span.bytes)
        let replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("head.replica"))
        let head = try key.orderedHead(by: replica)
        guard let row = try storage.readElement(self.key(of: path, head.id)) else {
          throw FormatError(
            .damaged, at: 0, in: "cell", expected: "a head that is kept apart", found: "no such row")
        }
        taken.append(try OwnedHead(apart: row.span.bytes))
        try forget(taken[taken.count - 1], in: &apart)
      }
    }
    for index in taken.indices {
      let byteCount = taken[index].payload.count
      if byteCount > Cell.inlinePayloadBytesMax {
        taken[index].payload = Cell.mark(byteCount)
      } else {
        try storage.deleteElement(key(of: path, taken[index].head.id))
      }
    }
    return taken
  }

  /// Where a head lies in the incarnation that an index has looked at.
  private func place(of head: HeadID, in index: ApartIndex?) throws -> UInt64? {
    guard let index, index.incarnation != .none else { return nil }
    return try storage.offset(
      of: head.replica, head.epoch, head.sequence, in: context.zone, index.incarnation)
  }
}

/// The heads of a cell that lie apart, while it is edited.
struct ApartHeads {
  let path: CellPath
  var count: Int
  /// Nil if they are few: then all are looked at.
  var index: ApartIndex?
  /// As it is in the storage.
  var storedIndex: ApartIndex?
  /// Whether a sum is kept of them: see ``FieldCellKind/sumsHeads``.
  let sumsHeads: Bool
  var sum = CounterSum()

  init(path: CellPath, count: Int) {
    self.path = path
    self.count = count
    sumsHeads = path.cell != .existence && path.cell.kind?.with { $0.sumsHeads } ?? false
  }

  mutating func lowerFloor(under place: UInt64?) throws {
    guard let place, var index, place <= index.offset else { return }
    index.setFloor(place > 0 ? place - 1 : 0, in: index.incarnation)
    self.index = index
  }
}
