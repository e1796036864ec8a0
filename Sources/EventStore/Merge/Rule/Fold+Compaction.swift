import OperationFormat

/// Folding together what a record has up to a floor.
///
/// A record is compacted if nobody has changed it since the floor: each head of its existence is compacted or at or below
/// the floor, as each change adds one. Then what it shows stays, with the times and replicas that it has, and no
/// sequences: that stands at the floor. A record that no head lets be alive is dropped; only the numbers of units stay,
/// and where it moved to.
extension Fold {
  /// Compacts a record, or continues one that was paused. The context says up to which floor.
  ///
  /// - Throws: ``FoldBoundReached`` where the bound pauses: what is done stays, and shows the same. The bound says where to
  ///   continue.
  package mutating func compact(_ record: RawSpan, in state: StateNumber) throws {
    guard let floor = context.floor, try load(record, in: state) else { return }
    let key = ElementKey(state: state, record: try recordNumber, cell: .existence)
    // Another record may have come in place of the one that it was paused in.
    if let next = bound.next, !next.bytes.starts(with: key.bytes.prefix(8)) {
      bound.next = nil
    }
    compactsInParts = bound.rule == .pauses
    defer { compactsInParts = false }
    try compactLoaded(floor)
    bound.next = nil
  }

  /// Where the rows under a prefix begin that are to be compacted; nil if they were before.
  func firstToCompact(under prefix: ElementKey) -> ElementKey? {
    compactsInParts ? bound.firstKey(under: prefix) : prefix
  }

  /// Ends a part of compacting a record, if the commit has done enough. Before a change it is done at once.
  func pauseCompaction(at key: @autoclosure () throws -> ElementKey) throws {
    if compactsInParts { try bound.pauseIfSpent(at: key()) }
  }

  /// Compacts the loaded record, if the floor is not done. Where nothing is left, none is loaded.
  @inline(__always)
  mutating func compactBeforeChange() throws {
    // What was paused has been compacted before, if it is to be.
    guard let floor = context.floor, !floor.isDone, !loaded.bytes.isEmpty, bound.next == nil else { return }
    try compactLoaded(floor)
  }

  private mutating func compactLoaded(_ floor: CompactionFloor) throws {
    let inline = try StoredRow(loaded.bytes.span.bytes).heads(of: .existence)
    for index in 0..<inline.count where try !isUpTo(floor, inline[index].head.id) { return }
    guard (0..<inline.count).contains(where: { !inline[$0].head.id.isCompacted }) else { return }
    let heads = try storage.heads(of: .existence, in: StoredRow(loaded.bytes.span.bytes), state)
    for owned in heads where try !isUpTo(floor, owned.head.id) { return }
    // The indexes look at the record while its rows are whole.
    try willLoad()
    let conflictsBefore = conflictCount
    defer { conflictCount = conflictsBefore }
    try loaded.unpack()
    var (alive, dead): (OwnedHead?, OwnedHead?)
    for owned in heads.reversed() {
      if case .alive = try Existence(payload: owned.payload.span.bytes) {
        alive = owned
      } else {
        dead = owned
      }
    }
    try loaded.joinRegisters()
    try loaded.divideIfLarge()
    if storage.notesChanges { loaded.withKey { storage.noteChange($0, field: nil) } }
    var next: CellNumber? = compactsInParts ? try bound.next?.cell ?? .existence : .existence
    while let first = next {
      let cells = try loaded.cellNumbers(from: first, atOnce: bound.rowsAtOnce) { _ in true }
      for cell in cells.found {
        try pauseCompaction(at: ElementKey(state: state, record: recordNumber, cell: cell))
        try cell.kind?.with { try $0.compact(cell, keeps: alive != nil, in: &self) }
      }
      try bound.count(looked: cells.looked)
      next = cells.next
    }
    try compactExistence(alive, dead, greatest: heads[0].head)
  }

  /// Leaves the greatest head that lets the record be alive, and the greatest of the others: policies need both. Of one
  /// that is dropped only where it moved to.
  private mutating func compactExistence(_ alive: OwnedHead?, _ dead: OwnedHead?, greatest: Head) throws {
    var kept: [OwnedHead] = []
    if let alive { kept.append(alive) }
    if let dead, try alive != nil || Existence(payload: dead.payload.span.bytes).isMove { kept.append(dead) }
    try replace(.existence, removing: .all, adding: nil)
    for owned in kept {
      // They may be of one writer and one time: the greater one stays so.
      let head = owned.head.compacted(owned.head == greatest ? 1 : 0)
      try replace(.existence, removing: .nothing, adding: head, payload: owned.payload.span.bytes)
    }
    guard alive == nil else { return }
    loaded.setFlag(.uncreated, true)
    let (creation, none) = (try loaded.place(of: .creation), Creation.noneBytes)
    if !creation.body.isEmpty { loaded.splice(none.span.bytes, as: .creation, at: creation) }
    let rest = try loaded.cellNumbers(from: .existence, atOnce: 1) { _ in true }
    if kept.isEmpty, rest.found.isEmpty { try loaded.delete() }
  }

  private func isUpTo(_ floor: CompactionFloor, _ head: HeadID) throws -> Bool {
    if head.isCompacted { return true }
    return floor.covers(
      try storage.offset(of: head.replica, head.epoch, head.sequence, in: context.zone, floor.incarnation))
  }

  /// Compacts what has rows of its own under a prefix: elements of sets and maps, or of lists.
  ///
  /// - Parameters:
  ///   - name: what is to be kept of a row, to compact it by.
  ///   - compact: compacts some rows.
  mutating func compactRows<Name>(
    under prefix: ElementKey, _ name: (_ key: RawSpan, _ row: RawSpan) throws -> Name,
    compact: ([Name], inout Self) throws -> Void
  ) throws {
    var next = firstToCompact(under: prefix)
    while let first = next {
      let rows = try storage.someRows(under: prefix, from: first, atOnce: bound.rowsAtOnce, name)
      try compact(rows.found, &self)
      try bound.count(removed: rows.looked)
      next = rows.next
      if let next { try pauseCompaction(at: next) }
    }
  }

  /// Replaces all heads of a cell in the record's row, or of an element.
  ///
  /// - Parameter keeping: those that stay, by all, greatest first.
  mutating func compactHeads(
    of path: CellPath, keeps: Bool, keeping: ([OwnedHead]) throws -> [OwnedHead]
  ) throws {
    guard keeps else { return try replaceHeads(of: path, removing: .all, adding: nil) }
    let kept = try keeping(heads(of: path))
    try bound.count(removed: kept.count)
    for (index, owned) in kept.enumerated() {
      try replaceHeads(
        of: path, removing: index == 0 ? .all : .nothing, adding: owned.head.compacted(index),
        payload: owned.payload.span.bytes)
    }
  }
}

extension Existence {
  fileprivate var isMove: Bool { if case .moved = self { true } else { false } }
}
