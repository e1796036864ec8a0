package import LMDB
package import OperationFormat

/// One LMDB write transaction with what was read in it: the rows of a store, as the fold and the log write them.
///
/// It is used by one thread at a time. What is cached is forgotten at each `begin`, but where no process has written since
/// a commit that left it right, and when a transaction is undone. No access to a property meets another, so none is checked
/// against others (`@exclusivity(unchecked)`): the checks took a twentieth of a small commit.
package final class TableStorage: FoldStorage {
  package let tables: Tables
  package let interned = Interned()

  /// What was known before the transactions at hand, to go back to.
  @exclusivity(unchecked) private var outerCaches: Interned.Caches?
  @exclusivity(unchecked) private var innerCaches: Interned.Caches?
  @exclusivity(unchecked) private var outer: Transaction?
  @exclusivity(unchecked) private var inner: Transaction?
  @exclusivity(unchecked) private var zoneRows: [ZoneNumber: ZoneRow] = [:]
  @exclusivity(unchecked) private var stateRows: [StateNumber: StateRow] = [:]
  @exclusivity(unchecked) private var changedZones: Set<ZoneNumber> = []
  @exclusivity(unchecked) private var changedStates: Set<StateNumber> = []
  @exclusivity(unchecked) private var lastSequences: [Lane: UInt64] = [:]
  /// What one transaction of a lane had seen, the one that was asked for or appended last.
  @exclusivity(unchecked) private var seen: [Lane: SeenBase] = [:]
  @exclusivity(unchecked) private var lineages:
    [Lane: [(replica: ReplicaNumber, epoch: UInt32, through: UInt64)]] = [:]
  @exclusivity(unchecked) private var cachedLastPosition: Position?
  @exclusivity(unchecked) private var cachedPolicies: [NameNumber: ExistencePolicy]?
  @exclusivity(unchecked) var cachedUnfolded: Set<OperationKind>?
  @exclusivity(unchecked) private var lastPlacement: Placement?
  @exclusivity(unchecked) private var writer = ByteWriter()
  /// Changes with whatever is known of zones: their rows, places, parents and last sequences.
  @exclusivity(unchecked) private(set) var zonesVersion = 0
  /// The transaction whose commit left the caches right; nil if none did.
  @exclusivity(unchecked) private var cachedTransaction: UInt64?

  private struct SeenBase {
    var sequence: UInt64
    var base: (incarnation: IncarnationNumber, offset: UInt64)?
  }

  private struct Placement {
    var lane: Lane
    var incarnation: IncarnationNumber
    var sequences: ClosedRange<UInt64>
    var offset: UInt64
  }

  package init(tables: Tables) { self.tables = tables }

  // MARK: The transaction

  /// - Returns: whether nobody has written since the last commit, and that one left the caches right.
  @discardableResult
  package func begin(_ transaction: consuming Transaction) -> Bool {
    precondition(outer == nil, "a write transaction is open")
    // Each commit that changes anything takes the next id, whichever process makes it.
    let isUnchanged = cachedTransaction.map { $0 + 1 == transaction.id } ?? false
    outer = consume transaction
    if outerCaches?.changeCount != interned.changeCount { outerCaches = interned.caches }
    cachedTransaction = nil
    if !isUnchanged { forget() }
    return isUnchanged
  }

  package func beginNested() throws {
    precondition(inner == nil, "a nested transaction is open")
    if innerCaches?.changeCount != interned.changeCount { innerCaches = interned.caches }
    try flush()
    inner = outer!.beginNested()
  }

  package func commitNested() throws {
    try flush()
    try inner.take()?.commit()
  }

  /// Whether a nested transaction is open.
  package var isNested: Bool { inner != nil }

  /// Ends a nested transaction that has written nothing: what comes is written without one.
  package func dropUntouchedNested() throws {
    if inner?.isUntouched == true { try inner.take()?.commit() }
  }

  package func abortNested() {
    // A commit that failed has ended it already.
    inner.take()?.abort()
    undo(to: innerCaches)
  }

  /// - Parameter cachesAreRight: whether what is cached is what is committed, which must have changed something.
  package func commit(cachesAreRight: Bool = false) throws {
    try flush()
    let id = transaction.id
    try outer.take()!.commit()
    if cachesAreRight { cachedTransaction = id }
  }

  package func abort() {
    inner.take()?.abort()
    outer.take()?.abort()
    // Also after a commit that failed: the numbers that it gave out are not in the store.
    undo(to: outerCaches)
  }

  package var transaction: Transaction {
    _read { if inner != nil { yield inner! } else { yield outer! } }
  }

  private func forget() {
    zonesVersion += 1
    zoneRows.removeAll(keepingCapacity: true)
    stateRows.removeAll(keepingCapacity: true)
    changedZones.removeAll(keepingCapacity: true)
    changedStates.removeAll(keepingCapacity: true)
    lastSequences.removeAll(keepingCapacity: true)
    seen.removeAll(keepingCapacity: true)
    lineages.removeAll(keepingCapacity: true)
    cachedLastPosition = nil
    cachedPolicies = nil
    cachedUnfolded = nil
    lastPlacement = nil
  }

  private func undo(to caches: Interned.Caches?) {
    if let caches { interned.caches = caches }
    cachedTransaction = nil
    forget()
  }

  /// Lends the writer's buffer, empty: so that no row that is written allocates.
  private func withWriter<R>(_ body: (inout ByteWriter) throws -> R) rethrows -> R {
    var lent = ByteWriter()
    swap(&lent, &writer)
    defer { swap(&lent, &writer) }
    lent.removeAll()
    return try body(&lent)
  }

  func put(_ key: TableKey, in table: Table, _ append: (inout ByteWriter) -> Void) throws {
    try withWriter { writer in
      append(&writer)
      try transaction.put(writer.span, for: key.span, in: table)
    }
  }

  /// As ``put(_:in:_:)``, with the checksum that rows of sync state end with.
  func putChecked(_ key: TableKey, in table: Table, _ append: (inout ByteWriter) -> Void) throws {
    try put(key, in: table) { writer in
      append(&writer)
      writer.appendChecksum(under: key.span)
    }
  }

  /// Writes the zone and state rows that changed.
  package func flush() throws {
    if changedZones.isEmpty && changedStates.isEmpty { return }
    for zone in changedZones.sorted() {
      guard let row = zoneRows[zone] else { continue }
      try putChecked(.zoneRow(zone), in: tables.zones) { row.append(to: &$0) }
    }
    changedZones.removeAll(keepingCapacity: true)
    for state in changedStates.sorted() {
      guard let row = stateRows[state] else { continue }
      try put(.state(state), in: tables.states) { row.append(to: &$0) }
    }
    changedStates.removeAll(keepingCapacity: true)
  }

  // MARK: Rows of records

  /// Rows of records that were read, and of what belongs to them, since the storage was made: what a fold really took.
  var touchedRows = 0

  package func readRecord(_ key: RawSpan, into row: inout [UInt8]) throws -> Bool {
    touchedRows += 1
    return try transaction.copyValue(of: key, in: tables.records, to: &row)
  }

  package func writeRecord(_ row: RawSpan, _ key: RawSpan) throws {
    try transaction.put(row, for: key, in: tables.records)
  }

  package func makeRecordNumber(in state: StateNumber) throws -> UInt32 {
    var row = try stateRow(state)
    guard row.lastRecord < .max else {
      throw StoreError(
        .full, "a zone has given out all \(UInt32.max) record numbers", hint: "spread the records over zones")
    }
    row.lastRecord += 1
    setStateRow(row, state)
    return row.lastRecord
  }

  package func withElement<R>(_ key: ElementKey, _ body: (RawSpan) throws -> R) throws -> R? {
    touchedRows += 1
    return try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements, body)
  }

  package func writeElement(_ row: RawSpan, _ key: ElementKey) throws {
    try transaction.put(row, for: key.bytes.span.bytes, in: tables.elements)
  }

  package func deleteElement(_ key: ElementKey) throws {
    _ = try transaction.delete(key.bytes.span.bytes, in: tables.elements)
  }

  package func elements(under prefix: ElementKey) throws -> [(key: ElementKey, row: [UInt8])] {
    let found = try tables.elements(under: prefix, transaction)
    touchedRows += found.count
    return found
  }

  package func forEachElement(
    under prefix: ElementKey, from key: ElementKey, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    try tables.forEachElement(under: prefix, from: key, transaction) { key, row in
      touchedRows += 1
      return try body(key, row)
    }
  }

  package func elementKeys(in range: Range<ElementKey>) throws -> [ElementKey] {
    var keys: [ElementKey] = []
    var cursor = try transaction.openCursor(tables.elements)
    var isThere = try cursor.seek(atOrAfter: range.lowerBound.bytes.span.bytes)
    while isThere {
      let key = cursor.withEntry { key, _ in ElementKey(bytes: key.bytes) }
      guard key < range.upperBound else { break }
      keys.append(key)
      isThere = try cursor.next()
    }
    return keys
  }

  package func element(
    atMost key: ElementKey, under prefix: ElementKey
  ) throws -> (found: (key: ElementKey, row: [UInt8])?, next: ElementKey?) {
    var found: (key: ElementKey, row: [UInt8])?
    var cursor = try transaction.openCursor(tables.elements)
    if try cursor.seek(atMost: key.bytes.span.bytes) {
      found = cursor.withEntry { key, row in
        key.hasPrefix(prefix.bytes) ? (ElementKey(bytes: key.bytes), row.bytes) : nil
      }
    }
    let hasNext = try found == nil ? cursor.seek(atOrAfter: key.bytes.span.bytes) : cursor.next()
    let next =
      hasNext
      ? cursor.withEntry { key, _ in key.hasPrefix(prefix.bytes) ? ElementKey(bytes: key.bytes) : nil } : nil
    return (found, next)
  }

  package func firstElement(under prefix: ElementKey) throws -> (key: ElementKey, row: [UInt8])? {
    var cursor = try transaction.openCursor(tables.elements)
    guard try cursor.seek(atOrAfter: prefix.bytes.span.bytes) else { return nil }
    return cursor.withEntry { key, row in
      key.hasPrefix(prefix.bytes) ? (ElementKey(bytes: key.bytes), row.bytes) : nil
    }
  }

  // MARK: Causality

  package func placedThrough(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> UInt64? {
    // The base never goes back, and is behind the token while the zone is folded again.
    let row = try zoneRow(zone)
    let token = row.token.flatMap { $0.incarnation == incarnation ? $0.offset : nil }
    if let base = row.base, base.incarnation == incarnation { return max(base.offset, token ?? 0) }
    if let token, token > 0 { return token }
    return try tables.lastSegment(of: zone, incarnation, transaction) > 0 ? 0 : nil
  }

  package func placedRuns(
    at offsets: ClosedRange<UInt64>, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> [PlacedRun] {
    var runs: [PlacedRun] = []
    let end = TableKey.segment(zone, incarnation, offsets.upperBound)
    var cursor = try transaction.openCursor(tables.segments)
    var isThere = try cursor.seek(atOrAfter: TableKey.segment(zone, incarnation, offsets.lowerBound).span)
    while isThere {
      let (isWithin, run) = try cursor.withCheckedEntry { key, row -> (Bool, PlacedRun?) in
        guard compareBytes(key, end.span) <= 0 else { return (false, nil) }
        let segment = try SegmentRow(row)
        // What was rejected or given up has placed nothing.
        if segment.rejection != nil || segment.isQuarantined { return (true, nil) }
        guard segment.first <= segment.last else {
          throw FormatError(
            .damaged, at: 0, in: "segment row", expected: "sequences in order", found: "\(segment.first)")
        }
        let sequences = segment.first...segment.last
        return (true, PlacedRun(replica: segment.replica, epoch: segment.epoch, sequences: sequences))
      }
      guard isWithin else { break }
      if let run { runs.append(run) }
      isThere = try cursor.next()
    }
    return runs
  }

  package func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) throws -> UInt64? {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    if let last = lastPlacement, last.lane == lane, last.incarnation == incarnation,
      last.sequences.contains(sequence)
    {
      return last.offset
    }
    guard let found = try tables.placement(of: replica, epoch, sequence, in: zone, incarnation, transaction)
    else { return nil }
    lastPlacement = Placement(
      lane: lane, incarnation: incarnation, sequences: found.first...found.last, offset: found.offset)
    return found.offset
  }

  package func noteRetiming(in state: StateNumber) throws {
    var row = try stateRow(state)
    row.retimings &+= 1
    setStateRow(row, state)
  }

  package func replicaID(_ number: ReplicaNumber) throws -> ReplicaID {
    try interned.replicas.identity(of: number, in: tables.replicas, transaction)
  }

  package func replicaNumber(of replica: ReplicaID) throws -> ReplicaNumber? {
    try interned.replicas.number(of: replica, in: tables.replicas, transaction)
  }

  package func makeReplicaNumber(for replica: ReplicaID) throws -> ReplicaNumber {
    try interned.replicas.makeNumber(for: replica, in: tables.replicas, transaction)
  }

  func incarnationID(_ number: IncarnationNumber) throws -> IncarnationID {
    try interned.incarnations.identity(of: number, in: tables.incarnations, transaction)
  }

  func incarnationNumber(of incarnation: IncarnationID) throws -> IncarnationNumber? {
    try interned.incarnations.number(of: incarnation, in: tables.incarnations, transaction)
  }

  func makeIncarnationNumber(for incarnation: IncarnationID) throws -> IncarnationNumber {
    try interned.incarnations.makeNumber(for: incarnation, in: tables.incarnations, transaction)
  }

  func zoneID(_ number: ZoneNumber) throws -> ZoneID {
    try interned.zones.identity(of: number, in: tables.zones, transaction)
  }

  /// Whether a base is at or past every placement that a zone has.
  package func seesAllPlaced(
    _ base: (incarnation: IncarnationNumber, offset: UInt64), in zone: ZoneNumber
  ) throws -> Bool {
    var cursor = try transaction.openCursor(tables.segments)
    var end = TableKey()
    end.append(zone.rawValue + 1)
    guard try cursor.seek(before: end.span) else { return true }
    let last = try cursor.withEntry { key, _ in
      (try key.bigEndian32(at: 0), try key.bigEndian32(at: 4), try key.bigEndian64(at: 8))
    }
    guard last.0 == zone.rawValue else { return true }
    guard last.1 == base.incarnation.rawValue, last.2 <= base.offset else { return false }
    guard try cursor.seek(atOrAfter: TableKey.state(StateNumber(rawValue: zone.rawValue)).span) else {
      return true
    }
    return try cursor.withEntry { key, _ in try key.bigEndian32(at: 4) } == base.incarnation.rawValue
  }

  /// The identities that a replica's epoch continues in a zone, each with the last sequence it held.
  package func lineage(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32, through: UInt64)] {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    if let known = lineages[lane] { return known }
    let found = try tables.lineage(of: replica, epoch, in: zone, transaction)
    lineages[lane] = found
    return found
  }

  package func setParent(
    _ parent: (replica: ReplicaNumber, epoch: UInt32, sequence: UInt64), of replica: ReplicaNumber,
    _ epoch: UInt32, in zone: ZoneNumber
  ) throws {
    try putChecked(.lineage(zone, replica, epoch), in: tables.replicas) { writer in
      writer.append(varint: UInt64(parent.replica.rawValue))
      writer.append(varint: UInt64(parent.epoch))
      writer.append(varint: parent.sequence)
    }
    forgetLineages()
  }

  /// Forgets what is cached of what lanes continue.
  func forgetLineages() {
    lineages.removeAll(keepingCapacity: true)
    zonesVersion += 1
  }

  // MARK: Sync state

  package func zoneRow(_ zone: ZoneNumber) throws -> ZoneRow {
    if let row = try zoneRowIfThere(zone) { return row }
    throw StoreError(
      .damaged, "zone number \(zone.rawValue) has no row", hint: "run a verification of the store")
  }

  /// A zone's row, nil if it has none.
  package func zoneRowIfThere(_ zone: ZoneNumber) throws -> ZoneRow? {
    if let row = zoneRows[zone] { return row }
    guard let row = try tables.zoneRow(zone, transaction) else { return nil }
    zoneRows[zone] = row
    return row
  }

  package func setZoneRow(_ row: ZoneRow, _ zone: ZoneNumber) {
    zoneRows[zone] = row
    changedZones.insert(zone)
    zonesVersion += 1
  }

  package func stateRow(_ state: StateNumber) throws -> StateRow {
    if let row = stateRows[state] { return row }
    let found = try transaction.withValue(of: TableKey.state(state).span, in: tables.states) { row in
      try StateRow(row)
    }
    guard let found else {
      throw StoreError(
        .damaged, "state number \(state.rawValue) has no row", hint: "run a verification of the store")
    }
    stateRows[state] = found
    return found
  }

  package func setStateRow(_ row: StateRow, _ state: StateNumber) {
    stateRows[state] = row
    changedStates.insert(state)
  }

  /// Writes what is cached, and forgets a zone's row, which was taken away.
  func removeZoneRow(_ zone: ZoneNumber) throws {
    try flush()
    zoneRows[zone] = nil
    zonesVersion += 1
    let key = TableKey.zoneRow(zone)
    _ = try transaction.delete(key.span, in: tables.zones)
  }

  func removeState(_ state: StateNumber) throws {
    stateRows[state] = nil
    changedStates.remove(state)
    let key = TableKey.state(state)
    _ = try transaction.delete(key.span, in: tables.states)
  }

  /// Gives out a new state number for a zone.
  package func makeState(for zone: ZoneNumber, _ status: StateRow.Status) throws -> StateNumber {
    try flush()
    var last: UInt32 = 0
    do {
      var cursor = try transaction.openCursor(tables.states)
      if try cursor.last() { last = try cursor.withEntry { key, _ in try key.bigEndian32(at: 0) } }
    }
    let state = StateNumber(rawValue: last + 1)
    setStateRow(StateRow(zone: zone, status: status), state)
    try flush()
    return state
  }

  package func policies() throws -> [NameNumber: ExistencePolicy] {
    if let cachedPolicies { return cachedPolicies }
    let policies = try tables.policies(transaction)
    cachedPolicies = policies
    return policies
  }

  func forgetPolicies() { cachedPolicies = nil }

  // MARK: The log

  package func lastPosition() throws -> Position {
    if let cachedLastPosition { return cachedLastPosition }
    let last = try tables.lastPosition(transaction)
    cachedLastPosition = last
    return last
  }

  /// The last sequence that the store has of a replica's epoch in a zone; 0 if none.
  package func lastSequence(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) throws -> UInt64 {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    if let last = lastSequences[lane] { return last }
    let last = try tables.lastSequence(of: replica, epoch, in: zone, transaction)
    lastSequences[lane] = last
    return last
  }

  /// Appends an entry to the log and names it in `sequences`.
  package func append(_ header: LogEntryHeader, body: RawSpan) throws -> Position {
    let position = try lastPosition().next
    try withWriter { writer in
      LogEntryCodec.append(header, body: body, at: position, to: &writer)
      let key = TableKey.log(position)
      try transaction.put(writer.span, for: key.span, in: tables.log, .append)
    }
    try nameSequence(header, position)
    cachedLastPosition = position
    let lane = Lane(zone: header.zone, replica: header.replica, epoch: header.epoch)
    lastSequences[lane] = header.sequence
    seen[lane] = SeenBase(sequence: header.sequence, base: header.base)
    zonesVersion += 1
    return position
  }

  /// The base of a transaction that the store has, nil if it has none. Of a lane, that of one transaction is cached.
  func base(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber
  ) throws -> (incarnation: IncarnationNumber, offset: UInt64)? {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    if let known = seen[lane], known.sequence == sequence { return known.base }
    guard let position = try tables.position(of: replica, epoch, sequence, in: zone, transaction) else {
      throw StoreError(
        .damaged, "sequence \(sequence) of a lane of zone number \(zone.rawValue) is missing from the store",
        hint: StoreError.damageHint)
    }
    let reader = LogReader(tables, interned)
    let base = try reader.withEntry(at: position, transaction) { header, _ in header.base }
    seen[lane] = SeenBase(sequence: sequence, base: base)
    return base
  }

  /// Writes where in the log a sequence is.
  func nameSequence(_ header: LogEntryHeader, _ position: Position) throws {
    try putChecked(
      .sequence(header.zone, header.replica, header.epoch, header.sequence), in: tables.sequences
    ) { $0.append(varint: position.rawValue) }
  }

  /// Forgets what is cached of places, which are about to change.
  func forgetPlacements() {
    lastPlacement = nil
    zonesVersion += 1
  }

  /// Forgets what is cached of last sequences: some are about to be taken away.
  func forgetSequences() {
    lastSequences.removeAll(keepingCapacity: true)
    seen.removeAll(keepingCapacity: true)
    cachedLastPosition = nil
    zonesVersion += 1
  }

  /// Writes the row of a segment that lies at an offset of an incarnation, and gives nothing a place there.
  func write(
    _ segment: SegmentRow, in zone: ZoneNumber, _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    try putChecked(.segment(zone, incarnation, offset), in: tables.segments) { segment.append(to: &$0) }
    forgetPlacements()
  }

  /// Records that a segment lies at an offset of an incarnation. Of its sequences, those have their place there that
  /// have none yet, or a later one: an acknowledgement may come before what lies in front of it was fetched.
  package func place(
    _ segment: SegmentRow, in zone: ZoneNumber, _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    func put(_ sequences: ClosedRange<UInt64>, at offset: UInt64) throws {
      let key = TableKey.placement(
        zone, incarnation, segment.replica, segment.epoch, last: sequences.upperBound)
      try self.putChecked(key, in: tables.placements) { writer in
        writer.append(varint: sequences.lowerBound)
        writer.append(varint: offset)
      }
    }
    try write(segment, in: zone, incarnation, at: offset)
    if segment.isQuarantined { return }
    var next = segment.first
    while next <= segment.last {
      let known = try tables.placement(
        of: segment.replica, segment.epoch, next, in: zone, incarnation, transaction)
      guard let known else { return try put(next...segment.last, at: offset) }
      if known.offset > offset {
        if known.first < next { try put(known.first...next - 1, at: known.offset) }
        if known.last > segment.last { try put(segment.last + 1...known.last, at: known.offset) }
        try put(next...min(known.last, segment.last), at: offset)
      }
      next = known.last + 1
    }
  }
}
