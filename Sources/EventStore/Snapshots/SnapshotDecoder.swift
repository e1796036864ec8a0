import OperationFormat

/// Reads the content of a snapshot, part after part: see `SnapshotEncoder`.
///
/// Any bytes give what they say or an error. Nothing is kept of what was read but the names.
struct SnapshotDecoder: ~Copyable {
  /// A head as the content says it.
  struct FoundHead {
    var lane: Int
    var timestamp: Timestamp
    var sequence: UInt64
    var index: UInt32
  }

  struct FoundLane {
    var id: StoreIdentity
    var last: UInt64
    var closure: UInt64?
    var timestamp = Timestamp(rawValue: 0)
    var parent: (lane: Int, sequence: UInt64)?
    /// From which sequences on the base is another, ascending.
    var bases: [BaseStep]
  }

  private var part: [UInt8] = []
  private var position = 0
  private var hasher = ContentHasher()
  private var index = 0
  private let manifest: SnapshotManifest
  private let fetch: (_ index: Int) throws -> [UInt8]
  private var last = FoundHead(lane: -1, timestamp: Timestamp(rawValue: 0), sequence: 0, index: 0)
  private(set) var names: [Name] = []
  private var laneCount = 0

  /// - Parameter fetch: gives a part as it is stored.
  init(_ manifest: SnapshotManifest, fetch: @escaping (_ index: Int) throws -> [UInt8]) {
    (self.manifest, self.fetch) = (manifest, fetch)
  }

  /// How many bytes of the content were read.
  private(set) var readBytes: UInt64 = 0

  // MARK: Parts

  /// Reads the next part where one has ended.
  mutating func mayCut() throws {
    guard position == part.count, index < manifest.parts.count else { return }
    let stored = try fetch(index)
    part = try manifest.parts[index].unpack(stored.span.bytes)
    var hasher = hasher
    hasher.update(part.span.bytes)
    self.hasher = hasher
    position = 0
    index += 1
  }

  /// Checks that all was read, and that it is what the manifest says.
  func finish() throws {
    guard position == part.count, index == manifest.parts.count else {
      throw bad("the end", "\(part.count - position) more bytes, or more parts")
    }
    let found = hasher.finish()
    guard found == manifest.content else { throw bad("the content \(manifest.content)", "\(found)") }
  }

  func bad(_ expected: String, _ found: String) -> FormatError {
    FormatError(.invalid, at: position, in: "snapshot.content", expected: expected, found: found)
  }

  /// Lends bytes that were read last.
  func withBytes<R>(_ range: Range<Int>, _ body: (RawSpan) throws -> R) rethrows -> R {
    try body(part.span.bytes.extracting(range))
  }

  /// A copy of bytes that were read last.
  func bytes(_ range: Range<Int>) -> [UInt8] { Array(part[range]) }

  // MARK: Numbers

  mutating func readByte() throws -> UInt8 {
    var reader = ByteReader(part.span.bytes, at: position)
    let byte = try reader.readUInt8("snapshot.content")
    move(to: reader.position)
    return byte
  }

  mutating func readNumber(_ range: ClosedRange<UInt64> = 0 ... .max) throws -> UInt64 {
    var reader = ByteReader(part.span.bytes, at: position)
    let number = try reader.readVarint("snapshot.content", in: range)
    move(to: reader.position)
    return number
  }

  mutating func readZigzag() throws -> Int64 {
    var reader = ByteReader(part.span.bytes, at: position)
    let number = try reader.readZigzag("snapshot.content")
    move(to: reader.position)
    return number
  }

  private mutating func readBigEndian128() throws -> UInt128 {
    var reader = ByteReader(part.span.bytes, at: position)
    let bits = try reader.readBigEndian("snapshot.content", as: UInt128.self)
    move(to: reader.position)
    return bits
  }

  private mutating func readLittleEndian64() throws -> UInt64 {
    var reader = ByteReader(part.span.bytes, at: position)
    let bits = try reader.readLittleEndian("snapshot.content", as: UInt64.self)
    move(to: reader.position)
    return bits
  }

  private mutating func readHash() throws -> ContentHash {
    var reader = ByteReader(part.span.bytes, at: position)
    let hash = try ContentHash.read(from: &reader, "snapshot.content")
    move(to: reader.position)
    return hash
  }

  private mutating func move(to end: Int) {
    readBytes += UInt64(end - position)
    position = end
  }

  /// A count of bytes and these.
  mutating func readPayload() throws -> Range<Int> {
    var reader = ByteReader(part.span.bytes, at: position)
    let count = try reader.readCount("snapshot.content")
    let range = try reader.readBytes(count, "snapshot.content")
    move(to: reader.position)
    return range
  }

  mutating func readLane() throws -> Int {
    let lane = try readNumber()
    guard lane < laneCount else { throw bad("one of \(laneCount) lanes", "\(lane)") }
    return Int(lane)
  }

  /// The index of a name in ``names``.
  mutating func readName() throws -> Int {
    let number = try readNumber()
    guard number == 0 else {
      guard number <= names.count else { throw bad("one of \(names.count) names", "\(number)") }
      return Int(number) - 1
    }
    let range = try readPayload()
    let name = try withBytes(range) { try Name(utf8: $0) }
    guard 1...Limits.nameBytesMax ~= range.count else {
      throw bad("a name of 1 to \(Limits.nameBytesMax) bytes", "\(range.count)")
    }
    names.append(name)
    return names.count - 1
  }

  // MARK: The log

  /// Reads the lanes, which come first.
  mutating func readLanes() throws -> [FoundLane] {
    try mayCut()
    // Each has an entry.
    let count = try readNumber(0...min(manifest.offset, UInt64(UInt32.max)))
    laneCount = Int(count)
    var lanes: [FoundLane] = []
    for _ in 0..<count {
      try mayCut()
      let replica = ReplicaID(rawValue: try readBigEndian128())
      let epoch = UInt32(try readNumber(0...UInt64(UInt32.max)))
      var lane = FoundLane(
        id: StoreIdentity(replica: replica, epoch: epoch), last: try readNumber(0 ... .max - 1), bases: [])
      if let before = lanes.last?.id, (before.replica.rawValue, before.epoch) >= (replica.rawValue, epoch) {
        throw bad("lanes in ascending order", "\(lane.id)")
      }
      let closure = try readNumber(0...manifest.offset)
      lane.closure = closure == 0 ? nil : closure
      lane.timestamp = Timestamp(rawValue: try readLittleEndian64())
      let parent = try readNumber(0...count)
      if parent > 0 { lane.parent = (Int(parent) - 1, try readNumber(1 ... .max)) }
      var step = BaseStep(sequence: 0, base: 0)
      for _ in 0..<(try readNumber(0...lane.last)) {
        try mayCut()
        guard step.sequence < lane.last else { throw bad("at most \(lane.last) sequences", "more") }
        let more = try readNumber(1...(lane.last - step.sequence))
        let base = try readNumber(0...manifest.offset - 1)
        guard step.base < base || step.sequence == 0 else { throw bad("a base over \(step.base)", "\(base)") }
        step = BaseStep(sequence: step.sequence + more, base: base)
        lane.bases.append(step)
      }
      guard lane.last == 0 || lane.bases.first?.sequence == 1 else {
        throw bad("a base of sequence 1", "none")
      }
      lanes.append(lane)
    }
    for lane in lanes {
      guard let parent = lane.parent else { continue }
      guard parent.sequence <= lanes[parent.lane].last, lanes[parent.lane].id != lane.id else {
        throw bad("a parent in the log", "sequence \(parent.sequence) of \(lanes[parent.lane].id)")
      }
    }
    return lanes
  }

  /// Reads the entries, which follow the lanes, and calls a closure with each.
  ///
  /// - Throws: `FormatError` also if the lanes are not what the entries make of them.
  mutating func readEntries(
    of lanes: [FoundLane], _ body: (_ offset: UInt64, _ lane: Int?, SegmentRow) throws -> Void
  ) throws {
    try mayCut()
    _ = try readNumber(manifest.offset...manifest.offset)
    var check = LaneCheck(lanes)
    var (hash, chain) = (ContentHash.zero, LogChain(hash: .zero))
    for offset in 1...manifest.offset {
      try mayCut()
      let (lane, row, found) = try readEntry()
      if let lane, let problem = check.problem(of: row, at: offset, lane) {
        throw bad("\(problem)", "another")
      }
      (hash, chain) = (row.hash, found)
      try body(offset, lane, row)
    }
    guard hash == manifest.hash, chain == manifest.chain else {
      throw bad("the entry and the chain that the manifest says", "others")
    }
    if let problem = check.problem { throw bad(problem, "another") }
  }

  private mutating func readEntry() throws -> (lane: Int?, row: SegmentRow, chain: LogChain) {
    let byte = try readByte()
    guard byte < 16 else { throw bad("flags of an entry", "\(byte)") }
    let flags = SnapshotContent.EntryFlags(rawValue: byte)
    let lane = flags.contains(.isGivenUp) ? nil : try readLane()
    var row = SegmentRow.quarantined(.zero)
    if lane != nil {
      (row.first, row.last) = (try readNumber(1 ... .max - 1), try readNumber(0 ... .max - 1))
    }
    if flags.contains(.hasReceiveTime) { row.receivedMilliseconds = try readNumber(0 ... .max - 1) }
    if flags.contains(.isRejected) {
      let byte = try readByte()
      guard let reason = SegmentRejection(rawValue: byte), lane != nil else {
        throw bad("why an entry is rejected", "\(byte)")
      }
      row.rejection = reason
    }
    row.hash = try readHash()
    let chain = LogChain(hash: try readHash())
    row.chain = chain
    row.isChainStated = !flags.contains(.isChainUnstated)
    return (lane, row, chain)
  }

  /// What the entries make of the lanes: a snapshot that says otherwise would leave a store that cannot sync.
  private struct LaneCheck {
    let lanes: [FoundLane]
    private var placed: [UInt64]
    private var closures: [UInt64?]

    init(_ lanes: [FoundLane]) {
      self.lanes = lanes
      placed = Array(repeating: 0, count: lanes.count)
      closures = Array(repeating: nil, count: lanes.count)
    }

    /// What is wrong with an entry, as what is expected; nil if nothing is.
    mutating func problem(of row: SegmentRow, at offset: UInt64, _ lane: Int) -> String? {
      guard row.rejection == nil else {
        if closures[lane] == nil { closures[lane] = offset }
        return nil
      }
      guard row.first <= row.last, row.first - 1 <= placed[lane],
        row.last - row.first < UInt64(Limits.segmentUnpackedBytesMax), closures[lane] == nil
      else { return "sequences that follow \(placed[lane]) of \(lanes[lane].id) at offset \(offset)" }
      placed[lane] = max(placed[lane], row.last)
      return nil
    }

    /// What is wrong with the lanes, as what is expected; nil if nothing is.
    var problem: String? {
      for (index, lane) in lanes.enumerated() {
        if lane.last != placed[index] { return "sequence \(placed[index]) as the last one of \(lane.id)" }
        if lane.closure != closures[index] {
          return "\(lane.id) closed at \(closures[index].map { "\($0)" } ?? "no offset")"
        }
        if continuesItself(index) { return "\(lane.id) without itself before it" }
      }
      return nil
    }

    private func continuesItself(_ index: Int) -> Bool {
      var next = lanes[index].parent?.lane
      var count = 0
      while let found = next {
        count += 1
        if found == index || count > Limits.lineageMax { return true }
        next = lanes[found].parent?.lane
      }
      return false
    }
  }

  // MARK: Records

  /// The count of bytes of the next record's name; nil after the last one.
  mutating func readRecordName() throws -> Range<Int>? {
    try mayCut()
    let range = try readPayload()
    if range.isEmpty { return nil }
    guard range.count <= Limits.recordNameBytesMax else {
      throw bad("a record's name of at most \(Limits.recordNameBytesMax) bytes", "\(range.count)")
    }
    try withBytes(range) { _ = try Name.text(in: $0) }
    return range
  }

  /// By which transaction the record was created; nil if none is known.
  mutating func readCreation() throws -> FoundHead? {
    let byte = try readByte()
    guard byte < 2 else { throw bad("0 or 1", "\(byte)") }
    if byte == 0 { return nil }
    let timestamp = try readLittleEndian64()
    return FoundHead(
      lane: try readLane(), timestamp: Timestamp(rawValue: timestamp), sequence: try readNumber(1 ... .max),
      index: 0)
  }

  /// Reads a head up to and without its payload.
  mutating func readHead() throws -> FoundHead {
    var last = last
    var reader = ByteReader(part.span.bytes, at: position)
    let lane = try reader.readVarint("snapshot.content", in: 0...UInt64(laneCount))
    if lane > 0 {
      last.lane = Int(lane) - 1
      let change = try reader.readZigzag("snapshot.content")
      last.timestamp = Timestamp(rawValue: last.timestamp.rawValue &+ UInt64(bitPattern: change))
      last.sequence = try reader.readVarint("snapshot.content", in: 1 ... .max)
    }
    last.index = UInt32(try reader.readVarint("snapshot.content", in: 0...UInt64(UInt32.max)))
    move(to: reader.position)
    self.last = last
    guard last.lane >= 0 else { throw bad("a lane in the first head", "none") }
    return last
  }

  /// A cell of one head whose payload needs no other row.
  struct PlainCell {
    /// The index of the field's name; nil for the record's existence.
    var field: Int?
    var head: FoundHead
    /// The value of a register.
    var payload = 0..<0
    /// The index of the type's name, of an existence.
    var type = 0
  }

  /// Reads the cells of a record if all of them are plain: a register or the existence with one head, of names that are
  /// known. Most records are. If not, nothing is read.
  ///
  /// - Returns: whether they are.
  mutating func readPlainCells(_ count: UInt64, into cells: inout [PlainCell]) throws -> Bool {
    cells.removeAll(keepingCapacity: true)
    var last = last
    var reader = ByteReader(part.span.bytes, at: position)
    for _ in 0..<count {
      // The part may end within the record.
      guard reader.remaining > 0 else { return false }
      let kind = try reader.readVarint("snapshot.content")
      guard kind < 2 else { return false }
      var cell = PlainCell(head: last)
      if kind == 0 {
        let name = try reader.readVarint("snapshot.content")
        guard name > 0, name <= names.count else { return false }
        cell.field = Int(name) - 1
      }
      guard try reader.readVarint("snapshot.content") == 1, reader.remaining > 0 else { return false }
      let lane = try reader.readVarint("snapshot.content", in: 0...UInt64(laneCount))
      if lane > 0 {
        last.lane = Int(lane) - 1
        let change = try reader.readZigzag("snapshot.content")
        last.timestamp = Timestamp(rawValue: last.timestamp.rawValue &+ UInt64(bitPattern: change))
        last.sequence = try reader.readVarint("snapshot.content", in: 1 ... .max)
      }
      last.index = UInt32(try reader.readVarint("snapshot.content", in: 0...UInt64(UInt32.max)))
      guard last.lane >= 0 else { return false }
      cell.head = last
      if kind == 1 {
        guard try reader.readUInt8("snapshot.content") == 1 else { return false }
        let name = try reader.readVarint("snapshot.content")
        guard name > 0, name <= names.count else { return false }
        cell.type = Int(name) - 1
      } else {
        let byteCount = try reader.readCount("snapshot.content")
        guard byteCount <= Cell.inlinePayloadBytesMax else { return false }
        cell.payload = try reader.readBytes(byteCount, "snapshot.content")
      }
      cells.append(cell)
    }
    let end = reader.position
    self.last = last
    move(to: end)
    return true
  }

  /// What a contribution had seen.
  mutating func readBase() throws -> (incarnation: IncarnationID?, offset: UInt64)? {
    let byte = try readByte()
    switch byte {
    case 0: return nil
    case 1: return (nil, try readNumber())
    case 2: return (IncarnationID(rawValue: try readBigEndian128()), try readNumber())
    default: throw bad("0 to 2", "\(byte)")
    }
  }
}
