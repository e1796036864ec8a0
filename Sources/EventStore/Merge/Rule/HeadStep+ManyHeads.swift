import OperationFormat

/// Cells with more heads than their row holds: the others are stored apart, each in its own row, or several
/// addends in one.
///
/// A transaction finds those of them that it has seen without looking at all: its own and those of the
/// identities that it continues by their keys, and what is in the remote log up to its base through
/// ``ApartIndex``.
extension HeadStep {
  /// Edits a cell that has more heads than its row holds, or comes to have: see ``edit(_:in:_:_:_:_:to:)``.
  func editMany(
    _ cell: CellAddress, in row: RawSpan, _ heads: InlineHeads, _ removal: HeadRemoval, _ added: Head?,
    _ payload: RawSpan, to edited: inout ByteWriter
  ) throws -> CellEdit {
    var inline: [OwnedHead] = []
    var inlineIDs: [HeadID] = []
    // Whether the new head is greater than one that is removed, and so than all that are stored apart.
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
    var apart = try ApartHeads(of: cell, count: heads.total - heads.count, storage, bound)
    try remove(removal, from: &apart, except: inlineIDs)
    if let added {
      let isLarge = payload.byteCount > Cell.inlinePayloadBytesMax
      if isLarge { try storage.writeApart(added, payload, in: cell) }
      inline.append(
        OwnedHead(head: added, payload: isLarge ? Cell.mark(payload.byteCount) : payload.bytes))
    }
    // Where one of the row went, the greatest of those apart come back.
    if greatCount < heads.count && apart.count > 0 {
      let known = inline.map(\.head.id)
      inline += try apart.takeGreatest(heads.count - greatCount, except: known)
    }
    try inline.sort { try storage.isGreater($0.head, $1.head) }
    // Those that do not fit move apart.
    while let least = inline.last, inline.count > Cell.inlineHeadsMax {
      inline.removeLast()
      try apart.put(least)
    }
    if let added { try apart.lowerFloor(under: place(of: added.id, in: apart.index)) }
    let apartCount = try apart.finish(except: inline.map(\.head.id), scannedMax: scannedHeadsMax)
    if !inline.isEmpty { edited.append(varint: UInt64(inline.count + apartCount)) }
    for head in inline {
      edited.append(head.head)
      edited.append(varint: UInt64(head.payload.count))
      edited.append(head.payload)
    }
    return CellEdit(hasOtherWinner: inline.first?.head.id != heads.winner)
  }

  // MARK: Removing

  /// Removes what an operation removes.
  private func remove(_ removal: HeadRemoval, from apart: inout ApartHeads<Storage>, except inline: [HeadID])
    throws
  {
    guard apart.count > 0 else { return }
    let cell = apart.cell
    switch removal {
    case .nothing: return
    case .all: break
    case .head(let id):
      if !inline.contains(id) { try apart.remove(id) }
      return
    case .apart(let rows):
      // A head of the record's row has a row too, if its payload is large.
      for row in rows {
        try apart.remove(from: row.key) { row.heads.contains($0) && !inline.contains($0) }
      }
      return
    case .seen(let index):
      guard let runs = try seenRuns(at: index, of: &apart) else { break }
      try bound.count(looked: runs.count)
      // Several runs may be in one row.
      var rows: [ElementKey: [HeadRun]] = [:]
      for run in runs {
        for key in try storage.elementKeys(in: cell.keys(of: run)) { rows[key, default: []].append(run) }
      }
      try bound.count(looked: rows.count)
      for (key, runs) in rows.sorted(by: { $0.key < $1.key }) {
        try apart.remove(from: key) { head in
          runs.contains { $0.contains(head) } && !inline.contains(head)
        }
      }
      return
    }
    try bound.count(looked: apart.count)
    for key in try storage.elementKeys(in: cell.keys) {
      try apart.remove(from: key) { try !inline.contains($0) && removes(removal, $0) }
    }
  }

  /// Where the heads are that a transaction has seen, at one of its operations: those of its own identity and
  /// of those that it continues, and those up to its base, after where an earlier transaction has looked.
  ///
  /// - Returns: nil if these are too many places, or none is known: then each head must be read.
  func seenRuns(at index: UInt32, of apart: inout ApartHeads<Storage>) throws -> [HeadRun]? {
    guard !context.seesAllPlaced, apart.index != nil || context.base == nil else { return nil }
    let own = context
    var runs = [
      HeadRun(replica: own.replica, epoch: own.epoch, first: 1, end: own.sequence, endIndex: index)
    ]
    for ancestor in own.lineage where ancestor.sequence > 0 {
      runs.append(HeadRun(replica: ancestor.replica, epoch: ancestor.epoch, 1...ancestor.sequence))
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
    // Compacted heads have no place. Who has looked with such a base before has removed them.
    if let compacted = context.floor, compacted.isReached(by: base), floor < compacted.offset { return nil }
    guard end == base.offset, end - floor <= UInt64(apart.count) else { return nil }
    try bound.count(looked: Int(end - floor))
    for run in try storage.placedRuns(at: floor + 1...end, of: context.zone, base.incarnation) {
      runs.append(HeadRun(replica: run.replica, epoch: run.epoch, run.sequences))
    }
    return runs
  }

  /// The offset of a head in the incarnation of an index.
  private func place(of head: HeadID, in index: ApartIndex?) throws -> UInt64? {
    guard let index, index.incarnation != .none else { return nil }
    return try storage.offset(
      of: head.replica, head.epoch, head.sequence, in: context.zone, index.incarnation)
  }
}
