import OperationFormat

/// A leaf of a unit order's tree: pieces in the document's order.
///
/// | bytes | what |
/// |---|---|
/// | 1 | 1, a leaf |
/// | 4 | the node above, big-endian, 0 for none |
/// | … | pieces, from 1 |
///
/// A piece:
///
/// | bytes | what |
/// |---|---|
/// | 1 | flags, lowest first: left origin (2), right origin (2), new inserter, hidden, several units, element |
/// | varint ×2 | replica, epoch; only for a new inserter |
/// | varint | number of the first unit; for the same inserter less the end of the piece before, zigzag |
/// | varint | count of units − 2; where there are several |
/// | unit | the left origin, if 3; 0 is the start, 1 the last unit of the piece before, 2 the number before |
/// | unit | the right origin, if 3; 0 is the end, 1 that of the piece before, 2 the next piece's first unit |
/// | zigzag | depth, less that of the piece before; if the left origin is 2 or 3 |
/// | varint | right depth; if the right origin is 3, or is 1 and the left one is neither 1 nor as before |
/// | unit | the element |
/// | varint | bytes of text − count of units; for several visible units of a text |
/// | … | the UTF-8 of visible units of a text |
///
/// Visible pieces of a text that one inserter made, each with the unit in front of it as its left origin and the end as
/// its right one, are a *series*, one entry: see ``SeriesNumbers``. Compaction leaves such pieces.
///
/// A unit: a varint `2n` where `n` is the zigzag of its number less that of the piece's first unit, for the
/// same inserter; otherwise a varint `2 × replica + 1`, then epoch and number, varints.
///
/// A level that is not told follows from the pieces beside it: see ``Level``.
struct Leaf {
  static let tag: UInt8 = 1
  /// Where the pieces begin.
  static let headerBytes = 5
  /// The most bytes by which a row grows with a piece that is put in, without its text: at most 94 for the
  /// piece, 94 for the rest of one or of a series that it cuts, 12 for what is in front, and 66 for origins of the
  /// pieces beside it that were told by their neighbours.
  static let insertionBytesMax = 320

  var parent: NodeNumber
  var pieces: [Piece] = []
  /// The row that it was read from, then what was added: pieces name their text in it.
  var bytes: [UInt8] = []
  /// The bytes of the row when it was read or written last.
  var rowBytes = 0

  init(parent: NodeNumber) { self.parent = parent }

  var units: UInt64 { pieces.reduce(0) { $0 &+ $1.count } }
  /// The least level of a unit.
  var level: Level { pieces.reduce(pieces[0].level) { min($0, $1.level) } }

  /// How the node above tells of it.
  func asChild(_ node: NodeNumber) -> InnerNode.Child {
    var child = InnerNode.Child(node: node, units: 0, visible: 0, level: pieces[0].level)
    for index in pieces.indices {
      let count = pieces[index].count
      child.units &+= count
      if pieces[index].isVisible { child.visible &+= count }
      child.level = min(child.level, pieces[index].level)
    }
    return child
  }

  /// The last unit in it that its inserter made before another one; nil if there is none.
  func last(before unit: UnitID) -> UnitID? {
    var last: UnitID?
    for piece in pieces
    where piece.first.inserter == unit.inserter && piece.first.number < unit.number
      && piece.first.number >= last?.number ?? 0
    {
      last = UnitID(unit.inserter, min(piece.end, unit.number) - 1)
    }
    return last
  }

  /// The UTF-8 of a piece.
  func withText<R>(of piece: Piece, _ body: (RawSpan) throws -> R) rethrows -> R {
    let text = bytes.span.bytes.extracting(piece.text)
    return try body(text)
  }
}

// MARK: Reading

extension Leaf {
  init(_ row: RawSpan, isText: Bool) throws(FormatError) {
    var reader = ByteReader(row)
    let tag = try reader.readUInt8("runs.leaf")
    guard tag == Self.tag else {
      throw reader.fail(.unknownTag, at: 0, "runs.leaf", expected: "\(Self.tag)", found: "\(tag)")
    }
    parent = try reader.readBigEndian("runs.leaf.parent", as: UInt32.self)
    bytes = row.bytes
    rowBytes = row.byteCount
    // A piece mostly takes five bytes or more.
    pieces.reserveCapacity(row.byteCount / 5 + 2)
    var awaitsNext = false
    var awaiting: [Int] = []
    var units: UInt64 = 0
    while reader.remaining > 0 {
      let start = reader.position
      let known = pieces.count
      let rightIsNext = try reader.readPieces(into: &pieces, isText: isText)
      if awaitsNext {
        pieces[known - 1].right = pieces[known].first
        awaiting.append(known - 1)
      }
      awaitsNext = rightIsNext
      for piece in pieces[known...] { units &+= piece.count }
      guard units <= UnitOrderLimits.unitsMax else {
        throw reader.fail(
          .limitExceeded, at: start, "runs.leaf.units", expected: "at most \(UnitOrderLimits.unitsMax)",
          found: "\(units)")
      }
    }
    guard !pieces.isEmpty, !awaitsNext else {
      throw reader.fail(
        .truncated, at: reader.position, "runs.leaf", expected: "one more piece", found: "the end")
    }
    // A chain of right origins is known from its end.
    for index in awaiting.reversed() {
      pieces[index].level.rightDepth = pieces[index].rightDepth(before: pieces[index + 1])
    }
  }
}

extension Piece {
  /// The right depth where the right origin is the first unit of another piece.
  func rightDepth(before right: Piece) -> UInt64 { right.left == left ? right.level.rightDepth + 1 : 0 }
}

extension ByteReader {
  /// Reads a piece of a leaf, or a series of them.
  ///
  /// - Returns: whether its right origin is the first unit of the next piece, which is not known yet.
  @_lifetime(self: copy self)
  fileprivate mutating func readPieces(into pieces: inout [Piece], isText: Bool) throws(FormatError) -> Bool {
    let start = position
    let previous = pieces.last
    let flags = try readUInt8("runs.piece")
    let isSeries = flags & Leaf.seriesFlags == Leaf.seriesFlags
    let (leftKind, rightKind) = (flags & 3, flags >> 2 & 3)
    guard !isSeries || isText && rightKind == 0 else {
      throw badPiece(at: start, "a series of text up to the end")
    }
    var inserter = Inserter(replica: .none, epoch: 0)
    var number: UInt64
    if flags & 0x10 != 0 {
      inserter.replica = ReplicaNumber(rawValue: try readUInt32Varint("runs.piece.replica"))
      inserter.epoch = try readUInt32Varint("runs.piece.epoch")
      number = try readVarint("runs.piece.number")
    } else {
      guard let previous else { throw badPiece(at: start, "an inserter in the first piece") }
      inserter = previous.first.inserter
      number = previous.end &+ UInt64(bitPattern: try readZigzag("runs.piece.number"))
    }
    // Of units, or of pieces in a series.
    var count: UInt64 = 1
    if flags & 0x40 != 0 {
      count = try readVarint("runs.piece.count", in: 0...UnitOrderLimits.unitsMax - 2) + 2
    }
    guard number < UnitOrderLimits.unitsMax, number + count <= UnitOrderLimits.unitsMax else {
      throw badPiece(at: start, "numbers up to \(UnitOrderLimits.unitsMax)")
    }
    var piece = Piece(
      first: UnitID(inserter, number), count: isSeries ? 1 : count, left: nil, right: nil,
      isVisible: isSeries || flags & 0x20 == 0, element: nil, text: 0..<0,
      level: Level(depth: 0, rightDepth: 0))
    switch leftKind {
    case 0: break
    case 1:
      guard let previous else { throw badPiece(at: start, "a left origin in the first piece") }
      piece.left = previous.last
      piece.level.depth = previous.level.depth + previous.count
    case 2:
      guard number > 0 else { throw badPiece(at: start, "a left origin before a first number") }
      piece.left = UnitID(inserter, number - 1)
    default: piece.left = try readUnit(from: piece.first)
    }
    switch rightKind {
    case 1:
      guard let previous else { throw badPiece(at: start, "a right origin in the first piece") }
      piece.right = previous.right
    case 3: piece.right = try readUnit(from: piece.first)
    default: break
    }
    // The right origin of the piece before is this one's first unit, where it waits for it.
    if leftKind > 1 {
      let depth = previous?.level.depth ?? 0
      piece.level.depth = depth &+ UInt64(bitPattern: try readZigzag("runs.piece.depth"))
    }
    if rightKind == 3 || (rightKind == 1 && leftKind != 1 && piece.left != previous?.left) {
      piece.level.rightDepth = try readVarint(
        "runs.piece.rightDepth", in: 0...UnitOrderLimits.unitsMax)
    } else if rightKind == 1, leftKind != 1 {
      piece.level.rightDepth = previous?.level.rightDepth ?? 0
    }
    guard piece.level.depth <= UnitOrderLimits.unitsMax else { throw badPiece(at: start, "a depth") }
    if isSeries {
      try readSeries(of: count, from: piece, hasLongScalars: flags & 0x20 != 0, into: &pieces)
      return false
    }
    if flags & 0x80 != 0 { piece.element = try readUnit(from: piece.first) }
    if isText, piece.isVisible { piece.text = try readText(of: count) }
    pieces.append(piece)
    return rightKind == 2
  }

  /// Reads what a series has behind the origin and the depth of its first piece.
  @_lifetime(self: copy self)
  private mutating func readSeries(
    of count: UInt64, from first: Piece, hasLongScalars: Bool, into pieces: inout [Piece]
  ) throws(FormatError) {
    let start = position
    let known = pieces.count
    var (piece, units) = (first, 0 as UInt64)
    var bits = BitReader()
    var numbers: SeriesNumbers?
    // Each piece takes a bit at least.
    for _ in 0..<count {
      let told = try numbers?.read(&bits, &self)
      if let told {
        piece.left = piece.last
        piece.level.depth &+= piece.count
        piece.first.number = told.number
      }
      piece.count = try bits.readGamma(&self)
      guard piece.first.number < UnitOrderLimits.unitsMax, piece.count < UnitOrderLimits.unitsMax,
        piece.end <= UnitOrderLimits.unitsMax, units + piece.count <= UnitOrderLimits.unitsMax
      else { throw badPiece(at: start, "numbers up to \(UnitOrderLimits.unitsMax)") }
      if let told { numbers?.pass(piece, by: told.word) } else { numbers = SeriesNumbers(from: piece) }
      units += piece.count
      pieces.append(piece)
    }
    guard bits.restIsZero else { throw badPiece(at: start, "zeros behind the last bit") }
    var byteCount = Int(units)
    if hasLongScalars {
      byteCount += Int(try readVarint("runs.piece.bytes", in: 1...(3 * UnitOrderLimits.unitsMax)))
    }
    var text = try readText(of: units, byteCount: byteCount)
    for index in known..<pieces.count {
      let bytes = utf8ByteCount(of: pieces[index].count, in: self.bytes(in: text), scalars: units)
      pieces[index].text = text.lowerBound..<text.lowerBound + bytes
      text = pieces[index].text.upperBound..<text.upperBound
      units -= pieces[index].count
    }
  }

  /// Reads the text of a piece, and returns its range.
  @_lifetime(self: copy self)
  private mutating func readText(of count: UInt64) throws(FormatError) -> Range<Int> {
    var byteCount = 1
    if count > 1 {
      let more = try readVarint("runs.piece.bytes", in: 0...(3 * UnitOrderLimits.unitsMax))
      byteCount = Int(count + more)
    } else if remaining > 0 {
      let lead = bytes(in: position..<position + 1).unsafeLoad(fromByteOffset: 0, as: UInt8.self)
      byteCount = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    }
    return try readText(of: count, byteCount: byteCount)
  }

  @_lifetime(self: copy self)
  private mutating func readText(of count: UInt64, byteCount: Int) throws(FormatError) -> Range<Int> {
    let range = try readBytes(byteCount, "runs.piece.text")
    let text = bytes(in: range)
    guard isUTF8(text), scalarCount(of: text) == count else {
      throw fail(
        .invalidUTF8, at: range.lowerBound, "runs.piece.text", expected: "UTF-8 of \(count) scalars",
        found: "other bytes")
    }
    return range
  }

  @_lifetime(self: copy self)
  private mutating func readUnit(from first: UnitID) throws(FormatError) -> UnitID {
    let start = position
    let bits = try readVarint("runs.piece.unit")
    var unit = first
    if bits & 1 == 0 {
      unit.number &+= UInt64(bitPattern: unzigzag(bits >> 1))
    } else {
      guard let replica = UInt32(exactly: bits >> 1) else { throw badPiece(at: start, "a replica's number") }
      unit.replica = ReplicaNumber(rawValue: replica)
      unit.epoch = try readUInt32Varint("runs.piece.unit.epoch")
      unit.number = try readVarint("runs.piece.unit.number")
    }
    guard unit.number < UnitOrderLimits.unitsMax else { throw badPiece(at: start, "a unit's number") }
    return unit
  }

  @inline(never)
  private func badPiece(at start: Int, _ expected: String) -> FormatError {
    fail(.invalid, at: start, "runs.piece", expected: expected, found: "another")
  }
}
