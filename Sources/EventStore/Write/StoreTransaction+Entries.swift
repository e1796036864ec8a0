import OperationFormat

/// Transactions that exist already: of another replica, of the log that is folded again, or of a write whose
/// commit was undone.
extension StoreTransaction {
  /// Appends a transaction of another replica, or a kept one, to the log, and folds it: the one whose body
  /// was parsed last.
  func appendParsed(_ header: LogEntryHeader, body: RawSpan, receivedMilliseconds: UInt64?) throws {
    try logParsed(header, body: body)
    let state = try storage.zoneRow(header.zone).state
    let context = try storage.lanes.renamings(of: header.zone).inOldNames(context(of: header))
    _ = try foldParsed(context, body: body, into: state, receivedMilliseconds: receivedMilliseconds)
  }

  /// Appends the transaction whose body was parsed last to the log, without folding it.
  func logParsed(_ header: LogEntryHeader, body: RawSpan) throws {
    // A lane's parent is what its first transaction says, and is never replaced.
    if header.sequence == 1 {
      if let parent = header.parent {
        try storage.lanes.setParent(parent, of: header.replica, header.epoch, in: header.zone)
      } else {
        // A removed transaction of that sequence may have had one.
        try storage.lanes.removeParent(of: header.replica, header.epoch, in: header.zone)
      }
    }
    _ = try storage.log.append(header, body: body)
    if let floor = decoder.floor { try storage.lanes.noteFloor(floor, of: header) }
    try countAssets(of: decoder.operations, body, in: header.zone)
    appendedBytes += body.byteCount
  }

  /// Folds an entry of the log into a state of its zone.
  ///
  /// - Parameters:
  ///   - first: the first operation to fold; those before it were folded already.
  ///   - part: what of an operation is folded, by its kind and the name of its record; nil for all of all.
  /// - Returns: the first operation that was not folded, if the fold's bound stopped the fold; nil if all
  ///   were folded.
  @discardableResult
  func foldEntry(
    _ header: LogEntryHeader, body: RawSpan, into state: StateNumber, receivedMilliseconds: UInt64?,
    from first: Int = 0, taking part: ((OperationKind, RawSpan) -> FoldedPart)? = nil
  ) throws -> Int? {
    try decoder.parse(body)
    return try foldParsed(
      context(of: header), body: body, into: state, receivedMilliseconds: receivedMilliseconds, from: first,
      taking: part)
  }

  /// Folds the operations of the parsed body: see ``foldEntry(_:body:into:receivedMilliseconds:from:)``.
  private func foldParsed(
    _ context: CausalContext, body: RawSpan, into state: StateNumber, receivedMilliseconds: UInt64?,
    from first: Int = 0, taking part: ((OperationKind, RawSpan) -> FoldedPart)? = nil
  ) throws -> Int? {
    if decoder.hasUnknown { try storage.noteUnfolded(decoder.operations) }
    fold.context = context
    fold.context.floor = try storage.stateRow(state).floor
    fold.timestamp = Self.effective(decoder.timestamp, receivedMilliseconds)
    fold.claimedTimestamp = decoder.timestamp
    forgetNumbers()
    for index in first..<max(first, decoder.operations.count) {
      if fold.bound.isSpent { return index }
      let taken = part.map { self.part(of: index, body, $0) } ?? .all
      if taken == .nothing { continue }
      fold.takesEffect = taken == .all
      defer { fold.takesEffect = true }
      do {
        try foldOperation(index, body, into: state)
      } catch is FoldBoundReached where fold.bound.rule == .pauses {
        return index
      }
      fold.bound.countOperation()
    }
    return nil
  }

  private func part(of index: Int, _ body: RawSpan, _ part: (OperationKind, RawSpan) -> FoldedPart)
    -> FoldedPart
  {
    let operation = decoder.operations[index]
    return operation.record >= 0
      ? part(operation.kind, body.extracting(decoder.names[operation.record])) : .nothing
  }

  @inline(__always)
  private func foldOperation(_ index: Int, _ body: RawSpan, into state: StateNumber) throws {
    let operation = decoder.operations[index]
    guard operation.record >= 0 else { return }  // of an unknown kind: kept, not folded
    let record = body.extracting(decoder.names[operation.record])
    if let existence = ExistenceKind.Operation(operation.kind) {
      if existence.makesRecord {
        try fold.create(record, in: state, type: number(operation.type, body), index: UInt32(index))
      } else {
        try fold.delete(
          record, in: state, movedTo: body.extracting(operation.operand), index: UInt32(index))
      }
    } else {
      let type = try number(operation.type, body)
      let field = try number(operation.field, body)
      try fold.change(
        operation.kind, field, of: record, in: state, type: type,
        operand: body.extracting(operation.operand), index: UInt32(index))
    }
  }

  /// Gives the heads of a transaction another effective timestamp, because the remote had received it earlier
  /// than known.
  ///
  /// - Returns: whether any winner changed.
  func retime(_ header: LogEntryHeader, body: RawSpan, effective: Timestamp, in state: StateNumber) throws
    -> Bool
  {
    try decoder.parse(body)
    var transaction = try context(of: header)
    transaction.floor = try storage.stateRow(state).floor
    fold.context = transaction
    try storage.meta.countRewrite()
    var hasChanged = false
    forgetNumbers()
    for (index, operation) in decoder.operations.enumerated() where operation.record >= 0 {
      let record = body.extracting(decoder.names[operation.record])
      let field = try operation.field >= 0 ? number(operation.field, body) : .none
      let moved = try fold.retime(
        operation.kind, field, operand: body.extracting(operation.operand), index: UInt32(index), of: record,
        in: state, transaction: transaction, to: effective)
      hasChanged = hasChanged || moved
    }
    return hasChanged
  }

  /// The timestamp in a transaction's body.
  func timestamp(ofBody body: RawSpan) throws -> Timestamp {
    try decoder.parse(body)
    return decoder.timestamp
  }

  /// The timestamp of a transaction of another replica. Also checks its moves, which depend on its zone.
  func timestamp(ofArrived body: RawSpan, in zone: ZoneID) throws -> Timestamp {
    let timestamp = try timestamp(ofBody: body)
    try decoder.checkMoves(in: zone, body)
    return timestamp
  }

  /// Forgets the numbers of the previous body's names.
  private func forgetNumbers() {
    numbers.removeAll(keepingCapacity: true)
    for _ in decoder.names { numbers.append(.none) }
  }

  /// The number of a name of the parsed body.
  private func number(_ index: Int, _ body: RawSpan) throws -> NameNumber {
    if numbers[index] == .none {
      numbers[index] = try internName(try Name(utf8: body.extracting(decoder.names[index])))
    }
    return numbers[index]
  }

  func context(of header: LogEntryHeader) throws -> CausalContext {
    var context = CausalContext(
      zone: header.zone, replica: header.replica, epoch: header.epoch, sequence: header.sequence,
      base: try storage.baseLimits.base(of: header))
    context.lineage = try storage.lineage(of: header.replica, header.epoch, in: header.zone)
    return context
  }

  static func effective(_ timestamp: Timestamp, _ receivedMilliseconds: UInt64?) -> Timestamp {
    HybridClock.effective(timestamp, receivedMilliseconds: receivedMilliseconds.map(Int64.init(clamping:)))
  }

  // MARK: Entries of the log

  /// The log's entry of a transaction; nil if the store does not have it.
  func entry(
    _ replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, _ zone: ZoneNumber
  ) throws -> (header: LogEntryHeader, body: [UInt8])? {
    guard let position = try storage.log.position(of: replica, epoch, sequence, in: zone)
    else { return nil }
    return try storage.log.withEntry(at: position) { ($0, $1.bytes) }
  }

  /// The log's header of a transaction: its identities as numbers, new ones where they have none.
  func entryHeader(
    for header: TransactionHeader, _ replica: ReplicaNumber, _ zone: ZoneNumber, arrivalDelay: Int64
  ) throws -> LogEntryHeader {
    var base: BaseNumbers?
    if let found = header.base {
      let number = try storage.incarnations.makeNumber(for: found.incarnation)
      base = (number, found.offset)
    }
    var parent: LaneParent?
    if let found = header.parent {
      let number = try storage.replicas.makeNumber(for: found.replica)
      parent = (number, found.epoch, found.sequence)
    }
    return LogEntryHeader(
      zone: zone, replica: replica, epoch: header.epoch, sequence: header.sequence, base: base,
      parent: parent,
      arrivalDelay: arrivalDelay)
  }

  /// Whether a transaction is, byte for byte, the one that the log has.
  func isSame(
    _ header: TransactionHeader, _ body: RawSpan, as entry: (header: LogEntryHeader, body: [UInt8])
  ) throws -> Bool {
    try storage.log.transactionHeader(of: entry.header) == header && entry.body == body.bytes
  }
}

/// What of an operation is folded.
enum FoldedPart {
  case all
  /// The units of lists and texts that it makes, not where a move puts an element, nor that its record is alive.
  case units
  case nothing
}
