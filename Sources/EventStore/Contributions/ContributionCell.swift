import LMDB
public import OperationFormat

/// The contributions to one field of a record, as a snapshot has them: the greatest lie in the record's row, the others in
/// rows of their own. It lasts as long as the snapshot's transaction.
struct ContributionCell {
  let readView: ReadView
  let zone: ZoneNumber
  let state: StateNumber
  /// How often a contribution of the state got another timestamp.
  let retimings: UInt64
  let record: UInt32
  let cell: CellNumber
  /// How many contributions there are.
  let total: Int
  let sight: ReadViewSight
  /// Those whose payload lies in the record's row.
  private let inline: [OwnedHead]

  init(_ cell: CellNumber, in row: RawSpan, _ state: StateNumber, _ readView: ReadView) throws {
    let stateRow = try readView.transaction.withValue(
      of: TableKey.state(state).span, in: readView.tables.states
    ) { try StateRow($0) }
    guard let stateRow else {
      throw StoreError(
        .damaged, "state number \(state.rawValue) has no row", hint: "run a verification of the store")
    }
    let place = try RecordLayout.place(of: cell, in: row)
    let heads = try RecordLayout.heads(of: place.body, in: row)
    var inline: [OwnedHead] = []
    for index in 0..<heads.count where !heads[index].isApart {
      inline.append(OwnedHead(head: heads[index].head, payload: row.extracting(heads[index].payload).bytes))
    }
    self.readView = readView
    zone = stateRow.zone
    self.state = state
    retimings = stateRow.retimings
    record = try RecordLayout.recordNumber(of: row)
    self.cell = cell
    total = heads.total
    sight = ReadViewSight(readView, zone: stateRow.zone)
    self.inline = inline
  }

  var order: ContributionOrder<ReadViewSight> { ContributionOrder(sight) }

  // MARK: Keys

  /// All contributions, in no order.
  ///
  /// - Complexity: linear in the contributions.
  func keys() throws -> [ContributionKey] {
    var keys: [ContributionKey] = []
    for owned in inline { keys.append(try ContributionKey(owned.head, payload: owned.payload.span.bytes)) }
    var cursor = try readView.transaction.openCursor(readView.tables.elements)
    let prefix = ElementKey.heads(of: state, record: record, CellPath(cell))
    var isThere = try cursor.seek(atOrAfter: prefix.bytes.span.bytes)
    while isThere, let key = try cursor.withEntry({ try Self.key($0, $1, under: prefix) }) {
      keys.append(key)
      isThere = try cursor.next()
    }
    guard keys.count == total else { throw StoreError.missingElement }
    return keys
  }

  /// The contributions of each lane behind a place in it, in no order.
  ///
  /// - Parameter known: the last place that is known of each lane.
  /// - Complexity: O((l + n) log m) for l lanes and n contributions that are new, of m in the table.
  func keys(after known: [ContributionLane: LanePlace]) throws -> [ContributionKey] {
    var keys: [ContributionKey] = []
    func isNew(_ id: HeadID) -> Bool {
      known[ContributionLane(replica: id.replica, epoch: id.epoch)].map { $0 < LanePlace(id) } ?? true
    }
    for owned in inline where isNew(owned.head.id) {
      keys.append(try ContributionKey(owned.head, payload: owned.payload.span.bytes))
    }
    let prefix = ElementKey.heads(of: state, record: record, CellPath(cell))
    var cursor = try readView.transaction.openCursor(readView.tables.elements)
    var isThere = try cursor.seek(atOrAfter: prefix.bytes.span.bytes)
    while isThere, let id = try cursor.withEntry({ key, _ in try Self.id(key, under: prefix) }) {
      if isNew(id) {
        if let key = try cursor.withEntry({ try Self.key($0, $1, under: prefix) }) { keys.append(key) }
        isThere = try cursor.next()
        continue
      }
      // Over the rest of what is known of the lane.
      let last = known[ContributionLane(replica: id.replica, epoch: id.epoch)] ?? LanePlace(id)
      let lastKey = ElementKey(
        state: state, record: record, CellPath(cell),
        head: HeadID(replica: id.replica, epoch: id.epoch, sequence: last.sequence, index: last.index))
      isThere = try cursor.seek(atOrAfter: lastKey.bytes.span.bytes)
      if isThere, cursor.withEntry({ key, _ in equalBytes(key, lastKey.bytes.span.bytes) }) {
        isThere = try cursor.next()
      }
    }
    return keys
  }

  /// The head that a row's key names; nil for a row of another cell or kind.
  private static func id(_ key: RawSpan, under prefix: ElementKey) throws -> HeadID? {
    guard key.hasPrefix(prefix.bytes) else { return nil }
    let start = prefix.bytes.count
    return HeadID(
      replica: ReplicaNumber(rawValue: try key.bigEndian32(at: start)),
      epoch: try key.bigEndian32(at: start + 4), sequence: try key.bigEndian64(at: start + 8),
      index: try key.bigEndian32(at: start + 16))
  }

  /// The contribution in a row; nil for a row of another cell or kind.
  private static func key(
    _ key: RawSpan, _ row: RawSpan, under prefix: ElementKey
  ) throws -> ContributionKey? {
    guard let id = try id(key, under: prefix) else { return nil }
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
      replica: try readView.replica(id.replica), epoch: id.epoch, sequence: id.sequence)
    return Contribution(
      operation: OperationID(transaction: transaction, index: id.index), timestamp: key.head.timestamp,
      payload: try payload(of: id))
  }

  private func payload(of id: HeadID) throws -> Value {
    if let owned = inline.first(where: { $0.head.id == id }) {
      return try ContributionPayload.value(in: owned.payload.span.bytes)
    }
    let key = ElementKey(state: state, record: record, CellPath(cell), head: id)
    let value = try readView.transaction.withValue(of: key.bytes.span.bytes, in: readView.tables.elements) {
      try ContributionPayload.value(in: $0.extracting(try OwnedHead.payload(inApart: $0)))
    }
    guard let value else { throw StoreError.missingElement }
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

/// Reading of contributions.
extension ReadView {
  /// The contributions to a field of a visible record; nil if there are none.
  func contributionCell(_ field: Name, of record: RecordID) throws -> ContributionCell? {
    try withMergingCell(.contributions, of: field, in: record) { cell, row, state in
      try ContributionCell(cell, in: row, state, self)
    }
  }

  /// The contributions to a field in their order, each with its operation; also of a record that is not visible.
  func contributions(of field: Name, inAny record: RecordID) throws -> [Contribution] {
    guard let number = try number(of: field) else { return [] }
    return try withStoredRow(of: record, field: number) { row, state in
      let cell = CellNumber(number, .contributions)
      guard try !RecordLayout.place(of: cell, in: row).body.isEmpty else { return nil }
      return try ContributionCell(cell, in: row, state, self).contributions()
    } ?? []
  }
}

extension ReadTransaction {
  /// What was contributed to a field of a record, in the order of ``ContributionReducer``; nil if the record is not there,
  /// or nothing was contributed to it.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: O(n log n) in the contributions.
  public func contributions(of field: Name, in record: RecordID) throws -> [Contribution]? {
    try readView.contributionCell(field, of: record)?.contributions()
  }
}

extension WriteTransaction {
  // MARK: Contributions

  /// Contributes a payload to a field of a record. What was contributed elsewhere counts too; what they amount to is said by
  /// the app's own ``ContributionReducer``.
  ///
  /// - Parameters:
  ///   - payload: any value; bytes over ``StoreConfiguration/assetThresholdBytes`` become an asset.
  ///   - field: the field.
  ///   - record: the record.
  /// - Throws: as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the contributions.
  public mutating func contribute(_ payload: Value, to field: Name, of record: RecordID) throws {
    try write.change(field, of: record, .contribute(payload))
  }

  /// What was contributed to a field of a record, in the order of ``ContributionReducer``; nil if the record is not there,
  /// or nothing was contributed to it.
  ///
  /// - Complexity: O(n log n) in the contributions.
  public mutating func contributions(of field: Name, in record: RecordID) throws -> [Contribution]? {
    try readView().contributionCell(field, of: record)?.contributions()
  }
}
