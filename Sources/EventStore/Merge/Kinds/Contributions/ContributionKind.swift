import OperationFormat

/// Payloads in an order, which the app's own reducer makes one value of. Each is a head, with what its
/// transaction had seen; nothing but a `create` removes it.
enum ContributionKind: FieldCellKind {
  enum Operation: UInt64, CaseIterable {
    case contribute = 15
  }

  static var layout: CellLayout { .heads }
  static var showsGreatest: Bool { false }
  static var sumsHeads: Bool { false }
  static var identityIsValue: Bool { false }

  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool { false }

  // MARK: Folding

  /// - Parameter operand: the encoded payload.
  static func apply<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, to field: NameNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    var payload = ByteWriter()
    ContributionPayload.append(base: fold.context.base, to: &payload)
    payload.append(operand)
    try fold.replace(
      CellNumber(field, .contributions), removing: .nothing, adding: fold.step.head(at: index),
      payload: payload.span)
  }

  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws {
    try fold.clearHeads(of: cell, seenAt: index)
  }

  /// All payloads, in their order. Who has seen the log up to the last place of one has seen them all, whatever floors come
  /// later: so their order to others stays.
  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>
  ) throws {
    guard let floor = fold.context.floor else { return }
    let sight = FoldSight(fold.storage, fold.context.zone)
    try fold.compactHeads(of: CellPath(cell), keeps: keeps) { heads in
      var values: [HeadID: [UInt8]] = [:]
      var keys: [ContributionKey] = []
      var last: UInt64 = 0
      for owned in heads {
        let payload = owned.payload.span.bytes
        let key = try ContributionKey(owned.head, payload: payload)
        keys.append(key)
        last = max(last, try sight.place(of: key, in: floor.incarnation))
        values[owned.head.id] = payload.extracting(try ContributionPayload(payload).value).bytes
      }
      _ = try ContributionOrder(sight).sort(&keys)
      return keys.map { key in
        var payload = ByteWriter()
        ContributionPayload.append(base: (floor.incarnation, last), to: &payload)
        payload.append(values[key.head.id, default: []])
        return OwnedHead(head: key.head, payload: payload.bytes)
      }
    }
    // What was reduced is of other heads.
    try fold.storage.noteRetiming(in: fold.state)
  }

  /// Reads no other contribution, unless this one leaves the record's row.
  static func retime<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, of field: NameNumber, by id: HeadID,
    to timestamp: Timestamp, in fold: inout Fold<Storage>
  ) throws -> Bool {
    let cell = CellNumber(field, .contributions)
    guard let owned = try contribution(id, of: cell, in: &fold), owned.head.timestamp != timestamp else {
      return false
    }
    try fold.replace(
      cell, removing: .head(id), adding: Head(timestamp: timestamp, id: id),
      payload: owned.payload.span.bytes)
    try fold.storage.noteRetiming(in: fold.state)
    return true
  }

  /// A contribution with its whole payload; nil if it is gone.
  private static func contribution<Storage>(
    _ id: HeadID, of cell: CellNumber, in fold: inout Fold<Storage>
  ) throws -> OwnedHead? {
    let place = try fold.loaded.place(of: cell)
    let heads = try RecordRow.heads(of: place.body, in: fold.loaded.bytes.span.bytes)
    for index in 0..<heads.count where heads[index].head.id == id && !heads[index].isApart {
      return OwnedHead(head: heads[index].head, payload: Array(fold.loaded.bytes[heads[index].payload]))
    }
    guard heads.total > 0 else { return nil }
    let key = ElementKey(state: fold.state, record: try fold.recordNumber, CellPath(cell), head: id)
    return try fold.storage.withElement(key) { try OwnedHead(apart: $0) }
  }

  // MARK: Reading

  static func value<Rows>(of cell: CellReader<Rows>) throws -> Value? {
    .array(try ContributionCell(cell).contributions().map(\.payload))
  }

  static func count<Rows>(of cell: CellReader<Rows>) throws -> Int { try cell.inlineHeads().total }

  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead] {
    try cell.heads().map {
      try cell.head($0, .contribution(try ContributionPayload.value(in: $0.payload.span.bytes)))
    }
  }

  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict] { [] }

  /// In their order, which the copy has too: each has seen those before it.
  static func changes<Rows>(showing cell: CellReader<Rows>) throws -> [FieldChange] {
    try ContributionCell(cell).contributions().map { .contribute($0.payload) }
  }

  /// What a contribution had seen is said in this store's numbers, and known by who made it: it is not in the
  /// digest.
  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws {
    let heads = try cell.heads()
    digest.writer.append(count: heads.count)
    for owned in heads {
      try digest.append(owned.head, cell.rows)
      let payload = owned.payload.span.bytes
      digest.append(payload: payload.extracting(try ContributionPayload(payload).value))
    }
  }

  // MARK: Explaining

  static var explainedHeads: ExplainedHeads { .ofContributions }

  /// What is contributed replaces nothing.
  static func effect(of change: FieldChange) -> CellEffect? {
    guard case .contribute(let value) = change else { return nil }
    return CellEffect(content: .contribution(value), replaces: false)
  }

  static func change(restoring content: CellHead.Content) -> FieldChange? { nil }
}
