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

    /// Makes it the head that follows it in the content.
    mutating func readNext(from reader: inout ByteReader, _ laneCount: Int) throws(FormatError) {
      let lane = try reader.readVarint("snapshot.content", in: 0...UInt64(laneCount))
      if lane > 0 {
        self.lane = Int(lane) - 1
        let change = try reader.readZigzag("snapshot.content")
        timestamp = Timestamp(rawValue: timestamp.rawValue &+ UInt64(bitPattern: change))
        sequence = try reader.readVarint("snapshot.content")
      }
      index = UInt32(try reader.readVarint("snapshot.content", in: 0...UInt64(UInt32.max)))
    }
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
  let manifest: SnapshotManifest
  private let content: (_ index: Int) throws -> [UInt8]
  private var last = FoundHead(lane: -1, timestamp: Timestamp(rawValue: 0), sequence: 0, index: 0)
  private(set) var names: [Name] = []
  private var knownNames: Set<Name> = []
  var laneCount = 0

  /// - Parameter fetch: gives a part as it is stored.
  init(_ manifest: SnapshotManifest, fetch: @escaping (_ index: Int) throws -> [UInt8]) {
    self.init(
      manifest,
      content: { index in
        let stored = try fetch(index)
        return try manifest.parts[index].unpack(stored.span.bytes)
      })
  }

  /// - Parameter content: gives what is in a part.
  init(_ manifest: SnapshotManifest, content: @escaping (_ index: Int) throws -> [UInt8]) {
    (self.manifest, self.content) = (manifest, content)
  }

  /// How many bytes of the content were read.
  private(set) var readBytes: UInt64 = 0

  // MARK: Parts

  /// The index of the part that is to be read next; nil unless one has ended.
  var neededPart: Int? { position == part.count && index < manifest.parts.count ? index : nil }

  /// Reads the next part where one has ended.
  mutating func mayCut() throws {
    if let needed = neededPart { take(try content(needed)) }
  }

  /// Takes what is in the next part.
  mutating func take(_ content: [UInt8]) {
    part = content
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
    try read { reader throws(FormatError) in try reader.readUInt8("snapshot.content") }
  }

  mutating func readNumber(_ range: ClosedRange<UInt64> = 0 ... .max) throws -> UInt64 {
    try read { reader throws(FormatError) in try reader.readVarint("snapshot.content", in: range) }
  }

  mutating func readBigEndian128() throws -> UInt128 {
    try read { reader throws(FormatError) in try reader.readBigEndian("snapshot.content", as: UInt128.self) }
  }

  mutating func readLittleEndian64() throws -> UInt64 {
    try read { reader throws(FormatError) in try reader.readLittleEndian("snapshot.content", as: UInt64.self)
    }
  }

  mutating func readHash() throws -> ContentHash {
    try read { reader throws(FormatError) in try ContentHash.read(from: &reader, "snapshot.content") }
  }

  /// A count of bytes and these.
  mutating func readPayload() throws -> Range<Int> {
    try read { reader throws(FormatError) in
      let count = try reader.readCount("snapshot.content")
      return try reader.readBytes(count, "snapshot.content")
    }
  }

  @inline(__always)
  private mutating func read<R>(
    _ body: (inout ByteReader) throws(FormatError) -> R
  ) throws(FormatError) -> R {
    var reader = ByteReader(part.span.bytes, at: position)
    let result = try body(&reader)
    move(to: reader.position)
    return result
  }

  private mutating func move(to end: Int) {
    readBytes += UInt64(end - position)
    position = end
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
    // So what is kept is never more than what the content has: packed, one name many times is short.
    guard knownNames.insert(name).inserted else { throw bad("a name that was not there before", "“\(name)”") }
    names.append(name)
    return names.count - 1
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
  ///
  /// - Parameter hasFloor: whether it may wait for that.
  mutating func readCreation(
    hasFloor: Bool
  ) throws -> (head: FoundHead?, isUncreated: Bool) {
    let byte = try readByte()
    guard byte < (hasFloor ? 3 : 2) else { throw bad("0, 1 or, below a floor, 2", "\(byte)") }
    if byte != 1 { return (nil, byte == 2) }
    let timestamp = try readLittleEndian64()
    let head = FoundHead(
      lane: try readLane(), timestamp: Timestamp(rawValue: timestamp), sequence: try readNumber(1 ... .max),
      index: 0)
    return (head, false)
  }

  /// The kind of the next cell, whose name follows; nil for the record's existence.
  mutating func readCellKind() throws -> FieldKind? {
    let number = try readNumber(0...31)
    if number == 1 { return nil }
    if number.isMultiple(of: 2), let kind = FieldKind(rawValue: UInt32(number >> 1)) { return kind }
    throw FormatError(
      .newerFormat, at: 0, in: "snapshot.cell", expected: "a kind that this version knows",
      found: "\(number >> 1)")
  }

  /// Throws unless a value can be in a row.
  func checkValue(_ value: RawSpan) throws {
    guard value.byteCount <= Limits.inlineValueBytesMax else {
      throw bad("a value of at most \(Limits.inlineValueBytesMax) bytes", "\(value.byteCount)")
    }
    var reader = ByteReader(value)
    try validateValue(&reader)
    try reader.finish("snapshot.value")
  }

  /// Reads a head up to and without its payload.
  mutating func readHead() throws -> FoundHead {
    var head = last
    let laneCount = laneCount
    try read { reader throws(FormatError) in try head.readNext(from: &reader, laneCount) }
    last = head
    guard head.lane >= 0 else { throw bad("a lane in the first head", "none") }
    return head
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
      try last.readNext(from: &reader, laneCount)
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
