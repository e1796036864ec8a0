package import OperationFormat

/// Folds operations into the rows of records: the one way by which anything gets there, be it a local
/// mutation, a remote segment, a rebuild or a replay.
///
/// A cell is a set of heads. An operation removes the heads of its cell that its transaction has seen, then
/// adds its own head. The fold holds one record's row at a time and edits its bytes in place; `flush` writes
/// it. Operations come in an order that causality allows.
package struct Fold<Storage: FoldStorage>: ~Copyable {
  package let storage: Storage
  var step: HeadStep<Storage>
  var loaded: LoadedRow<Storage>

  /// Whether what is plain is done in place. Without it the general step does everything: the oracle.
  var editsInPlace = true

  /// How large the nodes of lists and texts are. A check of the fold makes them small.
  package var orderLimits = UnitOrderLimits()

  /// How much a commit may do beside what operations say.
  package let bound = FoldBound()

  /// How many times a cell that had no losers got some.
  var conflictCount = 0

  /// Whether a change of a field makes its record alive, and a move changes where its element is. They always do, except
  /// where only the units that an operation makes are of interest.
  var takesEffect = true

  /// Whether a record is compacted in as many parts as the bound says.
  var compactsInParts = false

  /// The timestamp that the transaction has itself: it never changes, as the effective one may.
  package var claimedTimestamp = Timestamp(rawValue: 0)

  var edited = ByteWriter()
  var views = UnitOrderViews()
  var nodes = UnitOrderNodes()
  private var payload = ByteWriter()

  package init(storage: Storage) {
    self.storage = storage
    loaded = LoadedRow(storage: storage)
    step = HeadStep(
      storage: storage,
      context: CausalContext(zone: .none, replica: .none, epoch: 0, sequence: 0, base: nil),
      timestamp: Timestamp(rawValue: 0), bound: bound)
  }

  // MARK: Verbs

  /// Folds `create`, or `move here`: the record is alive, and the heads of its fields that the transaction
  /// has seen go.
  package mutating func create(_ record: RawSpan, in state: StateNumber, type: NameNumber, index: UInt32)
    throws
  {
    try begin(record, in: state)
    try loaded.unpack()
    try willChange(type: type)
    try loaded.joinRegisters()
    try loaded.divideIfLarge()
    try thin(CellPath(.existence), at: index)
    // In the order of their keys: a key tells where it was paused.
    var next: CellNumber? = try bound.next?.cell ?? .existence
    while let first = next {
      let cells = try loaded.cellNumbers(seenAt: index, from: first, by: step)
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
    try noteCreation(by: Head(timestamp: claimedTimestamp, id: step.head(at: index).id))
  }

  private func pauseIfSpent(at cell: CellNumber) throws {
    try bound.pauseIfSpent(at: ElementKey(state: state, record: recordNumber, cell: cell))
  }

  /// Folds `delete`, or `move away`: the record is dead. Its fields stay, hidden.
  ///
  /// - Parameter place: where it moved to, as the operation says it; empty if it was deleted.
  mutating func delete(
    _ record: RawSpan, in state: StateNumber, movedTo place: RawSpan = RawSpan(), index: UInt32
  ) throws {
    try begin(record, in: state)
    try loaded.unpack()
    try willChange()
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
    try begin(record, in: state)
    try change(kind, field, type: type, operand: operand, index: index)
  }

  /// Reads a record's row before it changes, and begins one if it has none. What is to be compacted is so before.
  private mutating func begin(_ record: RawSpan, in state: StateNumber) throws {
    if context.floor != nil {
      try loaded.read(record, in: state)
      try compactBeforeChange()
    }
    try loaded.readOrBegin(record, in: state, needsCreation: context.floor != nil)
  }

  /// Folds an operation on a field of the loaded record, which was read by ``aliveType(of:in:_:)``.
  mutating func change(
    _ kind: OperationKind, _ field: NameNumber, type: NameNumber, operand: RawSpan, index: UInt32
  ) throws {
    try willChange(kind, field, type: type, operand: operand)
    if kind == .set, try setPacked(field, type: type, value: operand, index: index) { return }
    try loaded.unpack()
    if loaded.bytes.count > loaded.wholeRowBytesMax { try loaded.divideIfLarge() }
    // Before anything changes: where it is paused, it begins again.
    try thin(CellPath(.existence), at: index)
    if kind == .set, try setInPlace(field, type: type, value: operand, index: index) { return }
    guard let cell = FieldKind(of: kind) else {
      throw FormatError(
        .unknownTag, at: 0, in: "operation.kind", expected: "one on a field", found: "\(kind.rawValue)")
    }
    try cell.with { try $0.apply(kind, operand, to: field, index: index, in: &self) }
    if takesEffect { try set(existence: .alive(type: type), index: index) }
  }

  /// Loads the record's row; false if it has none.
  package mutating func load(_ record: RawSpan, in state: StateNumber) throws -> Bool {
    try loaded.load(record, in: state)
  }

  /// Writes the loaded row, if it changed. Call it before anybody else reads.
  package mutating func flush() throws { try loaded.flush() }

  /// Forgets the loaded row and what changed in it: what is in the storage counts.
  package mutating func reset() {
    loaded.reset()
    views.removeAll()
    nodes.removeAll()
  }

  // MARK: Existence

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
    try replace(.existence, removing: .seen(at: index), adding: step.head(at: index), payload: bytes.span)
  }
}

/// What belongs to one of the fold's parts.
extension Fold {
  /// What the transaction that is being folded had seen.
  package var context: CausalContext {
    get { step.context }
    set { step.context = newValue }
  }

  /// Its effective timestamp. Set ``claimedTimestamp`` after it, where that is another.
  package var timestamp: Timestamp {
    get { step.timestamp }
    set { (step.timestamp, claimedTimestamp) = (newValue, newValue) }
  }

  /// How many heads of a cell that are stored apart are read without an index. A check of the fold makes it
  /// less.
  package var scannedHeadsMax: Int {
    get { step.scannedHeadsMax }
    set { step.scannedHeadsMax = newValue }
  }

  /// From how many bytes on a row is divided into blocks: see ``WideRow``.
  package var wholeRowBytesMax: Int {
    get { loaded.wholeRowBytesMax }
    set { loaded.wholeRowBytesMax = newValue }
  }

  /// How large these blocks are.
  package var blockBytesMax: Int {
    get { loaded.blockBytesMax }
    set { loaded.blockBytesMax = newValue }
  }

  var state: StateNumber { loaded.state }

  /// The number of the loaded record in its state.
  var recordNumber: UInt32 { get throws { try loaded.recordNumber } }
}
