import LMDB
import OperationFormat

extension TableStorage: FoldStorage {
  // MARK: Rows of records

  func withRecord<R>(_ key: RawSpan, _ body: (StoredRow) throws -> R) throws -> R? {
    state.touchedRows += 1
    return try transaction.withValue(of: key, in: tables.records) { try body(StoredRow($0)) }
  }

  func writeRecord(_ row: RawSpan, _ key: RawSpan) throws {
    try transaction.put(row, for: key, in: tables.records)
  }

  /// LMDB need not search, and fills its pages. Another state may have come after this one.
  func appendRecord(_ row: RawSpan, _ key: RawSpan) throws {
    if tables.records.keepsVersions { return try writeRecord(row, key) }
    do throws(LMDBError) {
      try transaction.put(row, for: key, in: tables.records, .append)
    } catch {
      guard error.code == .keyExists else { throw error }
      try writeRecord(row, key)
    }
  }

  func deleteRecord(_ key: RawSpan) throws {
    _ = try transaction.delete(key, in: tables.records)
  }

  func makeRecordNumber(in state: StateNumber) throws -> UInt32 {
    var row = try stateRow(state)
    guard row.lastRecord < .max else {
      throw StoreError(
        .full, "a zone has given out all \(UInt32.max) record numbers", hint: "spread the records over zones")
    }
    row.lastRecord += 1
    setStateRow(row, state)
    return row.lastRecord
  }

  func withElement<R>(_ key: ElementKey, _ body: (RawSpan) throws -> R) throws -> R? {
    state.touchedRows += 1
    return try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements, body)
  }

  func writeElement(_ row: RawSpan, _ key: ElementKey) throws {
    try transaction.put(row, for: key.bytes.span.bytes, in: tables.elements)
  }

  func deleteElement(_ key: ElementKey) throws {
    _ = try transaction.delete(key.bytes.span.bytes, in: tables.elements)
  }

  func elements(under prefix: ElementKey) throws -> [(key: ElementKey, row: [UInt8])] {
    let found = try rows.elements(under: prefix)
    state.touchedRows += found.count
    return found
  }

  func forEachElement(
    under prefix: ElementKey, from key: ElementKey, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    try rows.forEachElement(under: prefix, from: key) { key, row in
      state.touchedRows += 1
      return try body(key, row)
    }
  }

  func elementKeys(in range: Range<ElementKey>) throws -> [ElementKey] {
    var keys: [ElementKey] = []
    let (lower, upper) = (range.lowerBound.bytes, range.upperBound.bytes)
    var cursor = try transaction.openCursor(
      tables.elements, within: zip(lower, upper).prefix { $0 == $1 }.map(\.0))
    var isThere = try cursor.seek(atOrAfter: range.lowerBound.bytes.span.bytes)
    while isThere {
      let key = cursor.withEntry { key, _ in ElementKey(bytes: key.bytes) }
      guard key < range.upperBound else { break }
      keys.append(key)
      isThere = try cursor.next()
    }
    state.touchedRows += keys.count
    return keys
  }

  func element(
    atMost key: ElementKey, under prefix: ElementKey
  ) throws -> (found: (key: ElementKey, row: [UInt8])?, next: ElementKey?) {
    var found: (key: ElementKey, row: [UInt8])?
    var cursor = try transaction.openCursor(tables.elements, within: prefix.bytes)
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

  func firstElement(under prefix: ElementKey) throws -> (key: ElementKey, row: [UInt8])? {
    var cursor = try transaction.openCursor(tables.elements, within: prefix.bytes)
    guard try cursor.seek(atOrAfter: prefix.bytes.span.bytes) else { return nil }
    return cursor.withEntry { key, row in
      key.hasPrefix(prefix.bytes) ? (ElementKey(bytes: key.bytes), row.bytes) : nil
    }
  }

  // MARK: Rows of units

  func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    state.touchedRows += 1
    return try transaction.withValue(of: key, in: tables.runs, body)
  }

  func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    state.touchedRows += 1
    return try rows.withLastRun(atMost: key, prefixBytes: prefixBytes, body)
  }

  func writeRun(_ row: RawSpan, _ key: RawSpan) throws {
    try transaction.put(row, for: key, in: tables.runs)
  }

  func deleteRun(_ key: RawSpan) throws {
    _ = try transaction.delete(key, in: tables.runs)
  }

  // MARK: The index of references

  func readReference(_ key: ReferenceKey) throws -> [UInt8]? {
    try transaction.withValue(of: key.bytes.span.bytes, in: tables.references) { $0.bytes }
  }

  func writeReference(_ row: RawSpan, _ key: ReferenceKey) throws {
    try transaction.put(row, for: key.bytes.span.bytes, in: tables.references)
  }

  func deleteReference(_ key: ReferenceKey) throws {
    _ = try transaction.delete(key.bytes.span.bytes, in: tables.references)
  }

  // MARK: What a transaction had seen

  func placedThrough(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> UInt64? {
    // The base never goes back. While the zone is folded again, it is behind the token.
    let row = try zoneRow(zone)
    let token = row.token.flatMap { $0.incarnation == incarnation ? $0.offset : nil }
    if let base = row.base, base.incarnation == incarnation { return max(base.offset, token ?? 0) }
    if let token, token > 0 { return token }
    return try segments.lastOffset(of: zone, incarnation) > 0 ? 0 : nil
  }

  func placedRuns(
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
        // A rejected or quarantined entry has no placements.
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

  func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) throws -> UInt64? {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    if let last = state.lastPlacement, last.lane == lane, last.incarnation == incarnation,
      last.sequences.contains(sequence)
    {
      return last.offset
    }
    guard let found = try placements.placement(of: replica, epoch, sequence, in: zone, incarnation)
    else { return nil }
    state.lastPlacement = CachedPlacement(
      lane: lane, incarnation: incarnation, sequences: found.first...found.last, offset: found.offset)
    return found.offset
  }

  var notesChanges: Bool { changeNotes != nil }

  func noteChange(_ key: RawSpan, field: NameNumber?) { changeNotes?.note(key, field: field) }

  func noteRetiming(in state: StateNumber) throws {
    var row = try stateRow(state)
    row.retimings &+= 1
    setStateRow(row, state)
  }

  func replicaNumber(of replica: ReplicaID) throws -> ReplicaNumber? {
    try replicas.number(of: replica)
  }
}
