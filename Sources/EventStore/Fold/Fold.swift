package import OperationFormat

/// Folds operations into the rows of records: the one way by which anything gets there, be it a local mutation,
/// a remote segment, a rebuild or a replay.
///
/// A cell is a set of heads. An operation removes the heads of its cell that its transaction has seen, then adds
/// its own head. The fold holds one record's row at a time and edits its bytes in place; `flush` writes it.
/// Operations come in an order that causality allows.
package struct Fold<Storage: FoldStorage>: ~Copyable {
  package let storage: Storage
  /// What the transaction that is being folded had seen.
  package var viewpoint: Viewpoint
  /// Its effective timestamp.
  package var timestamp: Timestamp

  /// Whether what is plain is done in place. Without it the general step does everything: the oracle.
  package var editsInPlace = true

  /// How many times a cell that had no losers got some.
  package private(set) var conflictCount = 0

  private var state: StateNumber = .none
  /// The key of the record at hand: see ``FoldStorage/readRecord(_:into:)``.
  private var key = ByteWriter()
  var row: [UInt8] = []
  var isChanged = false
  /// What a look at the row at hand found of the record's existence, until that changes.
  var existence: PlainExistence = .unknown
  private var edited = ByteWriter()
  private var payload = ByteWriter()

  package init(storage: Storage) {
    self.storage = storage
    viewpoint = Viewpoint(zone: .none, replica: .none, epoch: 0, sequence: 0, base: nil)
    timestamp = Timestamp(rawValue: 0)
  }

  // MARK: Verbs

  /// Folds `create`: the record is alive, and the heads of its fields that the transaction has seen go.
  package mutating func create(_ record: RawSpan, in state: StateNumber, type: NameNumber, index: UInt32)
    throws
  {
    try select(record, in: state)
    for cell in try RecordLayout.cells(of: row.span.bytes) where cell != .existence {
      #if PLANTED_BUGS
        if PlantedBug.createKeepsFields.isPlanted { break }
      #endif
      try replace(cell, removing: .seen(at: index), adding: nil)
    }
    try set(existence: .alive(type: type), index: index)
  }

  /// Folds `delete`: the record is dead. Its fields stay, hidden.
  package mutating func delete(_ record: RawSpan, in state: StateNumber, index: UInt32) throws {
    try select(record, in: state)
    #if PLANTED_BUGS
      if PlantedBug.deleteTakesUnseen.isPlanted { viewpoint.seesAllPlaced = true }
    #endif
    try set(existence: .dead, index: index)
  }

  /// Folds `set`: the field gets a head with the value, and the record one that it is alive.
  package mutating func set(
    _ field: NameNumber, of record: RawSpan, in state: StateNumber, type: NameNumber, value: RawSpan,
    index: UInt32
  ) throws {
    try select(record, in: state)
    try set(field, type: type, value: value, index: index)
  }

  /// Folds `set` on the record at hand.
  mutating func set(_ field: NameNumber, type: NameNumber, value: RawSpan, index: UInt32) throws {
    #if PLANTED_BUGS
      if try isLate(field) { return }
    #endif
    if try setInPlace(CellNumber(register: field), type: type, value: value, index: index) { return }
    try replace(
      CellNumber(register: field), removing: .seen(at: index), adding: head(at: index), payload: value)
    try set(existence: .alive(type: type), index: index)
  }

  /// Folds `add`: the counter gets a contribution, and the record a head that it is alive.
  ///
  /// What one transaction adds is one contribution: nothing will ever have seen a part of it alone.
  ///
  /// - Parameter value: an encoded integer or decimal.
  package mutating func add(
    _ field: NameNumber, of record: RawSpan, in state: StateNumber, type: NameNumber, value: RawSpan,
    index: UInt32
  ) throws {
    try select(record, in: state)
    try add(field, type: type, value: value, index: index)
  }

  /// Folds `add` on the record at hand.
  mutating func add(_ field: NameNumber, type: NameNumber, value: RawSpan, index: UInt32) throws {
    let cell = CellNumber(field, .counter)
    if let earlier = try ownContribution(to: cell) {
      var sum = CounterSum()
      try sum.add(earlier.payload.span.bytes)
      try sum.add(value)
      let counter = sum.counter
      if !counter.isClamped {
        let whole = try counter.value.encoded()
        try replace(
          cell, removing: .head(earlier.head.id), adding: head(at: index), payload: whole.span.bytes)
        return try set(existence: .alive(type: type), index: index)
      }
    }
    try replace(cell, removing: .nothing, adding: head(at: index), payload: value)
    try set(existence: .alive(type: type), index: index)
  }

  /// What the transaction has added to a counter so far.
  private func ownContribution(to cell: CellNumber) throws -> OwnedHead? {
    func isOwn(_ head: HeadID) -> Bool {
      head.isOfTransaction(viewpoint.replica, viewpoint.epoch, viewpoint.sequence)
    }
    let place = try RecordLayout.place(of: cell, in: row.span.bytes)
    let heads = try RecordLayout.heads(of: place.body, in: row.span.bytes)
    for index in 0..<heads.count where isOwn(heads[index].head.id) {
      return OwnedHead(head: heads[index].head, payload: Array(row[heads[index].payload]))
    }
    guard heads.total > heads.count else { return nil }
    let key = ElementKey(
      state: state, record: try RecordLayout.recordNumber(of: row.span.bytes), cell: cell,
      headsOf: viewpoint.replica, epoch: viewpoint.epoch, sequence: viewpoint.sequence)
    return try storage.elements(under: key).last.map { try OwnedHead(apart: $0.row.span.bytes) }
  }

  /// Gives the heads that one transaction made in a cell another effective timestamp.
  ///
  /// - Returns: whether the cell's winner is another one now.
  package mutating func retime(
    _ cell: CellNumber, of record: RawSpan, in state: StateNumber, transaction: Viewpoint,
    to timestamp: Timestamp
  ) throws -> Bool {
    guard try find(record, in: state) else { return false }
    let before = try heads(of: cell)
    for owned in before
    where owned.head.id.isOfTransaction(transaction.replica, transaction.epoch, transaction.sequence)
      && owned.head.timestamp != timestamp
    {
      let moved = Head(timestamp: timestamp, id: owned.head.id)
      try replace(cell, removing: .head(owned.head.id), adding: moved, payload: owned.payload.span.bytes)
    }
    // What a counter reads does not depend on the order of its heads.
    return try !cell.isCounter && heads(of: cell).first?.head.id != before.first?.head.id
  }

  /// Makes a record's row the one at hand, and gives whether it has one yet.
  package mutating func find(_ record: RawSpan, in state: StateNumber) throws -> Bool {
    if self.state == state && equalBytes(key.span.extracting(droppingFirst: 4), record) {
      return !row.isEmpty
    }
    try flush()
    // Until it is read the row at hand is nobody's: reading may fail.
    self.state = .none
    existence = .unknown
    key.removeAll()
    key.append(bigEndian: state.rawValue)
    key.append(record)
    var row: [UInt8] = []
    swap(&row, &self.row)
    defer { swap(&row, &self.row) }
    let isThere = try storage.readRecord(key.span, into: &row)
    if !isThere { row.removeAll(keepingCapacity: true) }
    self.state = state
    return isThere
  }

  /// Writes the row at hand, if it changed. Must be called before anybody else reads.
  package mutating func flush() throws {
    guard isChanged else { return }
    try storage.writeRecord(row.span.bytes, key.span)
    isChanged = false
  }

  /// Forgets the row at hand and what changed in it: what is in the storage counts.
  package mutating func reset() {
    state = .none
    row.removeAll(keepingCapacity: true)
    existence = .unknown
    isChanged = false
  }

  /// The type of the record at hand, nil if it is not visible.
  ///
  /// - Parameter policies: asked for where the record's existence is contested.
  package mutating func visibleType(
    _ policies: () throws -> [NameNumber: ExistencePolicy]
  ) throws -> NameNumber? {
    if let plain = plainExistence() { return plain.type }
    let place = try RecordLayout.place(of: .existence, in: row.span.bytes)
    let inline = try RecordLayout.heads(of: place.body, in: row.span.bytes)
    if inline.total == 1 {
      let payload = row.span.bytes.extracting(inline[0].payload)
      guard case .alive(let type) = try Existence(payload: payload) else { return nil }
      return type
    }
    let heads = try heads(of: .existence).map { try Existence(payload: $0.payload.span.bytes) }
    return ExistencePolicy.visibleType(of: heads, try policies())
  }

  /// All heads of a cell of the row at hand, greatest first, with their whole payloads.
  package func heads(of cell: CellNumber) throws -> [OwnedHead] {
    let place = try RecordLayout.place(of: cell, in: row.span.bytes)
    let heads = try RecordLayout.heads(of: place.body, in: row.span.bytes)
    var all: [OwnedHead] = []
    for index in 0..<heads.count {
      all.append(OwnedHead(head: heads[index].head, payload: try wholePayload(of: heads[index], in: cell)))
    }
    guard heads.total > heads.count else { return all }
    let inline = Set(all.map(\.head.id))
    let apart = try headsApart(of: cell, except: inline, under: headKey(of: cell))
    return try all + apart.sorted { try isGreater($0.head, $1.head) }
  }

  // MARK: Cells

  enum Removal {
    case seen(at: UInt32)
    case head(HeadID)
    case nothing
  }

  func head(at index: UInt32) -> Head {
    Head(
      timestamp: timestamp,
      id: HeadID(
        replica: viewpoint.replica, epoch: viewpoint.epoch, sequence: viewpoint.sequence, index: index))
  }

  private mutating func set(existence: Existence, index: UInt32) throws {
    // The writer is lent, so that nothing is allocated.
    var bytes = ByteWriter()
    swap(&bytes, &payload)
    defer { swap(&bytes, &payload) }
    bytes.removeAll()
    existence.append(to: &bytes)
    try replace(.existence, removing: .seen(at: index), adding: head(at: index), payload: bytes.span)
  }

  func removes(_ removal: Removal, _ head: HeadID) throws -> Bool {
    switch removal {
    case .seen(let index):
      if viewpoint.seesAllPlaced { return true }
      return try viewpoint.hasSeen(head, at: index) { replica, epoch, sequence, incarnation in
        try storage.offset(of: replica, epoch, sequence, in: viewpoint.zone, incarnation)
      }
    case .head(let id):
      return head == id
    case .nothing:
      return false
    }
  }

  /// The fold's one step: removes heads of a cell, adds one or none, and writes the cell into the row.
  private mutating func replace(
    _ cell: CellNumber, removing removal: Removal, adding added: Head?, payload: RawSpan = RawSpan()
  ) throws {
    let place = try RecordLayout.place(of: cell, in: row.span.bytes)
    let heads = try RecordLayout.heads(of: place.body, in: row.span.bytes)

    var kept = InlineHeads()
    for index in 0..<heads.count {
      let head = heads[index]
      if try removes(removal, head.head.id) {
        if head.isApart { try storage.deleteElement(key(of: cell, head.head.id)) }
      } else {
        kept.append(head)
      }
    }
    guard heads.total == heads.count, kept.count < Cell.inlineHeadsMax else {
      return try replaceMany(cell, at: place, heads, removal, added, payload)
    }
    // The writer is lent: another's bytes are read while it writes, and nothing is allocated.
    var edited = ByteWriter()
    swap(&edited, &self.edited)
    defer { swap(&edited, &self.edited) }
    edited.removeAll()
    let total = kept.count + (added == nil ? 0 : 1)
    if added != nil, !heads.areContested(cell, in: row), kept.areContested(cell, in: row, by: payload) {
      conflictCount += 1
    }
    if total > 0 { edited.append(varint: UInt64(total)) }
    var pending = added
    for index in 0..<kept.count {
      let head = kept[index]
      if let new = pending, try isGreater(new, head.head) {
        try append(new, payload, in: cell, to: &edited)
        pending = nil
      }
      edited.append(row.span.bytes.extracting(head.entry))
    }
    if let new = pending { try append(new, payload, in: cell, to: &edited) }
    splice(edited.span, as: cell, at: place)
  }

  /// The same step for a cell with more heads than its row holds.
  private mutating func replaceMany(
    _ cell: CellNumber, at place: CellPlace, _ heads: InlineHeads, _ removal: Removal, _ added: Head?,
    _ payload: RawSpan
  ) throws {
    var inline: [OwnedHead] = []
    var inlineIDs: Set<HeadID> = []
    // Whether the new head is greater than one that goes, and so than all that lie apart.
    var isAddedGreat = false
    for index in 0..<heads.count {
      let head = heads[index]
      inlineIDs.insert(head.head.id)
      if try !removes(removal, head.head.id) {
        inline.append(OwnedHead(head: head.head, payload: Array(row[head.payload])))
      } else if let added, try isGreater(added, head.head) {
        isAddedGreat = true
      }
    }
    let greatCount = inline.count + (isAddedGreat ? 1 : 0)
    var apartCount = heads.total - heads.count
    var sum = try cell.isCounter && apartCount > 0 ? readSum(of: cell) : CounterSum()
    if apartCount > 0, let prefix = try prefixOfRemovable(cell, removal) {
      for apart in try headsApart(of: cell, except: inlineIDs, under: prefix) {
        guard try removes(removal, apart.head.id) else { continue }
        try storage.deleteElement(key(of: cell, apart.head.id))
        apartCount -= 1
        if cell.isCounter { try sum.remove(apart.payload.span.bytes) }
      }
    }
    if let added {
      let isApart = payload.byteCount > Cell.inlinePayloadBytesMax
      if isApart { try writeApart(added, payload, in: cell) }
      let stored = isApart ? Cell.mark(payload.byteCount) : payload.withUnsafeBytes { Array($0) }
      inline.append(OwnedHead(head: added, payload: stored))
    }
    try inline.sort { try isGreater($0.head, $1.head) }
    // Those that no longer fit move apart. Where one of the row went, the greatest of those apart may come back.
    if greatCount < heads.count && apartCount > 0 {
      let known = Set(inline.map(\.head.id))
      var rest = try headsApart(of: cell, except: known, under: headKey(of: cell))
      try rest.sort { try isGreater($0.head, $1.head) }
      for head in rest.prefix(Cell.inlineHeadsMax) {
        let isLarge = head.payload.count > Cell.inlinePayloadBytesMax
        inline.append(
          OwnedHead(head: head.head, payload: isLarge ? Cell.mark(head.payload.count) : head.payload))
        if !isLarge { try storage.deleteElement(key(of: cell, head.head.id)) }
        apartCount -= 1
        if cell.isCounter { try sum.remove(head.payload.span.bytes) }
      }
      try inline.sort { try isGreater($0.head, $1.head) }
    }
    while let least = inline.last, inline.count > Cell.inlineHeadsMax {
      inline.removeLast()
      #if PLANTED_BUGS
        if PlantedBug.losersLostBeyondFour.isPlanted { continue }
      #endif
      apartCount += 1
      if cell.isCounter { try sum.add(least.payload.span.bytes) }
      if least.payload.first != Cell.apartMark {
        try writeApart(least.head, least.payload.span.bytes, in: cell)
      }
    }
    if cell.isCounter { try writeSum(sum, of: cell) }
    var edited = ByteWriter()
    if !inline.isEmpty { edited.append(varint: UInt64(inline.count + apartCount)) }
    for head in inline {
      edited.append(head.head)
      edited.append(varint: UInt64(head.payload.count))
      edited.append(head.payload)
    }
    splice(edited.span, as: cell, at: place)
  }

  /// Appends a new head to the edited cell; a large payload goes to a row of its own.
  private func append(
    _ head: Head, _ payload: RawSpan, in cell: CellNumber, to edited: inout ByteWriter
  ) throws {
    edited.append(head)
    if payload.byteCount > Cell.inlinePayloadBytesMax {
      try writeApart(head, payload, in: cell)
      let mark = Cell.mark(payload.byteCount)
      edited.append(varint: UInt64(mark.count))
      edited.append(mark)
    } else {
      edited.append(varint: UInt64(payload.byteCount))
      edited.append(payload)
    }
  }

  /// Puts an edited cell into the row, or takes the cell out if it has no heads left.
  private mutating func splice(_ edited: RawSpan, as cell: CellNumber, at place: CellPlace) {
    isChanged = true
    existence = .unknown
    guard edited.byteCount > 0 else { return row.removeSubrange(place.entry) }
    let (number, count) = (UInt64(cell.rawValue), UInt64(edited.byteCount))
    let prefixBytes = ByteWriter.varintByteCount(number) + ByteWriter.varintByteCount(count)
    resize(place.entry, to: prefixBytes + edited.byteCount)
    row.withUnsafeMutableBytes { row in
      var pen = Pen(row, at: place.entry.lowerBound)
      pen.write(varint: number)
      pen.write(varint: count)
      pen.write(edited)
    }
  }

  // MARK: What lies apart

  private func key(of cell: CellNumber, _ head: HeadID) throws -> ElementKey {
    ElementKey(
      state: state, record: try RecordLayout.recordNumber(of: row.span.bytes), cell: cell, head: head)
  }

  /// A prefix of the heads of a cell that lie apart.
  private func headKey(of cell: CellNumber) throws -> ElementKey {
    .heads(of: state, record: try RecordLayout.recordNumber(of: row.span.bytes), cell: cell)
  }

  /// Where to look for heads apart that may have to go, nil for nowhere. One that has seen nobody else's can only have
  /// seen its own, so many replicas that never met cost each of them nothing.
  private func prefixOfRemovable(_ cell: CellNumber, _ removal: Removal) throws -> ElementKey? {
    switch removal {
    case .nothing: return nil
    case .head(let id): return try key(of: cell, id)
    case .seen:
      guard viewpoint.base == nil, viewpoint.lineage.isEmpty else { return try headKey(of: cell) }
      let number = try RecordLayout.recordNumber(of: row.span.bytes)
      return ElementKey(
        state: state, record: number, cell: cell, headsOf: viewpoint.replica, epoch: viewpoint.epoch)
    }
  }

  // A counter's heads of the row are summed where it is read; those apart have a row with their sum.

  private func readSum(of cell: CellNumber) throws -> CounterSum {
    let key = ElementKey.sum(
      of: state, record: try RecordLayout.recordNumber(of: row.span.bytes), cell: cell)
    return try storage.readElement(key).map { try CounterSum($0.span.bytes) } ?? CounterSum()
  }

  private func writeSum(_ sum: CounterSum, of cell: CellNumber) throws {
    let key = ElementKey.sum(
      of: state, record: try RecordLayout.recordNumber(of: row.span.bytes), cell: cell)
    if sum.isEmpty { return try storage.deleteElement(key) }
    var writer = ByteWriter()
    sum.append(to: &writer)
    try storage.writeElement(writer.span, key)
  }

  private func headsApart(
    of cell: CellNumber, except inline: Set<HeadID>, under prefix: ElementKey
  ) throws -> [OwnedHead] {
    try storage.elements(under: prefix).compactMap { element in
      let owned = try OwnedHead(apart: element.row.span.bytes)
      return inline.contains(owned.head.id) ? nil : owned
    }
  }

  private func writeApart(_ head: Head, _ payload: RawSpan, in cell: CellNumber) throws {
    var writer = ByteWriter()
    writer.append(head)
    writer.append(varint: UInt64(payload.byteCount))
    writer.append(payload)
    try storage.writeElement(writer.span, key(of: cell, head.id))
  }

  private func wholePayload(of head: InlineHead, in cell: CellNumber) throws -> [UInt8] {
    guard head.isApart else { return Array(row[head.payload]) }
    let key = try key(of: cell, head.head.id)
    guard let element = try storage.readElement(key) else {
      throw FormatError(
        .damaged, at: head.entry.lowerBound, in: "cell", expected: "a value kept apart",
        found: "no such row")
    }
    return try OwnedHead(apart: element.span.bytes).payload
  }

  // MARK: Helpers

  private mutating func select(_ record: RawSpan, in state: StateNumber) throws {
    if try !find(record, in: state) {
      RecordLayout.makeHeader(recordNumber: try storage.makeRecordNumber(in: state), into: &row)
      isChanged = true
      existence = .unknown
    }
  }

  /// The order of heads everywhere: effective timestamp, replica, epoch, sequence, index.
  private func isGreater(_ left: Head, _ right: Head) throws -> Bool {
    if left.timestamp != right.timestamp { return left.timestamp > right.timestamp }
    let (a, b) = (left.id, right.id)
    if a.replica != b.replica {
      #if PLANTED_BUGS
        if PlantedBug.noReplicaTieBreak.isPlanted { return (a.sequence, a.index) > (b.sequence, b.index) }
        if PlantedBug.replicaTieBreakByNumber.isPlanted { return a.replica > b.replica }
      #endif
      return try storage.replicaID(a.replica) > storage.replicaID(b.replica)
    }
    return (a.epoch, a.sequence, a.index) > (b.epoch, b.sequence, b.index)
  }
}
