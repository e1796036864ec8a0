import OperationFormat

/// The row of the record that is folded. It is edited in place, and written when it changed, in version 2 if that
/// is shorter.
struct LoadedRow<Storage: FoldStorage>: ~Copyable {
  let storage: Storage
  /// From how many bytes on a row is divided into blocks, and how large these are: see ``WideRow``.
  var wholeRowBytesMax = WideRow.wholeBytesMax
  var blockBytesMax = WideRow.blockBytesMax

  private(set) var state: StateNumber = .none
  /// The state's number and the record's name: see ``FoldStorage/withRecord(_:_:)``.
  private var key = ByteWriter()
  private var packing = RowPacking()
  /// The row, in version 1; after ``read(_:in:)`` alone as it is stored. Of a wide record: its base, and one
  /// block.
  var bytes: [UInt8] = []
  /// Its registers as they are stored, if they are kept apart and were put into the row: see ``DividedRow``.
  var registers: [UInt8] = []
  /// The blocks of a wide record that were read; one may be in the row.
  var blocks = CellBlocks()
  var isChanged = false
  /// Whether the record comes after all that its state has.
  private var isLast = false
  /// Cached existence of the record; `unknown` after a change.
  var existence: PlainExistence = .unknown

  init(storage: Storage) { self.storage = storage }

  // MARK: Loading

  /// Loads the record's row; false if it has none.
  mutating func load(_ record: RawSpan, in state: StateNumber) throws -> Bool {
    try read(record, in: state)
    try unpack()
    return !bytes.isEmpty
  }

  /// Puts the record's row into the bytes, as it is stored, unless it is loaded.
  mutating func read(_ record: RawSpan, in state: StateNumber) throws {
    if self.state == state && equalBytes(key.span.extracting(droppingFirst: 4), record) { return }
    try flush()
    // Reading may fail: until it is done no record is loaded.
    self.state = .none
    existence = .unknown
    key.removeAll()
    key.append(bigEndian: state.rawValue)
    key.append(record)
    // It is lent: the key is read meanwhile.
    var row: [UInt8] = []
    swap(&row, &bytes)
    defer { swap(&row, &bytes) }
    row.removeAll(keepingCapacity: true)
    _ = try storage.withRecord(key.span) { $0.append(to: &row) }
    if !registers.isEmpty { registers = [] }
    if !blocks.isEmpty { blocks = CellBlocks() }
    self.state = state
  }

  /// Makes the loaded row one of version 1.
  mutating func unpack() throws {
    guard PackedRow.isPacked(bytes.span.bytes) else { return }
    var packing = RowPacking()
    swap(&packing, &self.packing)
    defer { swap(&packing, &self.packing) }
    replace(by: try packing.unpack(bytes.span.bytes))
  }

  private mutating func replace(by row: RawSpan) {
    bytes.removeAll(keepingCapacity: true)
    row.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }

  /// Loads the record's row, and begins one if it has none.
  mutating func loadOrBegin(_ record: RawSpan, in state: StateNumber) throws {
    try readOrBegin(record, in: state)
    try unpack()
  }

  /// The same, but a row that is there stays in its version.
  ///
  /// - Parameter needsCreation: whether the record that begins is not there until it is created.
  mutating func readOrBegin(_ record: RawSpan, in state: StateNumber, needsCreation: Bool = false) throws {
    try read(record, in: state)
    if bytes.isEmpty {
      RecordRow.makeHeader(recordNumber: try storage.makeRecordNumber(in: state), into: &bytes)
      isChanged = true
      existence = .unknown
      setFlag(.uncreated, needsCreation)
    }
  }

  /// Begins a record that the state does not have, after all that it has.
  mutating func beginLast(_ record: RawSpan, in state: StateNumber) throws {
    try flush()
    self.state = .none
    key.removeAll()
    key.append(bigEndian: state.rawValue)
    key.append(record)
    RecordRow.makeHeader(recordNumber: try storage.makeRecordNumber(in: state), into: &bytes)
    if !registers.isEmpty { registers = [] }
    if !blocks.isEmpty { blocks = CellBlocks() }
    (self.state, existence) = (state, .unknown)
    (isChanged, isLast) = (true, true)
  }

  /// Gives a record that was begun so all of its cells.
  mutating func setCells(_ cells: RawSpan) {
    bytes.removeLast(bytes.count - RecordRow.headerBytes)
    cells.withUnsafeBytes { bytes.append(contentsOf: $0) }
    (existence, isChanged) = (.unknown, true)
  }

  /// Writes the row if it changed. Nobody else may read before.
  mutating func flush() throws {
    guard isChanged else { return }
    if PackedRow.isPacked(bytes.span.bytes) {
      try storage.writeRecord(bytes.span.bytes, key.span)
    } else if isWide {
      try writeBlocks()
      try storage.writeRecord(bytes.span.bytes, key.span)
    } else if bytes.count > DividedRow.registersBytesMax || !registers.isEmpty
      || DividedRow.isBase(bytes.span.bytes)
    {
      try flushLarge()
    } else {
      try writeWhole()
    }
    (isChanged, isLast) = (false, false)
  }

  /// Writes a row that is not in parts, in version 2 if that is shorter.
  @inline(__always)
  private mutating func writeWhole() throws {
    // It is lent: the row and the key are read meanwhile.
    var packing = RowPacking()
    swap(&packing, &self.packing)
    defer { swap(&packing, &self.packing) }
    if let packed = packing.pack(bytes.span.bytes) {
      try isLast ? storage.appendRecord(packed, key.span) : storage.writeRecord(packed, key.span)
    } else {
      try storage.writeRecord(bytes.span.bytes, key.span)
    }
  }

  /// Writes a row that is stored in two parts, or may need to be. Writes the registers only if they changed.
  private mutating func flushLarge() throws {
    if DividedRow.isBase(bytes.span.bytes) {
      if try DividedRow.hasOthers(bytes.span.bytes) {
        return try storage.writeRecord(bytes.span.bytes, key.span)
      }
      try joinRegisters()
    }
    let apart = ElementKey.registers(of: state, record: try recordNumber)
    guard let parts = try DividedRow.parts(of: bytes.span.bytes) else {
      try writeWhole()
      if !registers.isEmpty { try storage.deleteElement(apart) }
      registers = []
      return
    }
    try storage.writeRecord(parts.base.span.bytes, key.span)
    if parts.registers != registers { try storage.writeElement(parts.registers.span.bytes, apart) }
    registers = parts.registers
  }

  /// Deletes the row, which has nothing left but its number.
  mutating func delete() throws {
    if !registers.isEmpty { try storage.deleteElement(.registers(of: state, record: try recordNumber)) }
    try storage.deleteRecord(key.span)
    reset()
  }

  /// Forgets the row and what changed in it: what is in the storage counts.
  mutating func reset() {
    state = .none
    bytes.removeAll(keepingCapacity: true)
    registers = []
    blocks = CellBlocks()
    existence = .unknown
    (isChanged, isLast) = (false, false)
  }

  // MARK: The record

  /// Runs a closure on the key of the row: see ``FoldStorage/withRecord(_:_:)``.
  @inline(__always)
  func withKey<R>(_ body: (RawSpan) throws -> R) rethrows -> R { try body(key.span) }

  /// The UTF-8 of the record's name.
  var recordName: [UInt8] { key.span.extracting(droppingFirst: 4).bytes }

  /// The record's number in its state.
  var recordNumber: UInt32 { get throws { try RecordRow.recordNumber(of: bytes.span.bytes) } }

  func address(of path: CellPath) throws -> CellAddress {
    CellAddress(state: state, record: try recordNumber, path)
  }

  // MARK: Editing

  /// Sets a flag of the row, which is of version 1.
  mutating func setFlag(_ flag: RowFlags, _ isSet: Bool) {
    var flags = RecordRow.flags(of: bytes.span.bytes)
    guard flags.contains(flag) != isSet else { return }
    if isSet { flags.insert(flag) } else { flags.remove(flag) }
    bytes[RowFlags.offset] = flags.rawValue
    (existence, isChanged) = (.unknown, true)
  }

  /// Sets a field of the record if its row was read, is of version 2, and plain: see
  /// ``RowPacking/set(_:to:type:_:in:removes:)``.
  ///
  /// - Returns: false if it is not. Nothing has changed then.
  mutating func setPacked(
    _ field: CellNumber, to value: RawSpan, type: NameNumber, _ head: Head,
    removes: (HeadID) throws -> Bool
  ) throws -> Bool {
    guard PackedRow.isPacked(bytes.span.bytes) else { return false }
    var packing = RowPacking()
    swap(&packing, &self.packing)
    defer { swap(&packing, &self.packing) }
    guard
      let row = try packing.set(
        field, to: value, type: type, head, in: bytes.span.bytes, removes: removes)
    else { return false }
    replace(by: row)
    isChanged = true
    return true
  }

  /// Puts an edited cell into the row, or takes the cell out if nothing is left of it.
  mutating func splice(_ edited: RawSpan, as cell: CellNumber, at place: CellPlace) {
    isChanged = true
    existence = .unknown
    guard edited.byteCount > 0 else { return bytes.removeSubrange(place.entry) }
    let (number, count) = (UInt64(cell.rawValue), UInt64(edited.byteCount))
    let prefixBytes = ByteWriter.varintByteCount(number) + ByteWriter.varintByteCount(count)
    resize(place.entry, to: prefixBytes + edited.byteCount)
    bytes.withUnsafeMutableBytes { row in
      var pen = Pen(row, at: place.entry.lowerBound)
      pen.write(varint: number)
      pen.write(varint: count)
      pen.write(edited)
    }
  }

  /// Makes a part of the row longer or shorter. What is in it then is to be written.
  mutating func resize(_ range: Range<Int>, to count: Int) {
    let old = bytes.count
    let change = count - range.count
    if change > 0 { bytes.append(contentsOf: repeatElement(0, count: change)) }
    if change != 0 {
      bytes.withUnsafeMutableBytes { row in
        UnsafeMutableRawBufferPointer(rebasing: row[(range.upperBound + change)...]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: row[range.upperBound..<old]))
      }
    }
    if change < 0 { bytes.removeLast(-change) }
  }
}
