import OperationFormat

/// Keeps the index of references: which records a record refers to, by the values that it shows.
///
/// The index says who holds whom; whether a holder is hidden is found when it is read, since an
/// ``ExistencePolicy`` may change that without any operation.
struct ReferenceIndex<Storage: FoldStorage> {
  let storage: Storage
  let bound: FoldBound

  /// The references in the value that a register shows.
  ///
  /// - Parameters:
  ///   - added: the head that was added last, if any.
  ///   - payload: its payload, which need not be read again.
  func shown(
    in cell: CellNumber, of record: borrowing LoadedRow<Storage>, _ added: Head?, _ payload: RawSpan
  ) throws -> [Reference] {
    let row = record.bytes.span.bytes
    guard let winner = try RecordRow.winner(of: cell, in: row) else { return [] }
    guard winner.apart != nil else { return try Value.references(in: row.extracting(winner.payload)) }
    let place = try RecordRow.place(of: cell, in: row)
    return try shown(in: record.address(of: CellPath(cell)), row, place.body, added, payload)
  }

  /// The references in the value that a cell shows whose heads are in a part of a row.
  func shown(
    in cell: CellAddress, _ row: RawSpan, _ body: Range<Int>, _ added: Head?, _ payload: RawSpan
  ) throws -> [Reference] {
    let heads = try RecordRow.heads(of: body, in: row)
    guard heads.total > 0 else { return [] }
    guard heads[0].isApart else { return try Value.references(in: row.extracting(heads[0].payload)) }
    if heads[0].head == added { return try Value.references(in: payload) }
    let payload = try storage.wholePayload(
      of: heads[0], in: cell.path, row, record: cell.record, cell.state)
    return try Value.references(in: payload.span.bytes)
  }

  /// The references that an element of a set is or has, or the value at a key of a map.
  ///
  /// - Parameters:
  ///   - row: the element's.
  ///   - start: where its heads begin.
  func shown(
    in cell: CellAddress, ofElement row: RawSpan, from start: Int, _ added: Head?, _ payload: RawSpan
  ) throws -> [Reference] {
    guard cell.path.cell.kind?.with({ $0.identityIsValue }) ?? false else {
      return try shown(in: cell, row, start..<row.byteCount, added, payload)
    }
    return try Value.references(in: row.extracting(ElementRow.identity(of: row)))
  }

  /// Writes into the index what a place of the loaded record refers to from now on.
  ///
  /// - Parameter flags: what the row says of references.
  func note(
    _ references: [Reference], at path: CellPath, in record: inout LoadedRow<Storage>, _ flags: RowFlags
  ) throws {
    let (state, number) = (record.state, try record.recordNumber)
    let now = try PlacedReferences(references)
    func key(_ cascades: Bool) -> ReferenceKey {
      .place(of: state, record: number, path, cascades: cascades)
    }
    var before = PlacedReferences()
    for cascades in [false, true] where before.isEmpty && flags.contains(cascades ? .cascades : .refers) {
      if let row = try storage.readReference(key(cascades)) { before = try PlacedReferences(row.span.bytes) }
    }
    if now == before { return }
    let (kept, known) = (Set(now.entries), Set(before.entries))
    for entry in before.entries where !kept.contains(entry) {
      try bound.count(removed: 1)
      try storage.deleteReference(
        .holder(of: entry.target.span.bytes, entry.rule, in: state, record: number, path))
    }
    for entry in now.entries where !known.contains(entry) {
      try storage.writeReference(
        record.recordName.span.bytes,
        .holder(of: entry.target.span.bytes, entry.rule, in: state, record: number, path))
    }
    if !before.isEmpty, now.isEmpty || now.cascades != before.cascades {
      try storage.deleteReference(key(before.cascades))
    }
    if !now.isEmpty { try storage.writeReference(now.row.span.bytes, key(now.cascades)) }
    try count(before, now, in: &record)
  }

  /// Counts a place, and tells by the row's flags what is left to look for.
  private func count(
    _ before: PlacedReferences, _ now: PlacedReferences, in record: inout LoadedRow<Storage>
  ) throws {
    guard before.isEmpty != now.isEmpty || before.cascades != now.cascades else { return }
    let key = ReferenceKey.counts(of: record.state, record: try record.recordNumber)
    var counts =
      try storage.readReference(key).map { try ReferenceCounts($0.span.bytes) } ?? ReferenceCounts()
    counts.places = counts.places &+ (now.isEmpty ? 0 : 1) &- (before.isEmpty ? 0 : 1)
    counts.cascades = counts.cascades &+ (now.cascades ? 1 : 0) &- (before.cascades ? 1 : 0)
    if counts.places == 0 && counts.cascades == 0 {
      try storage.deleteReference(key)
    } else {
      var writer = ByteWriter()
      counts.append(to: &writer)
      try storage.writeReference(writer.span, key)
    }
    record.setFlag(.refers, counts.places > 0)
    record.setFlag(.cascades, counts.cascades > 0)
  }
}
