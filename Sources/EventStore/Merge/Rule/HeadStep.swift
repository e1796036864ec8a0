import OperationFormat

/// Which heads of a cell to remove.
enum HeadRemoval {
  case seen(at: UInt32)
  case head(HeadID)
  /// Some that are stored apart, by their rows.
  case apart([ApartHeadIDs])
  case all
  case nothing
}

/// Some heads in a row of heads that are stored apart.
struct ApartHeadIDs {
  var key: ElementKey
  var heads: [HeadID]
}

/// The fold's one step on a cell: an operation removes the heads that its transaction has seen, and adds its
/// own.
///
/// The cell may be in the record's row or in an element's: the caller puts the edited bytes back.
struct HeadStep<Storage: FoldStorage>: ~Copyable {
  let storage: Storage
  /// What the transaction that is folded had seen.
  var context: CausalContext
  /// Its effective timestamp.
  var timestamp: Timestamp
  /// How many heads of a cell that are stored apart are read without an index. A check of the fold makes it
  /// less.
  var scannedHeadsMax = 8
  let bound: FoldBound

  /// The head that an operation of the transaction makes.
  func head(at index: UInt32) -> Head {
    Head(
      timestamp: timestamp,
      id: HeadID(
        replica: context.replica, epoch: context.epoch, sequence: context.sequence, index: index))
  }

  func removes(_ removal: HeadRemoval, _ head: HeadID) throws -> Bool {
    switch removal {
    case .seen(let index):
      if context.seesAllPlaced { return true }
      return try context.hasSeen(head, at: index) { replica, epoch, sequence, incarnation in
        try storage.offset(of: replica, epoch, sequence, in: context.zone, incarnation)
      }
    case .head(let id):
      return head == id
    case .all: return true
    case .apart, .nothing:
      return false
    }
  }

  /// Whether a removal may remove one of a cell's heads. It does not read those that are stored apart.
  func mayRemove(_ removal: HeadRemoval, _ heads: InlineHeads) throws -> Bool {
    if heads.total > heads.count { return true }
    for index in 0..<heads.count where try removes(removal, heads[index].head.id) { return true }
    return false
  }

  /// Appends what becomes of a cell when heads of it are removed and one or none is added: nothing, if none
  /// is left.
  func edit(
    _ cell: CellAddress, in row: RawSpan, _ body: Range<Int>, _ removal: HeadRemoval, _ added: Head?,
    _ payload: RawSpan, to edited: inout ByteWriter
  ) throws -> CellEdit {
    let heads = try RecordRow.heads(of: body, in: row)
    var kept = InlineHeads()
    for index in 0..<heads.count {
      let head = heads[index]
      if try removes(removal, head.head.id) {
        if head.isApart { try storage.deleteElement(cell.key(head.head.id)) }
      } else {
        kept.append(head)
      }
    }
    guard heads.total == heads.count, kept.count < Cell.inlineHeadsMax else {
      return try editMany(cell, in: row, heads, removal, added, payload, to: &edited)
    }
    let isContested =
      added != nil && !heads.areContested(cell.path.cell, in: row)
      && kept.areContested(cell.path.cell, in: row, by: payload)
    let total = kept.count + (added == nil ? 0 : 1)
    if total > 0 { edited.append(varint: UInt64(total)) }
    var pending = added
    var winner: HeadID?
    for index in 0..<kept.count {
      let head = kept[index]
      if let new = pending, try storage.isGreater(new, head.head) {
        try append(new, payload, in: cell, to: &edited)
        pending = nil
        winner = winner ?? new.id
      }
      winner = winner ?? head.head.id
      edited.append(row.extracting(head.entry))
    }
    if let new = pending {
      try append(new, payload, in: cell, to: &edited)
      winner = winner ?? new.id
    }
    return CellEdit(isContested: isContested, hasOtherWinner: winner != heads.winner)
  }

  /// Appends a new head to the edited cell; a large payload goes to its own row.
  private func append(
    _ head: Head, _ payload: RawSpan, in cell: CellAddress, to edited: inout ByteWriter
  ) throws {
    edited.append(head)
    if payload.byteCount > Cell.inlinePayloadBytesMax {
      try storage.writeApart(head, payload, in: cell)
      let mark = Cell.mark(payload.byteCount)
      edited.append(varint: UInt64(mark.count))
      edited.append(mark)
    } else {
      edited.append(varint: UInt64(payload.byteCount))
      edited.append(payload)
    }
  }
}

/// What an edit did to a cell.
struct CellEdit {
  /// Whether it had no losers and got some.
  var isContested = false
  /// Whether another head is the greatest from here on, or none: what it shows is to be read again.
  var hasOtherWinner: Bool
}
