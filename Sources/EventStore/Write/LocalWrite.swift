import LMDB
import OperationFormat

/// A write of the app: the transactions that it makes, one in each zone.
///
/// Each operation is folded at once, so that the write can read what it did; ``end(author:label:schemaVersion:)`` appends the
/// transactions to the log. The object is used again for each write, so that steady work allocates nothing.
final class LocalWrite {
  let store: StoreTransaction
  let storage: TableStorage
  /// More bytes than these become an asset.
  let assetThresholdBytes: Int

  private struct State: ~Copyable {
    /// The drafts of this write, then unused ones.
    var drafts: [ZoneDraft] = []
    var draftCount = 0
    /// The draft whose context the fold has.
    var focused: ZoneDraft?
    /// The timestamp of all the write's transactions.
    var timestamp = Timestamp(rawValue: 0)
    /// What failed half-way: the write must not be committed.
    var failure: (any Error)?
    var body = ByteWriter()
    var operand = ByteWriter()
    var kept: [KeptTransaction] = []
    var zoneChanges: [ZoneChange] = []
  }

  // One thread uses a write, and accesses never overlap: checks of exclusive access would cost more than they do.
  @exclusivity(unchecked) private var current = State()

  init(_ store: StoreTransaction, assetThresholdBytes: Int = .max) {
    self.store = store
    storage = store.storage
    self.assetThresholdBytes = assetThresholdBytes
  }

  private var identity: StoreIdentity { store.identity }

  // MARK: Begin and end

  /// Begins a write.
  func begin() {
    current.timestamp = store.clock.tick(wallMilliseconds: store.wallMilliseconds())
    removeKept()
    current.failure = nil
    dropDrafts()
  }

  /// Appends the write's transactions to the log.
  func end(author: String?, label: String?, schemaVersion: UInt64?) throws {
    if let failure = current.failure { throw failure }
    try Self.check(author, "author", Limits.authorBytesMax)
    try Self.check(label, "label", Limits.labelBytesMax)
    let used = current.drafts[..<current.draftCount].count { $0.encoder.operationCount > 0 }
    let timestamp = current.timestamp
    let writeID = used > 1 ? store.makeRandom() : nil
    var body = ByteWriter()
    swap(&body, &current.body)
    defer { swap(&body, &current.body) }
    for draft in current.drafts[..<current.draftCount] where draft.encoder.operationCount > 0 {
      body.removeAll()
      draft.encoder.finish(
        timestamp: timestamp, writeID: writeID, author: author, label: label, schemaVersion: schemaVersion,
        into: &body)
      try draft.check(
        operations: draft.encoder.operationCount, bytes: body.count, steps: draft.encoder.steps)
      // From here on only the store can fail, so the write needs no nested transaction to be undone by.
      if used == 1 { try storage.dropUntouchedNested() }
      try store.fold.flush()
      let delay = store.wallMilliseconds() &- Int64(timestamp.milliseconds)
      let header = LogEntryHeader(
        zone: draft.zone, replica: draft.target.lane.replica, epoch: draft.target.lane.epoch,
        sequence: draft.target.sequence, base: draft.target.context.base, parent: draft.target.parent,
        arrivalDelay: delay)
      let isCurrent = draft.target.version == storage.zonesVersion
      _ = try storage.log.append(header, body: body.span)
      if !draft.content.assets.isEmpty { try store.countAssets(draft.content.assets, in: draft.zone) }
      store.appendedBytes += body.count
      keep(KeptTransaction(header: try self.header(of: draft), arrivalDelay: delay, body: body.bytes))
      if isCurrent { draft.advance(storage.zonesVersion) }
    }
    dropDrafts()
  }

  /// The header of a draft's transaction, in identities.
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

  private static func check(_ text: String?, _ what: String, _ bytesMax: Int) throws {
    guard let count = text?.utf8.count, count > bytesMax else { return }
    throw StoreError(
      .valueInvalid, "the \(what) of a write has \(count) bytes",
      hint: "use at most \(bytesMax) bytes of UTF-8")
  }

  /// How many operations each transaction of the write has so far.
  var operationCounts: [Int] {
    current.drafts[..<current.draftCount].map { $0.encoder.operationCount }.filter { $0 > 0 }
  }

  // MARK: What to do again after a commit that was undone

  /// The transactions that the current job has appended.
  var kept: [KeptTransaction] { current.kept }

  /// What the current job has done to zones, in order.
  var zoneChanges: [ZoneChange] { current.zoneChanges }

  func keep(_ transaction: KeptTransaction) { current.kept.append(transaction) }

  func keep(_ change: ZoneChange) { current.zoneChanges.append(change) }

  /// Forgets what the job before has appended, and done to zones.
  func removeKept() {
    current.kept.removeAll(keepingCapacity: true)
    current.zoneChanges.removeAll(keepingCapacity: true)
    store.appendedBytes = 0
  }

  // MARK: Drafts

  /// The zone's draft, a new one on the first touch.
  func draft(for zone: ZoneID) throws -> ZoneDraft {
    // Nearly always it is that of the operation before.
    if let focused = current.focused, focused.isOf(zone) { return focused }
    return try guarding { try makeDraft(for: zone) }
  }

  private func makeDraft(for zone: ZoneID) throws -> ZoneDraft {
    if current.draftCount == 0, let last = current.drafts.first, last.target.version == storage.zonesVersion,
      last.isOf(zone)
    {
      current.draftCount = 1
      return last
    }
    let (number, row) = try storage.zones.visible(zone)
    for draft in current.drafts[..<current.draftCount] where draft.zone == number { return draft }
    let replica = try storage.replicas.makeNumber(for: identity.replica)
    let epoch = row.ownEpoch(identity)
    let sequence = try storage.lastSequence(of: replica, epoch, in: number) + 1
    var context = CausalContext(
      zone: number, replica: replica, epoch: epoch, sequence: sequence, base: row.base)
    context.lineage = try storage.lineage(of: replica, epoch, in: number)
    let parent = context.lineage.first.map { ($0.replica, $0.epoch, $0.through) } as LaneParent?
    context.base = try store.base(row, after: sequence - 1, of: replica, epoch, parent, number)
    if let base = context.base { context.seesAllPlaced = try store.seesAll(base, in: number) }
    if current.draftCount == current.drafts.count { current.drafts.append(ZoneDraft()) }
    let draft = current.drafts[current.draftCount]
    let renamings = try storage.lanes.renamings(of: number)
    draft.begin(
      zone,
      ZoneDraft.Target(
        zone: number, state: row.state, lane: Lane(zone: number, replica: replica, epoch: epoch),
        sequence: sequence, renamings: renamings,
        // The first transaction of an identity that continues another names it.
        parent: sequence == 1 ? parent : nil,
        context: renamings.isEmpty ? context : renamings.inOldNames(context), version: storage.zonesVersion))
    current.draftCount += 1
    return draft
  }

  /// Gives the fold a draft's context.
  func focus(_ draft: ZoneDraft) {
    if current.focused === draft { return }
    current.focused = draft
    store.fold.context = draft.target.context
    store.fold.timestamp = current.timestamp
  }

  /// Removes what the write has done in a zone that it deletes.
  func dropDraft(of zone: ZoneNumber) {
    for draft in current.drafts[..<current.draftCount] where draft.zone == zone { draft.removeAll() }
  }

  func dropDrafts() {
    for draft in current.drafts[..<current.draftCount] { draft.removeOperations() }
    current.draftCount = 0
    current.focused = nil
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

  // MARK: Failures

  /// Folds an operation of the write. What fails half-way must not be committed, even if the app's closure catches the
  /// error.
  @inline(__always)
  func folding(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      current.failure = error
      throw error
    }
  }

  /// Runs what may change rows before anything is folded. Errors of the app's leave nothing half-done; others may.
  func guarding<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch {
      if !(error is StoreError) { current.failure = error }
      throw error
    }
  }
}
