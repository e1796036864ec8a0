import OperationFormat

/// Keeps the index of references: which records a record refers to, by the values that it shows.
///
/// The index says who holds whom; whether a holder is hidden is found when it is read, since an ``ExistencePolicy`` may
/// change that without any operation.
extension Fold {
  /// The references in the value that a register of the record's row shows.
  ///
  /// - Parameters:
  ///   - added: the head that was added last, if any.
  ///   - payload: its payload, which need not be read again.
  func shownReferences(
    in cell: CellNumber, _ added: Head?, _ payload: RawSpan
  ) throws -> [Reference] {
    guard let winner = try RecordLayout.winner(of: cell, in: row.span.bytes) else { return [] }
    guard winner.apart != nil else {
      return try Value.references(in: row.span.bytes.extracting(winner.payload))
    }
    let place = try RecordLayout.place(of: cell, in: row.span.bytes)
    return try shownReferences(in: CellPath(cell), row.span.bytes, place.body, added, payload)
  }

  /// The references in the value that a cell with heads in a part of a row shows.
  func shownReferences(
    in path: CellPath, _ row: RawSpan, _ body: Range<Int>, _ added: Head?, _ payload: RawSpan
  ) throws -> [Reference] {
    let heads = try RecordLayout.heads(of: body, in: row)
    guard heads.total > 0 else { return [] }
    guard heads[0].isApart else { return try Value.references(in: row.extracting(heads[0].payload)) }
    if heads[0].head == added { return try Value.references(in: payload) }
    let payload = try wholePayload(of: heads[0], in: path, row)
    return try Value.references(in: payload.span.bytes)
  }

  /// The references that an element of a set is or has, or the value at a key of a map.
  ///
  /// - Parameters:
  ///   - row: the element's.
  ///   - start: where its heads begin.
  func shownReferences(
    in path: CellPath, ofElement row: RawSpan, from start: Int, _ added: Head?, _ payload: RawSpan
  ) throws -> [Reference] {
    guard path.cell.kind?.with({ $0.identityIsValue }) ?? false else {
      return try shownReferences(in: path, row, start..<row.byteCount, added, payload)
    }
    return try Value.references(in: row.extracting(ElementRow.identity(of: row)))
  }

  /// Writes into the index what a place of the record at hand refers to from here on.
  mutating func note(_ references: [Reference], at path: @autoclosure () -> CellPath) throws {
    let flags = RecordLayout.flags(of: row.span.bytes).intersection(.ofReferences)
    if references.isEmpty && flags.isEmpty { return }
    let path = path()
    let number = try recordNumber
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
        recordName.span.bytes,
        .holder(of: entry.target.span.bytes, entry.rule, in: state, record: number, path))
    }
    if !before.isEmpty, now.isEmpty || now.cascades != before.cascades {
      try storage.deleteReference(key(before.cascades))
    }
    if !now.isEmpty { try storage.writeReference(now.row.span.bytes, key(now.cascades)) }
    try count(before, now, number)
  }

  /// Counts a place, and tells by the row's flags what is left to look for.
  private mutating func count(
    _ before: PlacedReferences, _ now: PlacedReferences, _ number: UInt32
  ) throws {
    guard before.isEmpty != now.isEmpty || before.cascades != now.cascades else { return }
    let key = ReferenceKey.counts(of: state, record: number)
    var counts =
      try storage.readReference(key).map { try ReferenceCounts($0.span.bytes) } ?? ReferenceCounts()
    counts.places = counts.places &+ (now.isEmpty ? 0 : 1) &- (before.isEmpty ? 0 : 1)
    counts.cascades = counts.cascades &+ (now.cascades ? 1 : 0) &- (before.cascades ? 1 : 0)
    var flags = RecordLayout.flags(of: row.span.bytes).subtracting(.ofReferences)
    if counts.places > 0 { flags.insert(.refers) }
    if counts.cascades > 0 { flags.insert(.cascades) }
    if counts.places == 0 && counts.cascades == 0 {
      try storage.deleteReference(key)
    } else {
      var writer = ByteWriter()
      counts.append(to: &writer)
      try storage.writeReference(writer.span, key)
    }
    guard flags != RecordLayout.flags(of: row.span.bytes) else { return }
    row[RowFlags.offset] = flags.rawValue
    existence = .unknown
    isChanged = true
  }
}
