package import LMDB
package import OperationFormat

/// What one LMDB write transaction does to a store: local writes, remote transactions, rebuilds. One batch at a
/// time, on the writer's thread; it is used again and again, so that steady work allocates nothing.
package final class WriteBatch {
  package let storage: TableStorage
  @exclusivity(unchecked) package var fold: Fold<TableStorage>
  @exclusivity(unchecked) package var clock: HybridClock
  package let identity: StoreIdentity
  /// Wall time in milliseconds since 1970.
  let wallMilliseconds: @Sendable () -> Int64
  let makeRandom: @Sendable () -> UInt64

  /// One zone's transaction in the making.
  ///
  /// One thread uses it, and no access lasts: checks of exclusive access cost more than the accesses.
  final class Draft {
    @exclusivity(unchecked) fileprivate(set) var id: ZoneID? {
      didSet { bits = id?.bits }
    }
    @exclusivity(unchecked) private var bits: SIMD4<UInt64>?
    @exclusivity(unchecked) fileprivate(set) var zone: ZoneNumber = .none
    @exclusivity(unchecked) fileprivate(set) var state: StateNumber = .none
    /// The write's lane in the log, and its sequence there. The context says what the records call them.
    @exclusivity(unchecked) fileprivate var lane = Lane(zone: .none, replica: .none, epoch: 0)
    @exclusivity(unchecked) fileprivate var sequence: UInt64 = 0
    @exclusivity(unchecked) fileprivate var renamings: [LaneRenaming] = []
    @exclusivity(unchecked) fileprivate var parent: (replica: ReplicaNumber, epoch: UInt32, sequence: UInt64)?
    @exclusivity(unchecked) fileprivate(set) var context = CausalContext(
      zone: .none, replica: .none, epoch: 0, sequence: 0, base: nil)
    @exclusivity(unchecked) var builder = BodyEncoder()
    /// What the write's last operation has inserted, if that was text.
    @exclusivity(unchecked) var typed: TypedText?
    /// The assets that its operations name.
    @exclusivity(unchecked) var assets: [AssetReference] = []
    /// The ``TableStorage/zonesVersion`` that all this is right at.
    @exclusivity(unchecked) fileprivate var version = -1
    /// What the builder numbered the store's names of types and fields, those that came first.
    @exclusivity(unchecked) fileprivate var numbered: [(name: NameNumber, index: Int)] = []
    fileprivate static let numberedMax = 16

    /// Whether it is a zone's.
    @inline(__always)
    fileprivate func isOf(_ zone: ZoneID) -> Bool {
      if let bits, let others = zone.bits, bits == others { return true }
      return id == zone
    }

    /// Forgets the transaction. What is known of the zone serves the next one.
    fileprivate func removeOperations() {
      builder.removeAll()
      typed = nil
      if !assets.isEmpty { assets.removeAll() }
      numbered.removeAll(keepingCapacity: true)
    }

    fileprivate func removeAll() {
      id = nil
      zone = .none
      removeOperations()
    }
  }

  /// A transaction that was appended by the write at hand: enough to append and fold it again. It holds
  /// identities, since a commit that is undone takes with it the numbers that it gave out.
  package struct Kept: Sendable {
    package var header: TransactionHeader
    package var arrivalDelay: Int64
    package var body: [UInt8]
  }

  @exclusivity(unchecked) private var drafts: [Draft] = []
  @exclusivity(unchecked) private var draftCount = 0
  /// The draft of the write at hand that the fold has the context of.
  @exclusivity(unchecked) private var focused: Draft?
  /// Names of types and fields that were met lately, so that most need no look-up.
  @exclusivity(unchecked) private var recentNames = RecentNames()
  @exclusivity(unchecked) private var timestamp = Timestamp(rawValue: 0)
  @exclusivity(unchecked) var kept: [Kept] = []
  /// What the write at hand has done to zones, in order.
  @exclusivity(unchecked) var zoneChanges: [ZoneChange] = []
  /// Whether what is appended is folded later, with the log: see ``foldOrAppend(of:isTooMuch:_:)``.
  @exclusivity(unchecked) var foldsLater = false
  /// Bytes of transactions appended since `resetKept`.
  @exclusivity(unchecked) var appendedBytes = 0
  @exclusivity(unchecked) private var failure: (any Error)?
  @exclusivity(unchecked) private var body = ByteWriter()
  /// The transaction's body that was parsed last, and the store's numbers of its names, as far as they were needed.
  var layout = BodyDecoder()
  var numbers: [NameNumber] = []
  /// The files of the store's assets; none where the log is only folded.
  @exclusivity(unchecked) var assetFiles: AssetFiles?
  /// More bytes than these become an asset.
  @exclusivity(unchecked) var assetThresholdBytes = Int.max

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
    let isUnchanged = storage.begin(transaction)
    fold.reset()
    if !isUnchanged { clock.last = try storage.clock() }
  }

  /// - Parameter isPlain: whether nothing was done but writes of an app that made or deleted no zone: those keep what is
  ///   cached right.
  package func commit(isPlain: Bool = false) throws {
    try fold.flush()
    try storage.setClock(clock.last)
    try storage.commit(cachesAreRight: isPlain)
  }

  package func abort() {
    storage.abort()
    didAbort()
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
    didAbort()
  }

  private func didAbort() {
    fold.reset()
    dropDrafts()
    // What was undone takes with it the numbers that it gave out.
    recentNames.removeAll()
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
    let used = drafts[..<draftCount].count { $0.builder.operationCount > 0 }
    let writeID = used > 1 ? makeRandom() : nil
    var body = ByteWriter()
    swap(&body, &self.body)
    defer { swap(&body, &self.body) }
    for draft in drafts[..<draftCount] where draft.builder.operationCount > 0 {
      body.removeAll()
      draft.builder.finish(
        timestamp: timestamp, writeID: writeID, author: author, label: label, schemaVersion: schemaVersion,
        into: &body)
      try Self.checkSize(
        operations: draft.builder.operationCount, bytes: body.count, steps: draft.builder.steps,
        draft.builder.renaming)
      // Nothing that is the app's can fail any more, so nothing need be undone alone.
      if used == 1 { try storage.dropUntouchedNested() }
      try fold.flush()
      let header = LogEntryHeader(
        zone: draft.zone, replica: draft.lane.replica, epoch: draft.lane.epoch, sequence: draft.sequence,
        base: draft.context.base, parent: draft.parent,
        arrivalDelay: wallMilliseconds() &- Int64(timestamp.milliseconds))
      let isCurrent = draft.version == storage.zonesVersion
      _ = try storage.append(header, body: body.span)
      if !draft.assets.isEmpty { try countAssets(draft.assets, in: draft.zone) }
      appendedBytes += body.count
      kept.append(
        Kept(
          header: try self.header(of: draft), arrivalDelay: header.arrivalDelay, body: body.bytes))
      if isCurrent { advance(draft) }
    }
    dropDrafts()
  }

  /// The header of a draft's transaction, in identities.
  private func header(of draft: Draft) throws -> TransactionHeader {
    let (tables, interned) = (storage.tables, storage.interned)
    let base = try draft.context.base.map { base in
      Base(
        incarnation: try interned.incarnations.identity(
          of: base.incarnation, in: tables.incarnations, storage.transaction), offset: base.offset)
    }
    let parent = try draft.parent.map { parent in
      TransactionID(
        replica: try storage.replicaID(parent.replica), epoch: parent.epoch, sequence: parent.sequence)
    }
    return TransactionHeader(
      replica: identity.replica, epoch: draft.lane.epoch, sequence: draft.sequence, zone: draft.id!,
      base: base,
      parent: parent)
  }

  /// Makes a draft whose transaction was appended ready for the one after it.
  private func advance(_ draft: Draft) {
    draft.sequence += 1
    draft.context.sequence += 1
    draft.parent = nil
    draft.version = storage.zonesVersion
  }

  /// How many operations each transaction of the write has so far.
  var operationCounts: [Int] { drafts[..<draftCount].map { $0.builder.operationCount }.filter { $0 > 0 } }

  private func dropDrafts() {
    for draft in drafts[..<draftCount] { draft.removeOperations() }
    draftCount = 0
    focused = nil
  }

  private static func check(_ text: String?, _ what: String, _ bytesMax: Int) throws {
    guard let count = text?.utf8.count, count > bytesMax else { return }
    throw StoreError(
      .valueInvalid, "the \(what) of a write has \(count) bytes",
      hint: "use at most \(bytesMax) bytes of UTF-8")
  }

  /// Refuses what no segment could hold: checked while the write goes on, and exactly at its end.
  ///
  /// - Parameter renaming: what it leaves room for.
  static func checkSize(operations: Int, bytes: Int, steps: Int, _ renaming: RenamedUnits) throws {
    // The header that goes with the body in a segment has at most two names, two identities and numbers.
    let bytesMax = Limits.transactionBytesMax - 512 - renaming.bytes
    let steps = steps + renaming.steps
    guard operations <= Limits.transactionOperationsMax, bytes <= bytesMax else {
      throw StoreError(
        .transactionTooLarge,
        "a write of \(operations) operations and \(bytes) bytes in one zone is over the limit of "
          + "\(Limits.transactionOperationsMax) operations and \(bytesMax) bytes",
        hint: "split it into several writes")
    }
    guard steps <= Limits.foldStepsMax else { throw StoreError.tooMuchWork("a write", steps) }
  }

  /// The zone's draft, a new one on the first touch.
  func draft(for zone: ZoneID) throws -> Draft {
    // Nearly always it is that of the operation before.
    if let focused, focused.isOf(zone) { return focused }
    return try guarding { try makeDraft(for: zone) }
  }

  /// Whether a transaction of that base has seen everything in its zone that is not of its own lane or those that it continues.
  private func seesAll(
    _ base: (incarnation: IncarnationNumber, offset: UInt64), in zone: ZoneNumber
  ) throws -> Bool {
    guard try storage.seesAllPlaced(base, in: zone) else { return false }
    // What the store ships for others has no place, or gets one behind the base.
    return try !storage.tables.hasAdoptedLanes(of: zone, storage.transaction)
  }

  private func makeDraft(for zone: ZoneID) throws -> Draft {
    if draftCount == 0, let last = drafts.first, last.version == storage.zonesVersion, last.isOf(zone) {
      draftCount = 1
      return last
    }
    let (number, row) = try storage.zone(zone)
    for draft in drafts[..<draftCount] where draft.zone == number { return draft }
    let replica = try storage.interned.replicas.makeNumber(
      for: identity.replica, in: storage.tables.replicas, storage.transaction)
    let epoch = row.ownEpoch(identity)
    let sequence = try storage.lastSequence(of: replica, epoch, in: number) + 1
    var context = CausalContext(
      zone: number, replica: replica, epoch: epoch, sequence: sequence, base: row.base)
    context.lineage = try storage.lineage(of: replica, epoch, in: number)
    let parent = context.lineage.first.map { ($0.replica, $0.epoch, $0.through) } as LaneParent?
    context.base = try base(row, after: sequence - 1, of: replica, epoch, parent, number)
    if let base = context.base { context.seesAllPlaced = try seesAll(base, in: number) }
    if draftCount == drafts.count { drafts.append(Draft()) }
    let draft = drafts[draftCount]
    draft.id = zone
    draft.zone = number
    draft.state = row.state
    draft.lane = Lane(zone: number, replica: replica, epoch: epoch)
    draft.sequence = sequence
    draft.renamings = try storage.renamings(of: number)
    // The first transaction of an identity that continues another names it.
    draft.parent = sequence == 1 ? parent : nil
    draft.context = draft.renamings.isEmpty ? context : draft.renamings.inOldNames(context)
    draft.version = storage.zonesVersion
    draftCount += 1
    return draft
  }

  /// Adds one operation of the write: to its zone's transaction, and to the record at once.
  ///
  /// - Parameter place: where the record moved from, as the operation says it; empty if it is new.
  func create(_ record: RawSpan, type: Name, movedFrom place: RawSpan = RawSpan(), in draft: Draft) throws {
    let number = try internName(type)
    focus(draft)
    let operation = try nextOperation(draft)
    try folding { try fold.create(record, in: draft.state, type: number, index: operation) }
    let recordIndex = draft.builder.nameIndex(record)
    let typeIndex = try nameIndex(number, in: draft)
    if place.isEmpty {
      draft.builder.appendCreate(record: recordIndex, type: typeIndex)
    } else {
      draft.builder.appendMoveHere(record: recordIndex, type: typeIndex, from: place)
    }
  }

  /// - Parameter place: where the record moves to, as the operation says it; empty if it is deleted.
  func delete(_ record: RawSpan, movedTo place: RawSpan = RawSpan(), in draft: Draft) throws {
    focus(draft)
    let operation = try nextOperation(draft)
    try folding { try fold.delete(record, in: draft.state, movedTo: place, index: operation) }
    let recordIndex = draft.builder.nameIndex(record)
    if place.isEmpty {
      draft.builder.appendDelete(record: recordIndex)
    } else {
      draft.builder.appendMoveAway(record: recordIndex, to: place)
    }
  }

  /// Changes a field of a record that is alive in the write. False if there is none.
  func change(
    _ field: Name, of record: RawSpan, _ kind: OperationKind, operand: RawSpan, in draft: Draft
  ) throws -> Bool {
    guard let type = try aliveType(of: record, in: draft) else { return false }
    let fieldNumber = try internName(field)
    focus(draft)
    let operation = try nextOperation(draft)
    try folding { try fold.change(kind, fieldNumber, type: type, operand: operand, index: operation) }
    try log(fieldNumber, of: record, type, kind, operand: operand, in: draft)
    return true
  }

  /// Adds an operation on a field to its zone's transaction.
  @inline(__always)
  func log(
    _ field: NameNumber, of record: RawSpan, _ type: NameNumber, _ kind: OperationKind, operand: RawSpan,
    in draft: Draft
  ) throws {
    let recordIndex = draft.builder.nameIndex(record)
    let typeIndex = try nameIndex(type, in: draft)
    let fieldIndex = try nameIndex(field, in: draft)
    guard !draft.renamings.isEmpty, kind.namesUnits else {
      return draft.builder.append(
        kind, record: recordIndex, type: typeIndex, field: fieldIndex, operand: operand)
    }
    let renamed = try operandInNewNames(kind, field, operand: operand, draft.renamings, own: draft.lane)
    draft.builder.append(
      kind, record: recordIndex, type: typeIndex, field: fieldIndex, operand: renamed.span)
  }

  /// The type of a record that is alive in the write, nil for one that is not. It may be hidden by a cascade: then it can be
  /// changed all the same, so that it can be given another target.
  func aliveType(of record: RawSpan, in draft: Draft) throws -> NameNumber? {
    guard record.byteCount <= Limits.recordNameBytesMax, try fold.find(record, in: draft.state) else {
      return nil
    }
    return try fold.aliveType(storage.policies)
  }

  /// What the draft's builder numbers a name.
  private func nameIndex(_ number: NameNumber, in draft: Draft) throws -> Int {
    for known in draft.numbered where known.name == number { return known.index }
    let name: Name
    if let met = recentNames.name(of: number) {
      name = met
    } else {
      name = try storage.name(number)
      recentNames.remember(name, number)
    }
    let index = draft.builder.nameIndex(name)
    if draft.numbered.count < Draft.numberedMax { draft.numbered.append((number, index)) }
    return index
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
    for draft in drafts[..<draftCount] where draft.zone == zone { draft.removeAll() }
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

  func focus(_ draft: Draft) {
    if focused === draft { return }
    focused = draft
    fold.context = draft.context
    fold.timestamp = timestamp
  }

  func nextOperation(_ draft: Draft) throws -> UInt32 {
    let count = draft.builder.operationCount
    try Self.checkSize(
      operations: count + 1, bytes: draft.builder.byteCount,
      steps: draft.builder.steps + FoldWork.steps(ofPayload: 0), draft.builder.renaming)
    return UInt32(count)
  }

  func internName(_ name: Name) throws -> NameNumber {
    if let number = recentNames.number(of: name) { return number }
    let number = try guarding {
      try storage.interned.names.makeNumber(for: name, in: storage.tables.names, storage.transaction)
    }
    recentNames.remember(name, number)
    return number
  }

  /// Forgets which transactions the job before appended, and what it did to zones.
  func resetKept() {
    kept.removeAll(keepingCapacity: true)
    zoneChanges.removeAll(keepingCapacity: true)
    appendedBytes = 0
  }
}

extension StoreError {
  /// The error of a transaction that no replica would fold.
  static func tooMuchWork(_ what: String, _ steps: Int) -> StoreError {
    StoreError(
      .transactionTooLarge,
      "\(what) takes \(steps) steps to be folded in one zone, over the limit of \(Limits.foldStepsMax)",
      hint: "split it into several writes")
  }
}
