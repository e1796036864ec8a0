package import LMDB
import OperationFormat

package typealias LMDBTransaction = LMDB.Transaction

/// Reading of records: rows are read where they lie in the map.
extension Tables {
  /// A record's row where it lies, with what is needed to follow it to its elements.
  func withRow<R>(
    of record: RecordID, _ interned: Interned, _ transaction: borrowing LMDBTransaction,
    _ body: (RawSpan, StateNumber) throws -> R?
  ) throws -> R? {
    let state = try state(of: record.zone, interned, transaction)
    return try WriteTransaction.withBytes(of: record.name) { name in
      guard name.byteCount <= Limits.recordNameBytesMax else { return nil }
      return try transaction.withValue(of: TableKey.record(state, name).span, in: records) { row in
        try body(row, state)
      } ?? nil
    }
  }

  /// All heads of a cell of a row, greatest first.
  package func heads(
    of cell: CellNumber, in row: RawSpan, _ state: StateNumber, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> [OwnedHead] {
    let place = try RecordLayout.place(of: cell, in: row)
    let inline = try RecordLayout.heads(of: place.body, in: row)
    var heads: [OwnedHead] = []
    guard inline.total > inline.count || (0..<inline.count).contains(where: { inline[$0].isApart }) else {
      for index in 0..<inline.count {
        heads.append(
          OwnedHead(head: inline[index].head, payload: row.extracting(inline[index].payload).bytes))
      }
      return heads
    }
    let key = ElementKey(state: state, record: try RecordLayout.recordNumber(of: row), cell: cell)
    let apart = try elements(under: key, transaction).map { try OwnedHead(apart: $0.row.span.bytes) }
    var inlineIDs: Set<HeadID> = []
    for index in 0..<inline.count {
      let head = inline[index]
      inlineIDs.insert(head.head.id)
      guard head.isApart else {
        heads.append(OwnedHead(head: head.head, payload: row.extracting(head.payload).bytes))
        continue
      }
      guard let found = apart.first(where: { $0.head.id == head.head.id }) else {
        throw StoreError(
          .damaged, "a value that is kept apart from its record is not there",
          hint: "run a verification, then rebuild the store from its log")
      }
      heads.append(OwnedHead(head: head.head, payload: found.payload))
    }
    var rest: [(head: OwnedHead, replica: ReplicaID)] = []
    for head in apart where !inlineIDs.contains(head.head.id) {
      rest.append((head, try interned.replicas.identity(of: head.head.id.replica, in: replicas, transaction)))
    }
    rest.sort { left, right in
      let (a, b) = (left.head.head, right.head.head)
      if a.timestamp != b.timestamp { return a.timestamp > b.timestamp }
      if left.replica != right.replica { return left.replica > right.replica }
      return (a.id.epoch, a.id.sequence, a.id.index) > (b.id.epoch, b.id.sequence, b.id.index)
    }
    return heads + rest.map(\.head)
  }

  /// The type of the record whose row it is, nil if it is not visible.
  func visibleType(
    in row: RawSpan, _ state: StateNumber, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> NameNumber? {
    if let plain = PlainRow.existence(in: row) { return plain.type }
    let place = try RecordLayout.place(of: .existence, in: row)
    let inline = try RecordLayout.heads(of: place.body, in: row)
    if inline.total == 1 {
      guard case .alive(let type) = try Existence(payload: row.extracting(inline[0].payload)) else {
        return nil
      }
      return type
    }
    let heads = try heads(of: .existence, in: row, state, interned, transaction)
    let existences = try heads.map { try Existence(payload: $0.payload.span.bytes) }
    return ExistencePolicy.visibleType(of: existences, try policies(transaction))
  }

  func visibleType(
    of record: RecordID, _ interned: Interned, _ transaction: borrowing LMDBTransaction
  ) throws -> NameNumber? {
    try withRow(of: record, interned, transaction) { row, state in
      try visibleType(in: row, state, interned, transaction)
    }
  }

  /// The value of a register: that of its greatest head.
  func value(
    of cell: CellNumber, in row: RawSpan, _ state: StateNumber, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> Value? {
    let place = try RecordLayout.place(of: cell, in: row)
    return try value(of: cell, in: row, place.body, state, interned, transaction)
  }

  /// The value of a register whose heads lie in a part of the row.
  private func value(
    of cell: CellNumber, in row: RawSpan, _ body: Range<Int>, _ state: StateNumber, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> Value? {
    guard let greatest = try RecordLayout.greatestHead(of: body, in: row) else { return nil }
    let value: Value
    if greatest.isApart {
      let number = try RecordLayout.recordNumber(of: row)
      let key = ElementKey(state: state, record: number, cell: cell, head: greatest.head.id)
      let found = try transaction.withValue(of: key.bytes.span.bytes, in: elements) { row in
        try Value(decoding: try OwnedHead(apart: row).payload.span.bytes)
      }
      guard let found else {
        throw StoreError(
          .damaged, "a value that is kept apart from its record is not there",
          hint: "run a verification, then rebuild the store from its log")
      }
      value = found
    } else {
      value = try Value(decoding: row.extracting(greatest.payload))
    }
    return value == .null ? Value?.none : value
  }

  func value(
    of field: Name, in record: RecordID, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> Value? {
    guard let number = try interned.names.number(of: field, in: names, transaction) else { return nil }
    return try withRow(of: record, interned, transaction) { row, state in
      guard try visibleType(in: row, state, interned, transaction) != nil else { return nil }
      return try value(of: CellNumber(register: number), in: row, state, interned, transaction)
    }
  }

  func record(
    _ id: RecordID, _ interned: Interned, _ transaction: borrowing LMDBTransaction
  ) throws -> Record? {
    try withRow(of: id, interned, transaction) { row, state in
      try record(id, in: row, state, interned, transaction)
    }
  }

  /// The record whose row it is, nil if it is not visible.
  func record(
    _ id: RecordID, in row: RawSpan, _ state: StateNumber, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> Record? {
    guard let type = try visibleType(in: row, state, interned, transaction) else { return nil }
    var entries: [(name: Name, value: Value)] = []
    var walk = try RecordLayout.CellWalk(row)
    while let (cell, body) = try walk.next() {
      guard cell != .existence,
        let value = try value(of: cell, in: row, body, state, interned, transaction)
      else { continue }
      entries.append((try name(cell.field, interned, transaction), value))
    }
    return Record(id: id, type: try name(type, interned, transaction), entries: entries)
  }

  /// All heads of a field, greatest first; also of a record that is not visible.
  func heads(
    of field: Name, _ record: RecordID, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> [CellHead] {
    guard let number = try interned.names.number(of: field, in: names, transaction) else { return [] }
    return try heads(of: CellNumber(register: number), record, interned, transaction)
  }

  func heads(
    of cell: CellNumber, _ record: RecordID, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> [CellHead] {
    try withRow(of: record, interned, transaction) { row, state in
      try heads(of: cell, in: row, state, interned, transaction).map { head in
        try cellHead(head, of: cell, interned, transaction)
      }
    } ?? []
  }

  /// A head in public terms.
  func cellHead(
    _ owned: OwnedHead, of cell: CellNumber, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> CellHead {
    let id = owned.head.id
    let replica = try interned.replicas.identity(of: id.replica, in: replicas, transaction)
    let content: CellHead.Content
    if cell == .existence {
      switch try Existence(payload: owned.payload.span.bytes) {
      case .dead: content = .dead
      case .alive(let type): content = .alive(type: try name(type, interned, transaction))
      }
    } else {
      content = .value(try Value(decoding: owned.payload.span.bytes))
    }
    return CellHead(
      operation: OperationID(
        transaction: TransactionID(replica: replica, epoch: id.epoch, sequence: id.sequence), index: id.index),
      timestamp: owned.head.timestamp, content: content)
  }

  func name(
    _ number: NameNumber, _ interned: Interned, _ transaction: borrowing LMDBTransaction
  ) throws -> Name {
    try interned.names.identity(of: number, in: names, transaction)
  }
}

extension StoreError {
  static func unknown(_ zone: ZoneID) -> StoreError {
    StoreError(.zoneUnknown, "the store has no zone “\(zone)”", hint: "create it, or check its name")
  }

  static func unknown(_ record: RecordID) -> StoreError {
    StoreError(
      .recordUnknown, "there is no record \(record), or it was deleted", hint: "create it, or check its name")
  }
}

extension Tables {
  /// Calls a closure with each row of a zone's records, in the order of their names, until it returns false.
  func forEachRow(
    in zone: ZoneID, after name: Name?, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction,
    _ body: (RecordID, RawSpan, StateNumber, Interned) throws -> Bool
  ) throws {
    let state = try state(of: zone, interned, transaction)
    var start = TableKey.state(state)
    if let name {
      for byte in name.rawValue.utf8.prefix(Limits.recordNameBytesMax) { start.append(byte) }
    }
    var cursor = try transaction.openCursor(records)
    var isThere = try cursor.seek(atOrAfter: start.span)
    while isThere {
      let goesOn = try cursor.withEntry { key, row in
        guard try key.bigEndian32(at: 0) == state.rawValue else { return false }
        let found = try Name(interned: key.extracting(4...))
        if found == name { return true }
        return try body(RecordID(zone: zone, name: found), row, state, interned)
      }
      guard goesOn else { return }
      isThere = try cursor.next()
    }
  }

  /// The cells of a row that have losers, existence first, then by field name.
  func conflicts(
    of record: RecordID, in row: RawSpan, _ state: StateNumber, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> [Conflict] {
    var conflicts: [Conflict] = []
    for cell in try RecordLayout.cells(of: row) {
      let place = try RecordLayout.place(of: cell, in: row)
      guard try RecordLayout.heads(of: place.body, in: row).total > 1 else { continue }
      let heads = try heads(of: cell, in: row, state, interned, transaction).map { head in
        try cellHead(head, of: cell, interned, transaction)
      }
      // Updates of different fields do not conflict: that both say that the record is there is no news.
      if cell == .existence, heads.allSatisfy({ $0.content == heads[0].content }) { continue }
      let field = cell == .existence ? nil : try name(cell.field, interned, transaction)
      conflicts.append(
        Conflict(record: record, field: field, winner: heads[0], losers: Array(heads.dropFirst())))
    }
    return conflicts.sorted { ($0.field ?? "") < ($1.field ?? "") }
  }
}
