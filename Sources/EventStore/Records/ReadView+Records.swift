import LMDB
import OperationFormat

/// Reading of records, from their rows.
extension ReadView {
  /// All heads of a cell in a record's row, greatest first.
  func heads(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> [OwnedHead] {
    let place = try RecordLayout.place(of: cell, in: row)
    return try heads(
      of: CellPath(cell), in: row, place.body, record: RecordLayout.recordNumber(of: row), state)
  }

  /// All heads of a cell that lies in a part of a row, greatest first.
  func heads(
    of path: CellPath, in row: RawSpan, _ body: Range<Int>, record: UInt32, _ state: StateNumber
  ) throws -> [OwnedHead] {
    let inline = try RecordLayout.heads(of: body, in: row)
    var heads: [OwnedHead] = []
    guard inline.total > inline.count || (0..<inline.count).contains(where: { inline[$0].isApart }) else {
      for index in 0..<inline.count {
        heads.append(
          OwnedHead(head: inline[index].head, payload: row.extracting(inline[index].payload).bytes))
      }
      return heads
    }
    let key = ElementKey.heads(of: state, record: record, path)
    let apart = try tables.elements(under: key, transaction).map { try OwnedHead(apart: $0.row.span.bytes) }
    var inlineIDs: Set<HeadID> = []
    for index in 0..<inline.count {
      let head = inline[index]
      inlineIDs.insert(head.head.id)
      guard head.isApart else {
        heads.append(OwnedHead(head: head.head, payload: row.extracting(head.payload).bytes))
        continue
      }
      guard let found = apart.first(where: { $0.head.id == head.head.id }) else {
        throw StoreError.missingElement
      }
      heads.append(OwnedHead(head: head.head, payload: found.payload))
    }
    var rest: [(head: OwnedHead, replica: ReplicaID)] = []
    for head in apart where !inlineIDs.contains(head.head.id) {
      rest.append((head, try replica(head.head.id.replica)))
    }
    rest.sort { left, right in
      let (a, b) = (left.head.head, right.head.head)
      if a.timestamp != b.timestamp { return a.timestamp > b.timestamp }
      if left.replica != right.replica { return left.replica > right.replica }
      return (a.id.epoch, a.id.sequence, a.id.index) > (b.id.epoch, b.id.sequence, b.id.index)
    }
    return heads + rest.map(\.head)
  }

  /// The type of the record whose row it is, and where its fields begin, or a cell before them; nil if it is not
  /// visible.
  func visible(_ row: RawSpan, _ state: StateNumber) throws -> (type: NameNumber, fields: Int)? {
    guard let alive = try alive(row, state) else { return nil }
    guard RecordLayout.flags(of: row).contains(.cascades) else { return alive }
    return try missingTarget(of: row, state) == nil ? alive : nil
  }

  /// The same by the record's own existence: it may be hidden by a cascade.
  @inline(__always)
  func alive(_ row: RawSpan, _ state: StateNumber) throws -> (type: NameNumber, fields: Int)? {
    if let plain = RecordLayout.plainType(in: row) { return plain }
    return try contested(row, state).map { ($0, RecordLayout.headerBytes) }
  }

  /// The type of a record that is alive, where the general way must tell.
  private func contested(_ row: RawSpan, _ state: StateNumber) throws -> NameNumber? {
    let place = try RecordLayout.place(of: .existence, in: row)
    let inline = try RecordLayout.heads(of: place.body, in: row)
    if inline.total == 1 {
      guard case .alive(let type) = try Existence(payload: row.extracting(inline[0].payload)) else {
        return nil
      }
      return type
    }
    guard inline.count > 0 else { return nil }
    let policies = try tables.policies(transaction)
    let greatest = row.extracting(inline[0].payload)
    if let type = try ExistencePolicy.visibleType(ofGreatest: greatest, policies) { return type }
    let heads = try heads(of: .existence, in: row, state)
    let existences = try heads.map { try Existence(payload: $0.payload.span.bytes) }
    return ExistencePolicy.visibleType(of: existences, policies)
  }

  func visibleType(of record: RecordID) throws -> NameNumber? {
    try withStoredRow(of: record) { row, state in try visible(row, state)?.type }
  }

  /// The value of a register: that of its greatest head.
  ///
  /// - Parameter fields: where its fields begin, or a cell before them.
  func value(of cell: CellNumber, in row: RawSpan, from fields: Int, _ state: StateNumber) throws -> Value? {
    guard let winner = try RecordLayout.winner(of: cell, in: row, from: fields) else { return nil }
    return try value(of: cell, winner, in: row, state)
  }

  /// The value of a register whose greatest head was found.
  private func value(
    of cell: CellNumber, _ winner: RecordLayout.Winner, in row: RawSpan, _ state: StateNumber
  ) throws -> Value? {
    let value: Value
    if let apart = winner.apart {
      let element = try element(of: cell, apart, in: row, state)
      value = try Value(decoding: element.extracting(try OwnedHead.payload(inApart: element)))
    } else {
      value = try Value(decoding: row.extracting(winner.payload))
    }
    if case .null = value { return nil }
    return try shown(value, in: row, state)
  }

  /// The row, where it lies, of a head that is kept apart from its record.
  @_lifetime(borrow self)
  func element(
    of cell: CellNumber, _ head: HeadID, in row: RawSpan, _ state: StateNumber
  ) throws -> RawSpan {
    let number = try RecordLayout.recordNumber(of: row)
    let key = ElementKey(state: state, record: number, CellPath(cell), head: head)
    let element = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { element in
      element.withUnsafeBytes { $0 }
    }
    guard let element else { throw StoreError.missingElement }
    // The transaction, and with it the map, lasts as long as the snapshot.
    return _overrideLifetime(element.bytes, borrowing: self)
  }

  func value(of field: Name, in record: RecordID) throws -> Value? {
    guard let number = try number(of: field) else { return nil }
    return try withRow(of: record, field: number) { row, state in
      guard let (_, fields) = try visible(row, state) else { return nil }
      return try value(of: number, in: row, from: fields, state)
    }
  }

  /// The value of a field: of its cells that have one, the first in the order of their kinds.
  func value(of field: NameNumber, in row: RawSpan, from fields: Int, _ state: StateNumber) throws -> Value? {
    if let value = try value(of: CellNumber(register: field), in: row, from: fields, state) { return value }
    for kind in FieldKind.allCases.dropFirst() {
      let cell = CellNumber(field, kind)
      // The commonest answer: there is none.
      guard let winner = try RecordLayout.winner(of: cell, in: row, from: fields),
        try cell.shows(winner, in: row)
      else { continue }
      return try mergedValue(of: cell, in: row, state)
    }
    return nil
  }

  /// What a cell reads that is no register and is there.
  private func mergedValue(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> Value? {
    switch cell.kind {
    case .counter: try counterSum(cell, in: row, state).counter.value
    case .set: .array(try elements(of: cell, in: row, state))
    case .map: .map(try entries(of: cell, in: row, state))
    case .list: .array(try list(of: cell, in: row, state))
    case .text: .string(try sequence(of: cell, in: row, state).text())
    case .contributions:
      .array(try ContributionCell(cell, in: row, state, self).contributions().map(\.payload))
    case .register, nil: nil
    }
  }

  /// What a counter reads; nil if nothing was added to it.
  func counter(_ field: NameNumber, in row: RawSpan, from fields: Int, _ state: StateNumber) throws
    -> Counter?
  {
    let cell = CellNumber(field, .counter)
    // The commonest answer: there is none.
    guard try RecordLayout.winner(of: cell, in: row, from: fields) != nil else { return nil }
    return try counterSum(cell, in: row, state).counter
  }

  func counterSum(_ cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> CounterSum {
    let place = try RecordLayout.place(of: cell, in: row)
    let heads = try RecordLayout.heads(of: place.body, in: row)
    var sum = CounterSum()
    for index in 0..<heads.count { try sum.add(row.extracting(heads[index].payload)) }
    if heads.total > heads.count {
      let key = ElementKey.sum(of: state, record: try RecordLayout.recordNumber(of: row), cell: cell)
      let apart = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { row in
        try CounterSum(row)
      }
      guard let apart else { throw StoreError.missingElement }
      sum.add(apart)
    }
    return sum
  }

  /// The sum of what was added to a counter, also of a record that is not visible; nil if nothing was.
  func counterSum(_ field: Name, of record: RecordID) throws -> CounterSum? {
    guard let number = try number(of: field) else { return nil }
    return try withStoredRow(of: record, field: number) { row, state in
      let sum = try counterSum(CellNumber(number, .counter), in: row, state)
      return sum.isEmpty ? nil : sum
    }
  }

  func counter(_ field: Name, of record: RecordID) throws -> Counter? {
    guard let number = try number(of: field) else { return nil }
    return try withStoredRow(of: record, field: number) { row, state in
      guard let (_, fields) = try visible(row, state) else { return nil }
      return try counter(number, in: row, from: fields, state)
    }
  }

  func record(_ id: RecordID) throws -> Record? {
    try withRow(of: id) { row, state in
      guard let (type, fields) = try visible(row, state) else { return nil }
      return try self.record(id, type, in: row, from: fields, state)
    }
  }

  /// The record whose row it is, and whose type was found.
  func record(
    _ id: RecordID, _ type: NameNumber, in row: RawSpan, from fields: Int, _ state: StateNumber
  ) throws -> Record {
    Record(id: id, type: try name(type), entries: try entries(in: row, from: fields, state))
  }

  private func entries(
    in row: RawSpan, from fields: Int, _ state: StateNumber
  ) throws -> [Record.Entry] {
    var entries: [Record.Entry] = []
    var walk = try RecordLayout.WinnerWalk(row, from: fields)
    entries.reserveCapacity(walk.cellsMax)
    var last = NameNumber.none
    while let (cell, winner) = try walk.next() {
      // The register of a field comes before its other cells, and hides them.
      guard cell != .existence, cell.field != last, try cell.shows(winner, in: row),
        let value = try cell.isRegister
          ? value(of: cell, winner, in: row, state) : mergedValue(of: cell, in: row, state)
      else { continue }
      entries.append(Record.Entry(name: try name(cell.field), value: value))
      last = cell.field
    }
    return entries
  }

  /// What a record shows, or would show if it were there; nil if there was never one.
  func recordOrHidden(_ id: RecordID) throws -> Record? {
    try withRow(of: id) { row, state in
      let types = try heads(of: .existence, in: row, state).compactMap { head -> NameNumber? in
        guard case .alive(let type) = try Existence(payload: head.payload.span.bytes) else { return nil }
        return type
      }
      let entries = try entries(in: row, from: RecordLayout.headerBytes, state)
      return Record(id: id, type: try types.first.map { try name($0) } ?? "", entries: entries)
    }
  }

  /// The names of the fields of a record that have a cell which a closure chooses, in the order of their bytes.
  func fields(of record: RecordID, where isChosen: (CellNumber, RawSpan) throws -> Bool) throws -> [Name] {
    try withRow(of: record) { row, _ in
      let index = try CellIndex(row)
      let chosen = try index.entries.filter { entry in
        try entry.cell != .existence && index.withRow(of: entry, in: row) { try isChosen(entry.cell, $0) }
      }
      return try Set(chosen.map(\.cell.field)).map { try name($0) }.sorted()
    } ?? []
  }

  /// All heads of a field, greatest first; also of a record that is not visible.
  func heads(of field: Name, _ kind: FieldKind, _ record: RecordID) throws -> [CellHead] {
    guard let number = try number(of: field) else { return [] }
    return try heads(of: CellNumber(number, kind), record)
  }

  /// All heads of a cell, greatest first; those of a set or a map by element, in the order of the elements' names.
  func heads(of cell: CellNumber, _ record: RecordID) throws -> [CellHead] {
    try withRow(of: record, field: cell.field) { row, state in
      guard !cell.isOfHeads else {
        return try heads(of: cell, in: row, state).map { try cellHead($0, of: cell) }
      }
      var heads: [CellHead] = []
      guard cell.kind?.hasElements ?? false else { return try itemHeads(of: cell, in: row, state) }
      try forEachElement(of: cell, in: row, state) { element in
        let identity = element.identity
        heads += try element.heads.map { try cellHead($0, of: cell, identity.span.bytes) }
      }
      return heads
    } ?? []
  }

  /// A head in public terms.
  ///
  /// - Parameter identity: in a set or a map, what stands for the element.
  func cellHead(_ owned: OwnedHead, of cell: CellNumber, _ identity: RawSpan = RawSpan()) throws -> CellHead {
    let id = owned.head.id
    let replica = try replica(id.replica)
    let payload = owned.payload.span.bytes
    let content: CellHead.Content
    switch cell.kind {
    case _ where cell == .existence:
      switch try Existence(payload: payload) {
      case .dead: content = .dead
      case .alive(let type): content = .alive(type: try name(type))
      case .moved(let place): content = .moved(to: place)
      }
    case .counter: content = .contribution(try Value(decoding: payload))
    case .contributions: content = .contribution(try ContributionPayload.value(in: payload))
    case .set: content = .element(try Value(decoding: identity))
    case .map: content = .entry(key: try Name(interned: identity), try Value(decoding: payload))
    case .register, .list, .text, nil: content = .value(try Value(decoding: payload))
    }
    return CellHead(
      operation: OperationID(
        transaction: TransactionID(replica: replica, epoch: id.epoch, sequence: id.sequence), index: id.index),
      timestamp: owned.head.timestamp, content: content)
  }
}

extension StoreError {
  static var missingElement: StoreError {
    StoreError(
      .damaged, "a value that is kept apart from its record is not there",
      hint: "run a verification, then rebuild the store from its log")
  }
}

extension ReadView {
  /// Whether any head of a record's existence says that it is there.
  private func isAlive(anywhereIn row: RawSpan, _ state: StateNumber) throws -> Bool {
    if RecordLayout.plainType(in: row) != nil { return true }
    return try heads(of: .existence, in: row, state).contains { head in
      if case .alive = try Existence(payload: head.payload.span.bytes) { true } else { false }
    }
  }

  /// The cells of a row that have losers, existence first, then by field name; of a record that is dead by all heads only its
  /// existence.
  func conflicts(of record: RecordID, in row: RawSpan, _ state: StateNumber) throws -> [Conflict] {
    var conflicts: [Conflict] = []
    func add(_ heads: [CellHead], _ field: Name?, key: Name? = nil) {
      guard heads.count > 1 else { return }
      conflicts.append(
        Conflict(record: record, field: field, key: key, winner: heads[0], losers: Array(heads.dropFirst())))
    }
    var isAnywhereAlive = true
    let index = try CellIndex(row)
    for entry in index.entries {
      let cell = entry.cell
      // Nothing says that the record is there: its fields show nowhere.
      guard isAnywhereAlive else { break }
      try index.withRow(of: entry, in: row) { row in
        switch cell.kind {
        case .register:
          let place = try RecordLayout.place(of: cell, in: row)
          if cell == .existence { isAnywhereAlive = try isAlive(anywhereIn: row, state) }
          guard try RecordLayout.heads(of: place.body, in: row).total > 1 else { return }
          let heads = try heads(of: cell, in: row, state).map { try cellHead($0, of: cell) }
          // Updates of different fields do not conflict: that both say that the record is there is no news.
          if cell == .existence, heads.allSatisfy({ $0.content == heads[0].content }) { return }
          add(heads, cell == .existence ? nil : try name(cell.field))
        case .map:
          try forEachElement(of: cell, in: row, state) { element in
            guard element.heads.count > 1 else { return }
            let identity = element.identity
            add(
              try element.heads.map { try cellHead($0, of: cell, identity.span.bytes) }, try name(cell.field),
              key: try Name(interned: identity.span.bytes))
          }
        case .list:
          for item in try items(of: cell, in: row, state) where item.values.count > 1 {
            add(try item.values.map { try itemHead($0, item) }, try name(cell.field))
          }
        default: return
        }
      }
    }
    return conflicts.sorted { ($0.field ?? "", $0.key ?? "") < ($1.field ?? "", $1.key ?? "") }
  }
}
