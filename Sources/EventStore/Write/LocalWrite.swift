import LMDB
import OperationFormat

/// A write of the app. It makes one transaction in each zone that it touches.
///
/// Each operation is folded at once, so that the write can read what it did;
/// ``end(author:label:schemaVersion:)`` appends the transactions to the log. The object is used again for
/// each write, so that steady work allocates nothing.
final class LocalWrite {
  let store: StoreTransaction
  let storage: TableStorage
  /// A value of more bytes becomes an asset.
  let assetThresholdBytes: Int

  private struct State: ~Copyable {
    var drafts = ZoneDrafts()
    /// The timestamp of all the write's transactions.
    var timestamp = Timestamp(rawValue: 0)
    /// How many writes came before, and ends of them.
    var number: UInt64 = 0
    /// How many names of records the write has made.
    var madeNames: UInt64 = 0
    /// An error that left a change half done, or that could not be thrown where it arose: the write must not
    /// be committed.
    var failure: (any Error)?
    var body = ByteWriter()
    var operand = ByteWriter()
    var kept: [KeptTransaction] = []
    var zoneChanges: [ZoneChange] = []
    /// Told what the job has appended, once that is committed.
    var written: Written?
    /// Whether fields are changed whatever kind they are declared to be: what is there is copied, cleared or
    /// restored.
    var takesAnyKind = false
    /// The types of which a record must be that is changed; empty for all.
    var types: [Name] = []
    /// A type that the write has found to be one of some.
    var taken: (type: NameNumber, types: [Name])?
    /// What the write sees, until its next mutation.
    var view: ReadView?
  }

  // No access to a field meets another access to the same field; dynamic checks of that would cost more than
  // the accesses.
  @exclusivity(unchecked) private var current = State()

  init(_ store: StoreTransaction, assetThresholdBytes: Int = .max) {
    self.store = store
    storage = store.storage
    self.assetThresholdBytes = assetThresholdBytes
  }

  private var identity: StoreIdentity { store.identity }

  // MARK: Begin and end

  /// Begins a write.
  ///
  /// - Parameters:
  ///   - former: the time of its transactions; nil for now.
  ///   - isAddition: whether it belongs to the write before, which has ended and can be undone with it.
  func begin(at former: Timestamp? = nil, isAddition: Bool = false) {
    current.number += 1
    current.madeNames = 0
    current.taken = nil
    current.timestamp = store.clock.tick(wallMilliseconds: store.wallMilliseconds())
    if let former { current.timestamp = former }
    if !isAddition { removeKept() }
    current.failure = nil
    dropDrafts()
  }

  /// What a write takes back.
  struct Undo {
    /// The transactions, by their zones.
    var roots: [ZoneID: Position]
    /// The zones in which it belongs to a transaction before.
    var additions: Set<ZoneID> = []

    func undone(in zone: ZoneID) -> KeptTransaction.Undone? {
      roots[zone].map { KeptTransaction.Undone(root: $0, isAddition: additions.contains(zone)) }
    }
  }

  /// Appends the write's transactions to the log.
  ///
  /// - Parameter undo: of a write that takes others back.
  func end(author: String?, label: String?, schemaVersion: UInt64?, _ undo: Undo? = nil) throws {
    current.number += 1
    if let failure = current.failure { throw failure }
    try StoreError.check(author, "author", Limits.authorBytesMax)
    try StoreError.check(label, "label", Limits.labelBytesMax)
    let used = current.drafts.used.count { $0.encoder.operationCount > 0 }
    let timestamp = current.timestamp
    let writeID = used > 1 ? store.makeRandom() : nil
    var body = ByteWriter()
    swap(&body, &current.body)
    defer { swap(&body, &current.body) }
    for draft in current.drafts.used where draft.encoder.operationCount > 0 {
      body.removeAll()
      draft.encoder.finish(
        timestamp: timestamp, writeID: writeID, author: author, label: label, schemaVersion: schemaVersion,
        into: &body)
      try draft.check(
        operations: draft.encoder.operationCount, bytes: body.count, steps: draft.encoder.steps)
      // From here on only the store can fail, so the write needs no nested transaction.
      if used == 1, undo == nil { try storage.dropUntouchedNested() }
      try store.fold.flush()
      let delay = store.wallMilliseconds() &- Int64(timestamp.milliseconds)
      let header = LogEntryHeader(
        zone: draft.zone, replica: draft.target.lane.replica, epoch: draft.target.lane.epoch,
        sequence: draft.target.sequence, base: draft.target.context.base, parent: draft.target.parent,
        arrivalDelay: delay)
      let isCurrent = draft.target.version == storage.zonesVersion
      let position = try storage.log.append(header, body: body.span)
      if let floor = draft.content.floor { try storage.lanes.noteFloor(floor, of: header) }
      let undone = undo?.undone(in: draft.id!)
      if let undone { try storage.meta.noteUndo(undone, at: position) }
      if !draft.content.assets.isEmpty { try store.countAssets(draft.content.assets, in: draft.zone) }
      store.appendedBytes += body.count
      keep(
        KeptTransaction(
          header: try self.header(of: draft), position: position, arrivalDelay: delay, body: body.bytes,
          undone: undone))
      if isCurrent { draft.advance(storage.zonesVersion) }
    }
    dropDrafts()
  }

  /// Notes that a transaction was taken back, or brought back, and that there was nothing to do.
  func noteUndo(of root: Position) throws {
    try storage.meta.noteUndo(of: root, at: storage.lastPosition(), isDone: false)
    keep(.noteUndo(of: root))
  }

  /// The header of a draft's transaction, with identities for numbers.
  private func header(of draft: ZoneDraft) throws -> TransactionHeader {
    let base = try draft.target.context.base.map { base in
      Base(incarnation: try storage.incarnations.identity(of: base.incarnation), offset: base.offset)
    }
    let parent = try draft.target.parent.map { parent in
      TransactionID(
        replica: try storage.replicaID(parent.replica), epoch: parent.epoch, sequence: parent.sequence)
    }
    return TransactionHeader(
      replica: identity.replica, epoch: draft.target.lane.epoch, sequence: draft.target.sequence,
      zone: draft.id!, base: base, parent: parent)
  }

  /// How many operations each transaction of the write has so far.
  var operationCounts: [Int] {
    current.drafts.used.map { $0.encoder.operationCount }.filter { $0 > 0 }
  }

  /// The zones in which the write has operations.
  var changedZones: [ZoneID] {
    current.drafts.used.filter { $0.encoder.operationCount > 0 }.compactMap(\.id)
  }

  // MARK: What to repeat after a commit that was undone

  /// The transactions that the current job has appended.
  var kept: [KeptTransaction] { current.kept }

  /// What the current job has done to zones, in order.
  var zoneChanges: [ZoneChange] { current.zoneChanges }

  /// What is told what the current job has appended; nil if nobody wants to know.
  var written: Written? { current.written }

  /// The same, made if it is not there.
  func makeWritten() -> Written {
    let written = current.written ?? Written()
    current.written = written
    return written
  }

  func keep(_ transaction: KeptTransaction) { current.kept.append(transaction) }

  func keep(_ change: ZoneChange) {
    current.view = nil
    current.zoneChanges.append(change)
  }

  /// Forgets what the previous job has appended, and done to zones.
  func removeKept() {
    current.kept.removeAll(keepingCapacity: true)
    current.zoneChanges.removeAll(keepingCapacity: true)
    current.written = nil
    store.appendedBytes = 0
  }

  // MARK: Declared kinds

  var takesAnyKind: Bool { current.takesAnyKind }

  /// Runs a closure whose changes of fields may be of another kind than is declared.
  func takingAnyKind<R>(_ body: () throws -> R) rethrows -> R {
    let before = current.takesAnyKind
    current.takesAnyKind = true
    defer { current.takesAnyKind = before }
    return try body()
  }

  // MARK: Types of records

  /// Runs a closure that changes only records of some types.
  func taking<R>(_ types: [Name], _ body: () throws -> R) rethrows -> R {
    let before = current.types
    current.types = types
    defer { current.types = before }
    return try body()
  }

  /// - Throws: ``StoreError`` `recordUnknown` if a record that is to be changed is of a type that is not taken.
  @inline(__always)
  func check(_ type: NameNumber, of record: RawSpan, in draft: ZoneDraft) throws {
    if !current.types.isEmpty { try checkIsTaken(type, of: record, in: draft) }
  }

  private func checkIsTaken(_ type: NameNumber, of record: RawSpan, in draft: ZoneDraft) throws {
    if let taken = current.taken, taken.type == type, taken.types == current.types { return }
    let name = try store.name(type)
    guard current.types.contains(name) else {
      let id = RecordID(zone: draft.id!, name: try Name(utf8: record))
      throw StoreError.unknown(id, asOneOf: current.types, name)
    }
    current.taken = (type, current.types)
  }

  // MARK: Drafts

  /// The zone's draft; a new one if the write has not touched the zone yet.
  func draft(for zone: ZoneID) throws -> ZoneDraft {
    // Nearly always it is that of the previous operation.
    if let focused = current.drafts.focused, focused.isOf(zone) { return focused }
    return try markingUnexpectedFailure { try makeDraft(for: zone) }
  }

  private func makeDraft(for zone: ZoneID) throws -> ZoneDraft {
    if let draft = current.drafts.reuseFirst(for: zone, storage.zonesVersion) { return draft }
    let (number, row) = try storage.zones.visible(zone)
    if let draft = current.drafts.draft(of: number) { return draft }
    return current.drafts.add(zone, try ZoneDraft.Target(of: number, row, in: store))
  }

  /// Gives the fold the causal context of a draft, before a change of its zone.
  func focus(_ draft: ZoneDraft) {
    current.view = nil
    if current.drafts.focused === draft { return }
    current.drafts.focused = draft
    store.fold.context = draft.target.context
    store.fold.timestamp = current.timestamp
  }

  /// Drops the write's operations in a zone that it deletes.
  func dropDraft(of zone: ZoneNumber) { current.drafts.remove(of: zone) }

  /// Whether the write has done anything in a zone's records.
  func hasOperations(in zone: ZoneNumber) -> Bool {
    current.drafts.draft(of: zone).map { $0.encoder.operationCount > 0 } ?? false
  }

  func dropDrafts() {
    current.view = nil
    current.drafts.removeAll()
  }

  // MARK: Reading

  /// Reads what the write has done so far. Valid until its next mutation.
  @_lifetime(borrow self)
  func reader() throws -> RecordReader {
    try store.flush()
    if let view = current.view { return RecordReader(view) }
    let view = ReadView(storage.transaction.alias(), tables: storage.tables, interned: storage.interned)
    current.view = view
    return RecordReader(view)
  }

  /// Lends the operand's buffer, empty.
  @inline(__always)
  func withOperand<R>(_ body: (inout ByteWriter) throws -> R) rethrows -> R {
    var operand = ByteWriter()
    swap(&operand, &current.operand)
    defer { swap(&operand, &current.operand) }
    operand.removeAll()
    return try body(&operand)
  }

  /// A UUID of version 7 (RFC 9562, 5.7): milliseconds, then 12 bits that order the writes of one millisecond
  /// and 16 that order the names of one write, then 46 random bits.
  func makeName() -> Name {
    let timestamp = current.timestamp
    let order = UInt64(timestamp.counter & 0xfff) << 16 | current.madeNames & 0xffff
    current.madeNames += 1
    let random = store.makeRandom() & (1 << 46 - 1)
    let high = timestamp.milliseconds << 16 | 0x7000 | order >> 16
    let low = 0b10 << 62 | (order & 0xffff) << 46 | random
    return Name(UniqueID(rawValue: UInt128(high) << 64 | UInt128(low)).description)
  }

  // MARK: Failures

  /// Another one for each write, and none of them after its closure has returned.
  var number: UInt64 { current.number }

  var hasFailed: Bool { current.failure != nil }

  /// Fails the write with an error that could not be thrown where it arose.
  func fail(_ error: any Error) { if current.failure == nil { current.failure = error } }

  /// Runs a change, and marks the write as failed if it throws: a change that is half done must not be
  /// committed, even if the app's closure catches the error.
  @inline(__always)
  func markingFailure(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      current.failure = error
      throw StoreError.ofDamage(error)
    }
  }

  /// Runs a change that refuses wrong calls with a `StoreError` before it does anything. Marks the write as
  /// failed at any other error.
  func markingUnexpectedFailure<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch {
      if !(error is StoreError) { current.failure = error }
      throw StoreError.ofDamage(error)
    }
  }
}

extension StoreError {
  /// The store's error for a row that cannot be read; any other error as it is. The group of writes still
  /// needs those of LMDB.
  static func ofDamage(_ error: any Error) -> any Error { error is FormatError ? translate(error) : error }

  /// - Throws: `valueInvalid` for a text of too many bytes.
  package static func check(_ text: String?, _ what: String, _ bytesMax: Int) throws {
    guard let count = text?.utf8.count, count > bytesMax else { return }
    throw StoreError(
      .valueInvalid, "the \(what) of a write has \(count) bytes",
      hint: "use at most \(bytesMax) bytes of UTF-8")
  }
}
