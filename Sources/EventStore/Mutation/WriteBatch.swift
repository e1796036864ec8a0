package import LMDB
package import OperationFormat

/// What one LMDB write transaction does to a store: local writes, remote transactions, rebuilds. One batch at a
/// time, on the writer's thread; it is used again and again, so that steady work allocates nothing.
package final class WriteBatch {
  package let storage: TableStorage
  package var fold: Fold<TableStorage>
  package var clock: HybridClock
  package let identity: StoreIdentity
  /// Wall time in milliseconds since 1970.
  let wallMilliseconds: @Sendable () -> Int64
  let makeRandom: @Sendable () -> UInt64

  /// One zone's transaction in the making.
  struct Draft {
    var zone: ZoneNumber = .none
    var state: StateNumber = .none
    var sequence: UInt64 = 0
    var parent: (replica: ReplicaNumber, epoch: UInt32, sequence: UInt64)?
    var viewpoint = Viewpoint(zone: .none, replica: .none, epoch: 0, sequence: 0, base: nil)
    var builder = BodyBuilder()
  }

  /// A transaction that was appended by the write at hand: enough to append and fold it again. It holds
  /// identities, since a commit that is undone takes with it the numbers that it gave out.
  package struct Kept: Sendable {
    package var header: TransactionHeader
    package var arrivalDelay: Int64
    package var body: [UInt8]
  }

  private var drafts: [Draft] = []
  private var draftCount = 0
  private var timestamp = Timestamp(rawValue: 0)
  var kept: [Kept] = []
  /// What the write at hand has done to zones, in order.
  var zoneChanges: [ZoneChange] = []
  /// Bytes of transactions appended since `resetKept`.
  private(set) var appendedBytes = 0
  private var failure: (any Error)?
  private var body = ByteWriter()
  private var layout = BodyLayout()
  private var numbers: [NameNumber] = []

  package init(
    storage: TableStorage, identity: StoreIdentity,
    wallMilliseconds: @escaping @Sendable () -> Int64, makeRandom: @escaping @Sendable () -> UInt64
  ) {
    self.storage = storage
    self.identity = identity
    self.wallMilliseconds = wallMilliseconds
    self.makeRandom = makeRandom
    fold = Fold(storage: storage)
    clock = HybridClock(last: Timestamp(rawValue: 0))
  }

  // MARK: Its life

  package func begin(_ transaction: consuming Transaction) throws {
    storage.begin(transaction)
    fold.reset()
    clock.last = try storage.clock()
  }

  package func commit() throws {
    try fold.flush()
    try storage.setClock(clock.last)
    try storage.commit()
  }

  package func abort() {
    storage.abort()
    fold.reset()
    dropDrafts()
  }

  package func beginNested() throws {
    try fold.flush()
    fold.reset()
    try storage.beginNested()
  }

  package func commitNested() throws {
    try fold.flush()
    fold.reset()
    try storage.commitNested()
  }

  package func abortNested() {
    storage.abortNested()
    fold.reset()
    dropDrafts()
  }

  // MARK: A local write

  /// Starts a write: all its transactions bear one timestamp.
  func beginWrite() {
    timestamp = clock.tick(wallMilliseconds: wallMilliseconds())
    resetKept()
    failure = nil
    dropDrafts()
  }

  /// Appends the write's transactions to the log.
  func endWrite(author: String?, label: String?, schemaVersion: UInt64?) throws {
    if let failure { throw failure }
    try Self.check(author, "author", Limits.authorBytesMax)
    try Self.check(label, "label", Limits.labelBytesMax)
    try fold.flush()
    let used = (0..<draftCount).filter { drafts[$0].builder.operationCount > 0 }
    let writeID = used.count > 1 ? makeRandom() : nil
    for index in used {
      body.removeAll(keepingCapacity: true)
      drafts[index].builder.finish(
        timestamp: timestamp, writeID: writeID, author: author, label: label, schemaVersion: schemaVersion,
        into: &body)
      try Self.checkSize(operations: drafts[index].builder.operationCount, bytes: body.bytes.count)
      let header = LogEntryHeader(
        zone: drafts[index].zone, replica: drafts[index].viewpoint.replica, epoch: identity.epoch,
        sequence: drafts[index].sequence, base: drafts[index].viewpoint.base, parent: drafts[index].parent,
        arrivalDelay: wallMilliseconds() &- Int64(timestamp.milliseconds))
      let bytes = body.bytes
      _ = try storage.append(header, body: bytes.span.bytes)
      appendedBytes += bytes.count
      let reader = LogReader(storage.tables, storage.interned)
      kept.append(
        Kept(
          header: try reader.header(header, storage.transaction), arrivalDelay: header.arrivalDelay,
          body: bytes))
    }
    dropDrafts()
  }

  /// How many operations each transaction of the write has so far.
  var operationCounts: [Int] { (0..<draftCount).map { drafts[$0].builder.operationCount }.filter { $0 > 0 } }

  private func dropDrafts() {
    for index in 0..<draftCount { drafts[index].builder.removeAll() }
    draftCount = 0
  }

  private static func check(_ text: String?, _ what: String, _ bytesMax: Int) throws {
    guard let count = text?.utf8.count, count > bytesMax else { return }
    throw StoreError(
      .valueInvalid, "the \(what) of a write has \(count) bytes",
      hint: "use at most \(bytesMax) bytes of UTF-8")
  }

  /// Refuses what no segment could hold: checked while the write goes on, and exactly at its end.
  static func checkSize(operations: Int, bytes: Int) throws {
    // The header that goes with the body in a segment has at most two names, two identities and numbers.
    let bytesMax = Limits.transactionBytesMax - 512
    guard operations <= Limits.transactionOperationsMax, bytes <= bytesMax else {
      throw StoreError(
        .transactionTooLarge,
        "a write of \(operations) operations and \(bytes) bytes in one zone is over the limit of "
          + "\(Limits.transactionOperationsMax) operations and \(bytesMax) bytes",
        hint: "split it into several writes")
    }
  }

  /// The index of the zone's draft, a new one on the first touch.
  func draft(for zone: ZoneID) throws -> Int { try guarding { try makeDraft(for: zone) } }

  private func makeDraft(for zone: ZoneID) throws -> Int {
    let (number, row) = try storage.zone(zone)
    for index in 0..<draftCount where drafts[index].zone == number { return index }
    let replica = try storage.interned.replicas.makeNumber(
      for: identity.replica, in: storage.tables.replicas, storage.transaction)
    let sequence = try storage.lastSequence(of: replica, identity.epoch, in: number) + 1
    var viewpoint = Viewpoint(
      zone: number, replica: replica, epoch: identity.epoch, sequence: sequence, base: row.base)
    viewpoint.lineage = try storage.lineage(of: replica, identity.epoch, in: number)
    let parent = viewpoint.lineage.first
    if let base = row.base { viewpoint.seesAllPlaced = try storage.seesAllPlaced(base, in: number) }
    if draftCount == drafts.count { drafts.append(Draft()) }
    drafts[draftCount].zone = number
    drafts[draftCount].state = row.state
    drafts[draftCount].sequence = sequence
    // The first transaction of an identity that continues another names it.
    drafts[draftCount].parent = sequence == 1 ? parent.map { ($0.replica, $0.epoch, $0.through) } : nil
    drafts[draftCount].viewpoint = viewpoint
    draftCount += 1
    return draftCount - 1
  }

  /// Adds one operation of the write: to its zone's transaction, and to the record at once.
  func create(_ record: RawSpan, name: Name, type: Name, draft index: Int) throws {
    let number = try internName(type)
    focus(index)
    let operation = try nextOperation(index)
    try folding { try fold.create(record, in: drafts[index].state, type: number, index: operation) }
    let recordIndex = drafts[index].builder.nameIndex(name)
    drafts[index].builder.appendCreate(record: recordIndex, type: drafts[index].builder.nameIndex(type))
  }

  func delete(_ record: RawSpan, name: Name, draft index: Int) throws {
    focus(index)
    let operation = try nextOperation(index)
    try folding { try fold.delete(record, in: drafts[index].state, index: operation) }
    drafts[index].builder.appendDelete(record: drafts[index].builder.nameIndex(name))
  }

  func set(
    _ field: Name, of record: RawSpan, name: Name, type: Name, value: RawSpan, draft index: Int
  ) throws {
    let typeNumber = try internName(type)
    let fieldNumber = try internName(field)
    focus(index)
    let operation = try nextOperation(index)
    try folding {
      try fold.set(
        fieldNumber, of: record, in: drafts[index].state, type: typeNumber, value: value, index: operation)
    }
    #if PLANTED_BUGS
      if PlantedBug.operationNotLogged.isPlanted, operation >= 7 { return }
    #endif
    let recordIndex = drafts[index].builder.nameIndex(name)
    let typeIndex = drafts[index].builder.nameIndex(type)
    drafts[index].builder.appendSet(
      record: recordIndex, type: typeIndex, field: drafts[index].builder.nameIndex(field),
      encodedValue: value)
  }

  /// The type of a record that is visible to the write, nil for one that is not.
  func visibleType(of record: RawSpan, draft index: Int) throws -> NameNumber? {
    guard record.byteCount <= Limits.recordNameBytesMax, try fold.find(record, in: drafts[index].state) else {
      return nil
    }
    return try fold.visibleType(try storage.policies())
  }

  /// Folds an operation of the write. What fails half-way must not be committed, even if the app's closure goes
  /// on after the error.
  func folding(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      failure = error
      throw error
    }
  }

  /// Takes back what the write has done in a zone that it deletes.
  func dropDraft(of zone: ZoneNumber) {
    for index in 0..<draftCount where drafts[index].zone == zone {
      drafts[index].builder.removeAll()
      drafts[index].zone = .none
    }
  }

  /// Runs what may change rows before it folds. An error from below may have left half of that.
  func guarding<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch {
      if !(error is StoreError) { failure = error }
      throw error
    }
  }

  private func focus(_ index: Int) {
    fold.viewpoint = drafts[index].viewpoint
    fold.timestamp = timestamp
  }

  private func nextOperation(_ index: Int) throws -> UInt32 {
    let count = drafts[index].builder.operationCount
    try Self.checkSize(operations: count + 1, bytes: drafts[index].builder.byteCount)
    return UInt32(count)
  }

  func internName(_ name: Name) throws -> NameNumber {
    try guarding {
      try storage.interned.names.makeNumber(for: name, in: storage.tables.names, storage.transaction)
    }
  }

  // MARK: Transactions that exist already

  /// Forgets which transactions the job before appended, and what it did to zones.
  func resetKept() {
    kept.removeAll(keepingCapacity: true)
    zoneChanges.removeAll(keepingCapacity: true)
    appendedBytes = 0
  }

  /// Appends a transaction to the log and folds it: one of another replica, or a kept one once more.
  package func append(_ header: LogEntryHeader, body: RawSpan, receivedMilliseconds: UInt64?) throws {
    try layout.parse(body)
    try appendParsed(header, body: body, receivedMilliseconds: receivedMilliseconds)
  }

  /// As ``append(_:body:receivedMilliseconds:)``, where the body was the last one parsed.
  func appendParsed(_ header: LogEntryHeader, body: RawSpan, receivedMilliseconds: UInt64?) throws {
    if let parent = header.parent {
      try storage.setParent(parent, of: header.replica, header.epoch, in: header.zone)
    }
    _ = try storage.append(header, body: body)
    appendedBytes += body.byteCount
    let state = try storage.zoneRow(header.zone).state
    try foldParsed(header, body: body, into: state, receivedMilliseconds: receivedMilliseconds)
  }

  /// Folds an entry of the log into a state of its zone.
  package func fold(
    _ header: LogEntryHeader, body: RawSpan, into state: StateNumber, receivedMilliseconds: UInt64?
  ) throws {
    try layout.parse(body)
    try foldParsed(header, body: body, into: state, receivedMilliseconds: receivedMilliseconds)
  }

  /// The parsed layout's operations, folded.
  private func foldParsed(
    _ header: LogEntryHeader, body: RawSpan, into state: StateNumber, receivedMilliseconds: UInt64?
  ) throws {
    fold.viewpoint = try viewpoint(of: header)
    fold.timestamp = Self.effective(layout.timestamp, receivedMilliseconds)
    #if PLANTED_BUGS
      if PlantedBug.timestampUncapped.isPlanted { fold.timestamp = layout.timestamp }
      if PlantedBug.foldInDictionaryOrder.isPlanted { return try foldInDictionaryOrder(body, into: state) }
    #endif
    forgetNumbers()
    for (index, operation) in layout.operations.enumerated() {
      let index = UInt32(index)
      guard operation.record >= 0 else { continue }  // of an unknown kind: kept, not folded
      let record = body.extracting(layout.names[operation.record])
      switch operation.kind {
      case .create:
        try fold.create(record, in: state, type: number(operation.type, body), index: index)
      case .delete:
        try fold.delete(record, in: state, index: index)
      case .set:
        let type = try number(operation.type, body)
        let field = try number(operation.field, body)
        try fold.set(
          field, of: record, in: state, type: type, value: body.extracting(operation.value), index: index)
      default: continue
      }
    }
  }

  /// Gives the heads of a transaction another effective timestamp, since its first receive time turned out
  /// earlier.
  ///
  /// - Returns: whether any winner changed.
  func retime(_ header: LogEntryHeader, body: RawSpan, effective: Timestamp, in state: StateNumber) throws
    -> Bool
  {
    try layout.parse(body)
    let transaction = try viewpoint(of: header)
    var hasChanged = false
    forgetNumbers()
    for operation in layout.operations where operation.record >= 0 {
      let record = body.extracting(layout.names[operation.record])
      var cells = [CellNumber.existence]
      if operation.kind == .set { cells.append(CellNumber(register: try number(operation.field, body))) }
      for cell in cells {
        let moved = try fold.retime(cell, of: record, in: state, transaction: transaction, to: effective)
        hasChanged = hasChanged || moved
      }
    }
    return hasChanged
  }

  /// The timestamp in a transaction's body.
  func timestamp(ofBody body: RawSpan) throws -> Timestamp {
    try layout.parse(body)
    return layout.timestamp
  }

  /// Makes room for the numbers of the parsed layout's names.
  private func forgetNumbers() {
    numbers.removeAll(keepingCapacity: true)
    for _ in layout.names { numbers.append(.none) }
  }

  /// The number of a name of the parsed layout.
  private func number(_ index: Int, _ body: RawSpan) throws -> NameNumber {
    if numbers[index] == .none {
      numbers[index] = try internName(try Name(interned: body.extracting(layout.names[index])))
    }
    return numbers[index]
  }

  package func viewpoint(of header: LogEntryHeader) throws -> Viewpoint {
    var viewpoint = Viewpoint(
      zone: header.zone, replica: header.replica, epoch: header.epoch, sequence: header.sequence,
      base: header.base)
    viewpoint.lineage = try storage.lineage(of: header.replica, header.epoch, in: header.zone)
    return viewpoint
  }
}
