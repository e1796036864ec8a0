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
  package var context: CausalContext
  /// Its effective timestamp.
  package var timestamp: Timestamp

  /// Whether what is plain is done in place. Without it the general step does everything: the oracle.
  package var editsInPlace = true

  /// How many heads of a cell that lie apart are looked at without an index. A check of the fold makes it less.
  package var scannedHeadsMax = 8
  /// From how many bytes on a row is divided into blocks, and how large these are: see ``WideRow``.
  package var wholeRowBytesMax = WideRow.wholeBytesMax
  package var blockBytesMax = WideRow.blockBytesMax

  /// How large the nodes of lists and texts are. A check of the fold makes them small.
  package var orderLimits = UnitOrderLimits()

  /// How much a commit may do beside what operations say.
  package let bound = FoldBound()

  /// How many times a cell that had no losers got some.
  package internal(set) var conflictCount = 0

  private(set) var state: StateNumber = .none
  /// The key of the record at hand: see ``FoldStorage/readRecord(_:into:)``.
  private var key = ByteWriter()
  var row: [UInt8] = []
  /// Its registers as they are stored, if they are kept apart and were put into the row: see ``DividedRow``.
  var registers: [UInt8] = []
  /// The blocks of a wide record that were read; one may be in the row.
  var blocks = CellBlocks()
  var isChanged = false
  /// What a look at the row at hand found of the record's existence, until that changes.
  var existence: PlainExistence = .unknown
  var edited = ByteWriter()
  var views = UnitOrderViews()
  var nodes = UnitOrderNodes()
  private var payload = ByteWriter()

  package init(storage: Storage) {
    self.storage = storage
    context = CausalContext(zone: .none, replica: .none, epoch: 0, sequence: 0, base: nil)
    timestamp = Timestamp(rawValue: 0)
  }

  // MARK: Verbs

  /// Folds `create`, or `move here`: the record is alive, and the heads of its fields that the transaction has seen go.
  package mutating func create(_ record: RawSpan, in state: StateNumber, type: NameNumber, index: UInt32)
    throws
  {
    try select(record, in: state)
    try joinRegisters()
    try divideIfLarge()
    try thin(CellPath(.existence), at: index)
    // In the order of their keys: a key tells where it was paused.
    var next: CellNumber? = try bound.next?.cell ?? .existence
    while let first = next {
      let cells = try cellNumbers(seenAt: index, from: first)
      try bound.count(looked: cells.looked)
      for cell in cells.found {
        try cell.kind?.with { try $0.clear(cell, seenAt: index, in: &self) }
        try pauseIfSpent(at: cell.next)
      }
      next = cells.next
      if let next { try pauseIfSpent(at: next) }
    }
    if bound.rule != .none { bound.next = nil }
    try set(existence: .alive(type: type), index: index)
  }

  private func pauseIfSpent(at cell: CellNumber) throws {
    try bound.pauseIfSpent(at: ElementKey(state: state, record: recordNumber, cell: cell))
  }

  /// Folds `delete`, or `move away`: the record is dead. Its fields stay, hidden.
  ///
  /// - Parameter place: where it moved to, as the operation says it; empty if it was deleted.
  package mutating func delete(
    _ record: RawSpan, in state: StateNumber, movedTo place: RawSpan = RawSpan(), index: UInt32
  ) throws {
    try select(record, in: state)
    try thin(CellPath(.existence), at: index)
    guard !place.isEmpty else { return try set(existence: .dead, index: index) }
    try setExistence(index: index) { payload in
      payload.append(Existence.movedTag)
      payload.append(place)
    }
  }

  /// Folds an operation on a field: the field changes, and the record gets a head that it is alive.
  ///
  /// - Parameter operand: what the operation says of the field: see ``OperationKind``.
  package mutating func change(
    _ kind: OperationKind, _ field: NameNumber, of record: RawSpan, in state: StateNumber, type: NameNumber,
    operand: RawSpan, index: UInt32
  ) throws {
    try select(record, in: state)
    try change(kind, field, type: type, operand: operand, index: index)
  }

  /// Folds an operation on a field of the record at hand.
  mutating func change(
    _ kind: OperationKind, _ field: NameNumber, type: NameNumber, operand: RawSpan, index: UInt32
  ) throws {
    if row.count > wholeRowBytesMax { try divideIfLarge() }
    // Before anything changes: where it is paused, it begins again.
    try thin(CellPath(.existence), at: index)
    if kind == .set, try setInPlace(field, type: type, value: operand, index: index) { return }
    guard let cell = FieldKind(of: kind) else {
      throw FormatError(
        .unknownTag, at: 0, in: "operation.kind", expected: "one on a field", found: "\(kind.rawValue)")
    }
    try cell.with { try $0.apply(kind, operand, to: field, index: index, in: &self) }
    try set(existence: .alive(type: type), index: index)
  }

  /// Loads the record's row; false if it has none.
  package mutating func load(_ record: RawSpan, in state: StateNumber) throws -> Bool {
    if self.state == state && equalBytes(key.span.extracting(droppingFirst: 4), record) {
      return !row.isEmpty
    }
    try flush()
    // Reading may fail: until it is done no record is loaded.
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
    if !registers.isEmpty { registers = [] }
    if !blocks.isEmpty { blocks = CellBlocks() }
    self.state = state
    return isThere
  }

  /// Writes the row at hand, if it changed. Must be called before anybody else reads.
  package mutating func flush() throws {
    guard isChanged else { return }
    if isWide {
      try writeBlocks()
      try storage.writeRecord(row.span.bytes, key.span)
    } else if row.count > DividedRow.registersBytesMax || !registers.isEmpty
      || DividedRow.isBase(row.span.bytes)
    {
      try flushLarge()
    } else {
      try storage.writeRecord(row.span.bytes, key.span)
    }
    isChanged = false
  }

  /// Writes a row that is kept in two parts, or may be: its registers only if they changed.
  private mutating func flushLarge() throws {
    if DividedRow.isBase(row.span.bytes) {
      if try DividedRow.hasOthers(row.span.bytes) { return try storage.writeRecord(row.span.bytes, key.span) }
      try joinRegisters()
    }
    let apart = ElementKey.registers(of: state, record: try recordNumber)
    guard let parts = try DividedRow.parts(of: row.span.bytes) else {
      try storage.writeRecord(row.span.bytes, key.span)
      if !registers.isEmpty { try storage.deleteElement(apart) }
      registers = []
      return
    }
    try storage.writeRecord(parts.base.span.bytes, key.span)
    if parts.registers != registers { try storage.writeElement(parts.registers.span.bytes, apart) }
    registers = parts.registers
  }

  /// Forgets the row at hand and what changed in it: what is in the storage counts.
  package mutating func reset() {
    state = .none
    row.removeAll(keepingCapacity: true)
    registers = []
    blocks = CellBlocks()
    existence = .unknown
    isChanged = false
    views.removeAll()
    nodes.removeAll()
  }

  // MARK: Existence

  func head(at index: UInt32) -> Head {
    Head(
      timestamp: timestamp,
      id: HeadID(
        replica: context.replica, epoch: context.epoch, sequence: context.sequence, index: index))
  }

  mutating func set(existence: Existence, index: UInt32) throws {
    try setExistence(index: index) { existence.append(to: &$0) }
  }

  @inline(__always)
  private mutating func setExistence(index: UInt32, _ append: (inout ByteWriter) -> Void) throws {
    // The writer is lent, so that nothing is allocated.
    var bytes = ByteWriter()
    swap(&bytes, &payload)
    defer { swap(&bytes, &payload) }
    bytes.removeAll()
    append(&bytes)
    try replace(.existence, removing: .seen(at: index), adding: head(at: index), payload: bytes.span)
  }

  // MARK: Helpers

  /// The UTF-8 of the name of the record at hand.
  var recordName: [UInt8] { key.span.extracting(droppingFirst: 4).bytes }

  /// The number of the record at hand in its state.
  var recordNumber: UInt32 { get throws { try RecordLayout.recordNumber(of: row.span.bytes) } }

  private mutating func select(_ record: RawSpan, in state: StateNumber) throws {
    if try !load(record, in: state) {
      RecordLayout.makeHeader(recordNumber: try storage.makeRecordNumber(in: state), into: &row)
      isChanged = true
      existence = .unknown
    }
  }
}
