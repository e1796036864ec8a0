/// The rule of compaction (the page *Merge rules* of EventStore), in the naive way: every cell is folded again, floor by
/// floor.
///
/// Floors cut the log into parts: the transactions up to the one that named the first floor, those behind it up to the
/// next, and so on. What has no place is in the last part. The parts are folded one after the other. At the end of a
/// part its floor works. So a transaction meets what the last floor before it has left, and has seen that if its base
/// reaches that floor, regardless of its writer.
extension Oracle {
  /// What a floor did to a record.
  enum FloorEffect: Hashable, Sendable {
    /// Nothing: somebody has changed the record since the floor.
    case none
    /// What the record shows is left.
    case compacted
    /// No head said that the record was alive.
    case dropped
  }

  /// What a head of a record's existence says.
  enum Existence { case alive, dead, moved }

  /// A record under floors.
  struct FlooredRecord {
    /// What each floor did to it.
    var effects: [FloorEffect]
    /// The heads of its existence, greatest first.
    var existence: [OracleHead]
    /// Whether it was created: by any change before the first floor, by a `create` since it was last dropped.
    var isCreated: Bool
  }

  // MARK: Floors and parts

  /// The floors that count up to an offset of the log: each is above the last one, and at most the base of its
  /// transaction. Of those of one segment the last counts.
  func floors(through offset: Int) -> [OracleFloor] {
    var floors: [OracleFloor] = []
    for place in 1..<offset + 1 {
      for entry in transactions where entry.place == place {
        guard let floor = entry.made.floor, floor <= entry.made.base, floor > floors.last?.offset ?? 0 else {
          continue
        }
        if floors.last?.place == place { floors.removeLast() }
        floors.append(OracleFloor(offset: floor, place: place))
      }
    }
    return floors
  }

  /// The part of the log that a transaction is in: how many floors it comes behind.
  func part(of transaction: Int, _ floors: [OracleFloor]) -> Int {
    let place = place(of: transaction)
    return floors.count { place == 0 || place > $0.place }
  }

  /// Whether a transaction that works on a cell comes behind a floor that is above its base.
  func hasLateTransactions(on cell: Int, _ view: OracleView) -> Bool {
    cells[cell].operations.contains { operation in
      let transaction = operation.transaction
      return view.folded.contains(transaction)
        && view.floors.prefix(part(of: transaction, view.floors)).contains {
          transactions[transaction].made.base < $0.offset
        }
    }
  }

  /// What a view had when a floor came, by its number.
  func view(_ view: OracleView, atFloor number: Int) -> OracleView {
    var earlier = view
    earlier.folded = TransactionSet(view.folded.filter { part(of: $0, view.floors) <= number })
    earlier.floors.removeSubrange(number...)
    return earlier
  }

  // MARK: Records

  /// What floors did to a record.
  ///
  /// - Parameters:
  ///   - existence: the cell of its existence.
  ///   - creations: the cell of all operations that created it.
  ///   - says: what a head of the existence says, by its content.
  func record(
    existence: Int, creations: Int, _ view: OracleView, says: (Int) -> Existence
  ) -> FlooredRecord {
    var record = FlooredRecord(effects: [], existence: [], isCreated: false)
    record.existence = fold(existence, view) { number, heads in
      let isChanged = number == 0 ? cells[existence] : cells[creations]
      record.isCreated = record.isCreated || has(isChanged, in: number, view)
      guard number < view.floors.count else { return }
      let floor = view.floors[number].offset
      guard heads.allSatisfy({ $0.isCompacted || 1...floor ~= place(of: $0.transaction) }) else {
        return record.effects.append(.none)
      }
      let alive = heads.first { says($0.content) == .alive }
      let dead = heads.first { says($0.content) != .alive }
      record.effects.append(alive == nil ? .dropped : .compacted)
      if alive == nil { record.isCreated = false }
      // Of a record that is dropped only where it moved to is left.
      let kept = alive == nil ? [dead].filter { $0.map { says($0.content) } == .moved } : [alive, dead]
      let greatest = heads.first
      heads = kept.compactMap(\.self).map { $0.compacted($0 == greatest ? 1 : 0) }
    }
    return record
  }

  /// Whether any folded operation of a part works on a cell.
  private func has(_ cell: OracleCell, in part: Int, _ view: OracleView) -> Bool {
    cell.operations.contains {
      view.folded.contains($0.transaction) && self.part(of: $0.transaction, view.floors) == part
    }
  }

  /// The heads of a cell of a record's field, greatest first.
  ///
  /// - Parameters:
  ///   - effects: what each floor did to the record.
  ///   - keep: what a floor leaves of the heads, which come greatest first, in the order of their indexes.
  func heads(
    of cell: Int, _ view: OracleView, _ effects: [FloorEffect],
    keep: (_ heads: [OracleHead]) -> [OracleHead]
  ) -> [OracleHead] {
    fold(cell, view) { number, heads in
      guard number < view.floors.count, !heads.isEmpty else { return }
      switch effects[number] {
      case .none: break
      case .dropped: heads = []
      case .compacted: heads = keep(heads).enumerated().map { $1.compacted($0) }
      }
    }
  }

  /// Folds the operations on a cell, part by part.
  ///
  /// - Parameter end: called at the end of each part with its number and the heads, greatest first.
  private func fold(
    _ cell: Int, _ view: OracleView, end: (_ part: Int, inout [OracleHead]) -> Void
  ) -> [OracleHead] {
    var heads: [OracleHead] = []
    for part in 0...view.floors.count {
      let floor = part > 0 ? view.floors[part - 1] : nil
      // In the order in which they were made: each comes after all that it has seen.
      for operation in cells[cell].operations
      where view.folded.contains(operation.transaction)
        && self.part(of: operation.transaction, view.floors) == part
      {
        if !operation.isContribution { heads.removeAll { hasSeen($0, operation, floor) } }
        if let content = operation.content { heads.append(head(operation, content, view.received)) }
      }
      heads.sort(by: OracleHead.isGreater)
      end(part, &heads)
    }
    return heads.sorted(by: OracleHead.isGreater)
  }

  private func hasSeen(_ head: OracleHead, _ operation: OracleCell.Operation, _ floor: OracleFloor?) -> Bool {
    if head.isCompacted { return reaches(operation.transaction, floor) }
    if head.transaction == operation.transaction { return head.index < operation.index }
    return seen(by: operation.transaction).contains(head.transaction)
  }

  /// Whether a transaction has seen what the last floor before it has left.
  func reaches(_ transaction: Int, _ floor: OracleFloor?) -> Bool {
    floor.map { transactions[transaction].made.base >= $0.offset } ?? false
  }
}
