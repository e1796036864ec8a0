import OperationFormat

/// The contributions to one field of a record: the greatest are in the record's row, the others in rows of
/// their own. It lasts as long as the rows.
struct ContributionCell<Rows: CellReading> {
  let rows: Rows
  let state: StateNumber
  let record: UInt32
  let cell: CellNumber
  /// How many contributions there are.
  let total: Int
  let sight: Rows.Sight
  /// Those whose payload is in the record's row.
  private let inline: [OwnedHead]

  init(_ cell: CellReader<Rows>) throws {
    let heads = try cell.inlineHeads()
    var inline: [OwnedHead] = []
    for index in 0..<heads.count where !heads[index].isApart {
      let payload = cell.row.extracting(heads[index].payload).bytes
      inline.append(OwnedHead(head: heads[index].head, payload: payload))
    }
    rows = cell.rows
    state = cell.state
    record = try cell.record
    self.cell = cell.cell
    total = heads.total
    sight = try cell.rows.sight(in: cell.state)
    self.inline = inline
  }

  var order: ContributionOrder<Rows.Sight> { ContributionOrder(sight) }

  /// What the keys of those begin with that have rows of their own.
  private var prefix: ElementKey { .heads(of: state, record: record, CellPath(cell)) }

  // MARK: Keys

  /// All contributions, in no order.
  ///
  /// - Complexity: linear in the contributions.
  func keys() throws -> [ContributionKey] {
    var keys: [ContributionKey] = []
    for owned in inline { keys.append(try ContributionKey(owned.head, payload: owned.payload.span.bytes)) }
    let prefix = prefix
    try rows.forEachElement(under: prefix) { key, row in
      keys.append(try Self.key(key, row, under: prefix))
    }
    guard keys.count == total else { throw FormatError.missingElement }
    return keys
  }

  /// The contributions of each lane behind a place in it, in no order.
  ///
  /// - Parameter known: the last place that is known of each lane.
  /// - Complexity: O((l + n) log m) for l lanes and n contributions that are new, of m in the table.
  func keys(after known: [ContributionLane: LanePlace]) throws -> [ContributionKey] {
    var keys: [ContributionKey] = []
    func isNew(_ id: HeadID) -> Bool {
      // What was known before a compaction does not count.
      if id.isCompacted { return false }
      return known[ContributionLane(replica: id.replica, epoch: id.epoch)].map { $0 < LanePlace(id) } ?? true
    }
    for owned in inline where isNew(owned.head.id) {
      keys.append(try ContributionKey(owned.head, payload: owned.payload.span.bytes))
    }
    let prefix = prefix
    var next: ElementKey? = prefix
    while let from = next {
      next = nil
      try rows.forEachElement(under: prefix, from: from) { key, row in
        let id = try Self.id(key, under: prefix)
        if isNew(id) {
          keys.append(try Self.key(key, row, under: prefix))
          return true
        }
        // Over the rest of what is known of the lane.
        let last = known[ContributionLane(replica: id.replica, epoch: id.epoch)] ?? LanePlace(id)
        let lastKey = ElementKey(
          state: state, record: record, CellPath(cell),
          head: HeadID(replica: id.replica, epoch: id.epoch, sequence: last.sequence, index: last.index))
        next = ElementKey(bytes: lastKey.bytes + [0])
        return false
      }
    }
    return keys
  }

  /// The head that a row's key names.
  private static func id(_ key: RawSpan, under prefix: ElementKey) throws -> HeadID {
    let start = prefix.bytes.count
    guard key.byteCount == start + 20 else {
      throw FormatError(
        .damaged, at: start, in: "element key", expected: "20 bytes", found: "\(key.byteCount - start)")
    }
    return HeadID(
      replica: ReplicaNumber(rawValue: try key.bigEndian32(at: start)),
      epoch: try key.bigEndian32(at: start + 4), sequence: try key.bigEndian64(at: start + 8),
      index: try key.bigEndian32(at: start + 16))
  }

  /// The contribution in a row.
  private static func key(
    _ key: RawSpan, _ row: RawSpan, under prefix: ElementKey
  ) throws -> ContributionKey {
    let id = try id(key, under: prefix)
    var reader = ByteReader(row)
    let head = try reader.readHead()
    guard head.id == id else {
      throw FormatError(
        .damaged, at: 0, in: "element", expected: "the head that its key names", found: "another")
    }
    return try ContributionKey(head, payload: row.extracting(try OwnedHead.payload(inApart: row)))
  }

  // MARK: Payloads

  /// A contribution with its payload.
  ///
  /// - Complexity: O(log n) in the contributions.
  func contribution(_ key: ContributionKey) throws -> Contribution {
    let id = key.head.id
    let transaction = TransactionID(
      replica: try rows.replicaID(id.replica), epoch: id.epoch, sequence: id.sequence)
    return Contribution(
      operation: OperationID(transaction: transaction, index: id.index), timestamp: key.head.timestamp,
      payload: try rows.seen(payload(of: id), in: state))
  }

  private func payload(of id: HeadID) throws -> Value {
    if let owned = inline.first(where: { $0.head.id == id }) {
      return try ContributionPayload.value(in: owned.payload.span.bytes)
    }
    let key = ElementKey(state: state, record: record, CellPath(cell), head: id)
    let value = try rows.withElement(key) {
      try ContributionPayload.value(in: $0.extracting(try OwnedHead.payload(inApart: $0)))
    }
    guard let value else { throw FormatError.missingElement }
    return value
  }

  /// All contributions in their order.
  ///
  /// - Complexity: O(n log n) in the contributions.
  func contributions() throws -> [Contribution] {
    var keys = try keys()
    _ = try order.sort(&keys)
    return try keys.map { try contribution($0) }
  }
}
