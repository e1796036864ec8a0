import OperationFormat

/// Puts the records of a snapshot into an empty state, in steps.
///
/// A step may end within a record: the next one continues it, in another transaction of LMDB. What is in the state counts
/// only once all is: a loader that is lost is begun again with another state.
final class SnapshotLoader {
  /// What comes next in the content.
  enum Stage {
    case record
    case cell
    case heads(left: UInt64)
    case elements(left: UInt64)
    case makers(left: UInt64)
    case makerRuns(Inserter, left: UInt64, lanesLeft: UInt64)
    case parts
    case items(Piece, left: UInt64)
    case end
  }

  /// How many bytes of the content a step reads at least.
  private static let stepBytes: UInt64 = 1 << 20
  /// The most heads, elements, parts and records of one step.
  private static let stepItemsMax = 16_384

  let state: StateNumber
  private let manifest: SnapshotManifest
  var decoder: SnapshotDecoder
  var lanes: [SnapshotDecoder.FoundLane] = []
  var replicas: [ReplicaNumber] = []
  private var names: [NameNumber] = []
  private var incarnation = IncarnationNumber.none

  private var hasBegun = false
  private var plainCells: [SnapshotDecoder.PlainCell] = []
  private var row = ByteWriter()
  var stage = Stage.record
  private(set) var records: UInt64 = 0
  /// The assets that values name.
  private(set) var assets: Set<AssetReference> = []
  private var steps: UInt64 = 0
  private var name: [UInt8] = []
  private var cellsLeft: UInt64 = 0
  var cell = CellNumber.existence
  var lastMaker: (sequence: UInt64, units: UInt64) = (0, 0)
  var makerLane = 0
  /// The parts of a text of which all parts so far are compacted: its rows are written when all are read.
  var compacted: CompactedUnits?
  private var lastElement: ElementName?

  /// - Parameters:
  ///   - state: an empty one.
  ///   - fetch: gives a part as it is stored.
  init(_ manifest: SnapshotManifest, into state: StateNumber, fetch: @escaping (Int) throws -> [UInt8]) {
    (self.manifest, self.state) = (manifest, state)
    decoder = SnapshotDecoder(manifest, fetch: fetch)
  }

  /// Whether some heads may be compacted.
  var hasFloor: Bool { manifest.floor != nil }

  /// How many bytes of the content were read.
  var readBytes: UInt64 { decoder.readBytes }

  var isDone: Bool { if case .end = stage { true } else { false } }

  /// Loads some records. The caller commits.
  ///
  /// - Throws: `FormatError` for a content that is damaged, or that no store wrote.
  func step(into store: StoreTransaction) throws {
    try checkState(store)
    if !hasBegun { try begin(store) }
    hasBegun = true
    if case .record = stage {} else { try continueRecord(in: store) }
    let end = decoder.readBytes + Self.stepBytes
    var left = Self.stepItemsMax
    while !isDone, left > 0, decoder.readBytes < end {
      try advance(store)
      left -= 1
    }
    try store.fold.flush()
    var row = try store.storage.stateRow(state)
    guard row.status == .loading else { return }
    steps += 1
    row.steps = steps
    store.storage.setStateRow(row, state)
  }

  /// Throws unless the state has all that was loaded: a commit may have failed.
  private func checkState(_ store: StoreTransaction) throws {
    let row = try store.storage.stateRow(state)
    guard row.status != .loading || row.steps == steps else {
      throw StoreError(.commitFailed, "a step of loading a snapshot was lost", hint: "try again")
    }
  }

  private func begin(_ store: StoreTransaction) throws {
    let storage = store.storage
    lanes = try decoder.readLanes()
    replicas = try lanes.map { try storage.replicas.makeNumber(for: $0.id.replica) }
    incarnation = try storage.incarnations.makeNumber(for: manifest.incarnation)
    try decoder.readEntries(of: lanes) { _, _, _ in }
    if let floor = manifest.floor {
      var row = try storage.stateRow(state)
      row.floor = CompactionFloor(incarnation: incarnation, offset: floor)
      row.floor?.isDone = true
      storage.setStateRow(row, state)
    }
  }

  private func continueRecord(in store: StoreTransaction) throws {
    let name = name
    try store.fold.beginLoading(name.span.bytes, in: state, isNew: false)
  }

  private func advance(_ store: StoreTransaction) throws {
    switch stage {
    case .record: try beginRecord(store)
    case .cell: try beginCell(store)
    case .heads(let left):
      if left == 0 { return endCell() }
      stage = .heads(left: left - 1)
      try decoder.mayCut()
      try readHead(store) { head, payload in
        try store.fold.load(head, of: CellPath(cell), payload)
      }
    case .elements(let left):
      if left == 0 { return endCell() }
      stage = .elements(left: left - 1)
      try loadElement(store)
    case .makers(let left): try beginMakers(left, store)
    case .makerRuns(let inserter, let left, let lanesLeft):
      if left == 0 {
        stage = .makers(left: lanesLeft)
      } else {
        stage = .makerRuns(inserter, left: left - 1, lanesLeft: lanesLeft)
        try loadMakers(of: inserter, store)
      }
    case .parts: try loadPart(store)
    case .items(let piece, let left):
      if left == 0 {
        stage = .parts
      } else {
        stage = .items(piece, left: left - 1)
        try loadItem(in: piece, store)
      }
    case .end: break
    }
  }

  // MARK: Records

  private func beginRecord(_ store: StoreTransaction) throws {
    guard let range = try decoder.readRecordName() else {
      try decoder.finish()
      guard records == manifest.records else {
        throw decoder.bad("\(manifest.records) records", "\(records)")
      }
      stage = .end
      return
    }
    let (before, name) = (name, decoder.bytes(range))
    self.name = name
    guard records == 0 || compareBytes(before.span.bytes, name.span.bytes) < 0 else {
      throw decoder.bad("records in the order of their names", "another order")
    }
    records += 1
    let (found, isUncreated) = try decoder.readCreation(hasFloor: hasFloor)
    let creation = try found.map { try head($0) }
    cellsLeft = try decoder.readNumber()
    if names.count == decoder.names.count, !isUncreated,
      try decoder.readPlainCells(cellsLeft, into: &plainCells)
    {
      return try loadPlain(name, creation, store)
    }
    try store.fold.beginLoading(name.span.bytes, in: state, isNew: true)
    if let creation { try store.fold.loadCreation(creation) }
    if isUncreated { store.fold.loaded.setFlag(.uncreated, true) }
    cell = .existence
    stage = .cell
  }

  /// Loads a record whose cells are plain. Most rows are written at once.
  private func loadPlain(_ name: [UInt8], _ creation: Head?, _ store: StoreTransaction) throws {
    var cells: [(number: CellNumber, head: Head, plain: SnapshotDecoder.PlainCell)] = []
    cells.reserveCapacity(plainCells.count)
    var byteCount = Self.plainRowBytesMax
    var namesRecords = false
    for plain in plainCells {
      let number = plain.field.map { CellNumber(register: names[$0]) } ?? .existence
      cells.append((number, try head(plain.head), plain))
      byteCount -= plain.payload.count + Self.plainCellBytes
      guard plain.field != nil else { continue }
      try decoder.withBytes(plain.payload) { payload in
        try checkValue(payload)
        if Value.mayNameRecords(payload) { namesRecords = true }
      }
    }
    cells.sort { $0.number < $1.number }
    for index in cells.indices.dropFirst() where cells[index - 1].number == cells[index].number {
      throw decoder.bad("each cell once", "one twice")
    }
    if cells.first?.number == .existence, !namesRecords, byteCount >= 0 {
      // The writer is lent, so that nothing is allocated.
      var row = ByteWriter()
      swap(&row, &self.row)
      defer { swap(&row, &self.row) }
      row.removeAll()
      for (index, cell) in cells.enumerated() {
        try appendPlain(cell.number, cell.head, cell.plain, to: &row)
        if index == 0 { RecordRow.append(creation: creation, to: &row) }
      }
      return try store.fold.load(row.span, of: name.span.bytes, in: state)
    }
    try store.fold.beginLoading(name.span.bytes, in: state, isNew: true)
    if let creation { try store.fold.loadCreation(creation) }
    for cell in cells {
      try store.fold.makeRoom()
      try withPayload(of: cell.plain) { try store.fold.load(cell.head, of: CellPath(cell.number), $0) }
    }
  }

  /// A row may get so many bytes at once; each cell takes so many, without its value, at most.
  private static let (plainRowBytesMax, plainCellBytes) = (WideRow.wholeBytesMax / 2, 64)

  private func withPayload(
    of plain: SnapshotDecoder.PlainCell, _ body: (RawSpan) throws -> Void
  ) throws {
    if plain.field != nil { return try decoder.withBytes(plain.payload, body) }
    var payload = ByteWriter()
    Existence.alive(type: names[plain.type]).append(to: &payload)
    try body(payload.span)
  }

  /// Appends a cell of one head to the row.
  private func appendPlain(
    _ number: CellNumber, _ head: Head, _ plain: SnapshotDecoder.PlainCell, to row: inout ByteWriter
  ) throws {
    try withPayload(of: plain) { payload in
      let payloadBytes = ByteWriter.varintByteCount(UInt64(payload.byteCount)) + payload.byteCount
      row.append(varint: UInt64(number.rawValue))
      row.append(varint: UInt64(1 + head.byteCount + payloadBytes))
      row.append(1)
      row.append(head)
      row.append(varint: UInt64(payload.byteCount))
      row.append(payload)
    }
  }

  private func beginCell(_ store: StoreTransaction) throws {
    guard cellsLeft > 0 else {
      stage = .record
      return
    }
    cellsLeft -= 1
    try decoder.mayCut()
    let kind = try decoder.readCellKind()
    cell = if let kind { CellNumber(try readName(store), kind) } else { .existence }
    // A cell comes once, so nothing of it is there.
    guard try store.fold.hasNothing(of: cell) else { throw decoder.bad("each cell once", "one twice") }
    try store.fold.makeRoom()
    lastElement = nil
    lastMaker = (0, 0)
    switch cell.layout {
    case .heads?: stage = .heads(left: try decoder.readNumber(1 ... .max))
    case .elements?: stage = .elements(left: try decoder.readNumber(1 ... .max))
    case .units?: stage = .makers(left: try decoder.readNumber(1 ... .max))
    case nil: throw decoder.bad("a kind of cell", "none")
    }
  }

  func endCell() { stage = .cell }

  private func readName(_ store: StoreTransaction) throws -> NameNumber {
    let index = try decoder.readName()
    if index == names.count { names.append(try store.storage.names.makeNumber(for: decoder.names[index])) }
    return names[index]
  }

  func head(_ found: SnapshotDecoder.FoundHead) throws -> Head {
    guard found.sequence <= lanes[found.lane].last, found.sequence > 0 || hasFloor else {
      throw decoder.bad("a sequence of at most \(lanes[found.lane].last)", "\(found.sequence)")
    }
    return Head(
      timestamp: found.timestamp,
      id: HeadID(
        replica: replicas[found.lane], epoch: lanes[found.lane].id.epoch, sequence: found.sequence,
        index: found.index))
  }

  /// Reads a head of the cell or of an element of it, with its payload as a row has it.
  func readHead(_ store: StoreTransaction, _ body: (Head, RawSpan) throws -> Void) throws {
    let head = try head(decoder.readHead())
    if cell == .existence {
      let payload = try readExistence(store)
      return try body(head, payload.span)
    }
    var prefix = ByteWriter()
    if cell.kind == .contributions { try appendBase(to: &prefix, store) }
    let range = try decoder.readPayload()
    try decoder.withBytes(range) { payload in
      try check(payload)
      if prefix.count == 0 { return try body(head, payload) }
      prefix.append(payload)
      try body(head, prefix.span)
    }
  }

  private func readExistence(_ store: StoreTransaction) throws -> ByteWriter {
    var payload = ByteWriter()
    switch try decoder.readByte() {
    case 0: payload.append(0)
    case 1: Existence.alive(type: try readName(store)).append(to: &payload)
    case 2:
      payload.append(Existence.movedTag)
      let range = try decoder.readPayload()
      decoder.withBytes(range) { payload.append($0) }
      _ = try Existence(payload: payload.span)
    case let tag: throw decoder.bad("0 to 2", "\(tag)")
    }
    return payload
  }

  private func appendBase(to payload: inout ByteWriter, _ store: StoreTransaction) throws {
    guard let base = try decoder.readBase() else {
      return ContributionPayload.append(base: nil, to: &payload)
    }
    let number =
      try base.incarnation.map { try store.storage.incarnations.makeNumber(for: $0) } ?? incarnation
    ContributionPayload.append(base: (number, base.offset), to: &payload)
  }

  /// Checks what a head of a field says: what is in a row must be readable.
  private func check(_ payload: RawSpan) throws {
    if cell.kind == .set {
      guard payload.byteCount == 0 else { throw decoder.bad("no payload", "\(payload.byteCount) bytes") }
      return
    }
    try checkValue(payload)
    guard cell.kind == .counter else { return }
    var sum = CounterSum()
    try sum.add(payload)
  }

  private func checkValue(_ value: RawSpan) throws {
    try decoder.checkValue(value)
    var found: [AssetReference] = []
    try Value.appendAssets(in: value, to: &found)
    assets.formUnion(found)
  }

  // MARK: Elements

  private func loadElement(_ store: StoreTransaction) throws {
    try decoder.mayCut()
    let range = try decoder.readPayload()
    let identity = decoder.bytes(range)
    if cell.kind == .set {
      try checkValue(identity.span.bytes)
    } else {
      guard identity.count <= Limits.mapKeyBytesMax else {
        throw decoder.bad("a key of at most \(Limits.mapKeyBytesMax) bytes", "\(identity.count)")
      }
      _ = try Name.text(in: identity.span.bytes)
    }
    let name = ElementName(identity.span.bytes)
    if let last = lastElement, compareBytes(last.bytes.span.bytes, name.bytes.span.bytes) >= 0 {
      throw decoder.bad("elements in the order of their names", "another order")
    }
    lastElement = name
    for _ in 0..<(try decoder.readNumber(1 ... .max)) {
      try decoder.mayCut()
      try readHead(store) { head, payload in
        try store.fold.replaceElement(
          CellPath(cell, name), identity.span.bytes, .nothing, head, payload)
      }
    }
  }
}
