import OperationFormat

/// Folding together what a record has up to a floor.
///
/// A record is compacted if nobody has changed it since the floor: each head of its existence is compacted or lies at or
/// below the floor, as each change adds one. Then all of it is written again as if its last change had written it. Its
/// heads have that one's time and replica, and no sequence: they stand at the floor. A record that no head lets be alive
/// is dropped; only the numbers of units stay, and where it moved to.
extension Fold {
  /// Compacts a record. The context says up to which floor.
  package mutating func compact(_ record: RawSpan, in state: StateNumber) throws {
    guard let floor = context.floor, try load(record, in: state) else { return }
    try compactLoaded(floor)
  }

  /// Compacts the loaded record, if the floor is not done. Where nothing is left, none is loaded.
  @inline(__always)
  mutating func compactBeforeChange() throws {
    if let floor = context.floor, !floor.isDone, !loaded.bytes.isEmpty { try compactLoaded(floor) }
  }

  private mutating func compactLoaded(_ floor: CompactionFloor) throws {
    let inline = try StoredRow(loaded.bytes.span.bytes).heads(of: .existence)
    for index in 0..<inline.count where try !isUpTo(floor, inline[index].head.id) { return }
    guard (0..<inline.count).contains(where: { !inline[$0].head.id.isCompacted }) else { return }
    try loaded.unpack()
    let heads = try heads(of: CellPath(.existence))
    for owned in heads where try !isUpTo(floor, owned.head.id) { return }
    var (alive, dead): (OwnedHead?, OwnedHead?)
    for owned in heads.reversed() {
      if case .alive = try Existence(payload: owned.payload.span.bytes) { alive = owned } else { dead = owned }
    }
    try loaded.joinRegisters()
    try loaded.divideIfLarge()
    let stamp = alive == nil ? nil : CompactedStamp(heads[0].head)
    var next: CellNumber? = .existence
    while let first = next {
      let cells = try loaded.cellNumbers(from: first, atOnce: bound.rowsAtOnce) { _ in true }
      for cell in cells.found { try cell.kind?.with { try $0.compact(cell, as: stamp, in: &self) } }
      try bound.count(looked: cells.looked)
      next = cells.next
    }
    try compactExistence(alive, dead)
  }

  /// Leaves the greatest head that lets the record be alive, and the greatest of the others: policies need both. Of one
  /// that is dropped only where it moved to.
  private mutating func compactExistence(_ alive: OwnedHead?, _ dead: OwnedHead?) throws {
    var kept: [OwnedHead] = []
    if let alive { kept.append(alive) }
    if let dead, try alive != nil || Existence(payload: dead.payload.span.bytes).isMove { kept.append(dead) }
    try replace(.existence, removing: .all, adding: nil)
    for owned in kept {
      let head = CompactedStamp(owned.head).head(owned.head == alive?.head ? 0 : 1)
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
    let place = try storage.offset(
      of: head.replica, head.epoch, head.sequence, in: context.zone, floor.incarnation)
    return place.map { $0 <= floor.offset } ?? false
  }

  /// Replaces all heads of a cell in the record's row, or of an element.
  ///
  /// - Parameter keeping: the payloads that stay, by the heads, greatest first.
  mutating func compactHeads(
    of path: CellPath, as stamp: CompactedStamp?, keeping: ([OwnedHead]) throws -> [[UInt8]]
  ) throws {
    guard let stamp else { return try replaceHeads(of: path, removing: .all, adding: nil) }
    let payloads = try keeping(heads(of: path))
    for (index, payload) in payloads.enumerated() {
      try replaceHeads(
        of: path, removing: index == 0 ? .all : .nothing, adding: stamp.head(index), payload: payload.span.bytes)
    }
  }
}

extension Existence {
  fileprivate var isMove: Bool { if case .moved = self { true } else { false } }
}
