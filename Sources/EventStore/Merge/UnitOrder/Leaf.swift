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
/// A unit: a varint `2n` where `n` is the zigzag of its number less that of the piece's first unit, for the
/// same inserter; otherwise a varint `2 × replica + 1`, then epoch and number, varints.
///
/// A level that is not told follows from the pieces beside it: see ``Level``.
struct Leaf {
  static let tag: UInt8 = 1
  /// Where the pieces begin.
  static let headerBytes = 5
  /// The most bytes by which a row grows with a piece that is put in, without its text: at most 94 for the
  /// piece, 94 for the rest of one that it cuts, and 66 for origins of the pieces beside it that were told by
  /// their neighbours.
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
      let (piece, rightIsNext) = try reader.readPiece(after: pieces.last, isText: isText)
      if awaitsNext {
        pieces[pieces.count - 1].right = piece.first
        awaiting.append(pieces.count - 1)
      }
      awaitsNext = rightIsNext
      units &+= piece.count
      guard units <= UnitOrderLimits.unitsMax else {
        throw reader.fail(
          .limitExceeded, at: start, "runs.leaf.units", expected: "at most \(UnitOrderLimits.unitsMax)",
          found: "\(units)")
      }
      pieces.append(piece)
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
  /// Reads a piece of a leaf.
  ///
  /// - Returns: whether its right origin is the first unit of the next piece, which is not known yet.
  @_lifetime(self: copy self)
  fileprivate mutating func readPiece(
    after previous: Piece?, isText: Bool
  ) throws(FormatError) -> (Piece, rightIsNext: Bool) {
    let start = position
    let flags = try readUInt8("runs.piece")
    let (leftKind, rightKind) = (flags & 3, flags >> 2 & 3)
    let isVisible = flags & 0x20 == 0
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
    var count: UInt64 = 1
    if flags & 0x40 != 0 {
      count = try readVarint("runs.piece.count", in: 0...UnitOrderLimits.unitsMax - 2) + 2
    }
    guard number < UnitOrderLimits.unitsMax, number + count <= UnitOrderLimits.unitsMax else {
      throw badPiece(at: start, "numbers up to \(UnitOrderLimits.unitsMax)")
    }
    var piece = Piece(
      first: UnitID(inserter, number), count: count, left: nil, right: nil, isVisible: isVisible,
      element: nil, text: 0..<0, level: Level(depth: 0, rightDepth: 0))
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
    if flags & 0x80 != 0 {
      guard count == 1 else { throw badPiece(at: start, "an element in a piece of one unit") }
      piece.element = try readUnit(from: piece.first)
    }
    if isText, isVisible { piece.text = try readText(of: count) }
    return (piece, rightKind == 2)
  }

  /// Reads the text of a piece, and returns its range.
  @_lifetime(self: copy self)
  private mutating func readText(of count: UInt64) throws(FormatError) -> Range<Int> {
    let start = position
    var byteCount = 1
    if count > 1 {
      let more = try readVarint("runs.piece.bytes", in: 0...(3 * UnitOrderLimits.unitsMax))
      byteCount = Int(count + more)
    } else if remaining > 0 {
      let lead = bytes(in: start..<start + 1).unsafeLoad(fromByteOffset: 0, as: UInt8.self)
      byteCount = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    }
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

// MARK: Writing

extension Leaf {
  /// Appends the row.
  func append(to writer: inout ByteWriter) {
    var ends: [Int] = []
    append(to: &writer, ends: &ends)
  }

  /// Appends the row, and how many bytes it has up to the end of each piece.
  func append(to writer: inout ByteWriter, ends: inout [Int]) {
    ends.reserveCapacity(pieces.count)
    let start = writer.count
    writer.append(Self.tag)
    writer.append(bigEndian: parent)
    for index in pieces.indices {
      append(
        pieces[index], after: index > 0 ? pieces[index - 1] : nil,
        before: index + 1 < pieces.count ? pieces[index + 1] : nil, to: &writer)
      ends.append(writer.count - start)
    }
  }

  /// Appends a piece between its neighbours in the row, nil where it has none.
  func append(_ piece: Piece, after previous: Piece?, before next: Piece?, to writer: inout ByteWriter) {
    var flags: UInt8 = 0
    let isNewInserter = previous?.first.inserter != piece.first.inserter
    if let left = piece.left {
      let isBefore = left.inserter == piece.first.inserter && left.number &+ 1 == piece.first.number
      flags |= isBefore ? 2 : left == previous?.last ? 1 : 3
    }
    if let right = piece.right {
      flags |= (right == previous?.right ? 1 : right == next?.first ? 2 : 3) << 2
    }
    if isNewInserter { flags |= 0x10 }
    if !piece.isVisible { flags |= 0x20 }
    if piece.count > 1 { flags |= 0x40 }
    if piece.element != nil { flags |= 0x80 }
    writer.append(flags)
    if isNewInserter {
      writer.append(varint: UInt64(piece.first.replica.rawValue))
      writer.append(varint: UInt64(piece.first.epoch))
      writer.append(varint: piece.first.number)
    } else {
      writer.append(zigzag: Int64(bitPattern: piece.first.number &- (previous?.end ?? 0)))
    }
    if piece.count > 1 { writer.append(varint: piece.count - 2) }
    if let left = piece.left, flags & 3 == 3 { writer.append(left, from: piece.first) }
    if let right = piece.right, flags >> 2 & 3 == 3 { writer.append(right, from: piece.first) }
    if flags & 3 > 1 {
      writer.append(zigzag: Int64(bitPattern: piece.level.depth &- (previous?.level.depth ?? 0)))
    }
    let rightKind = flags >> 2 & 3
    if rightKind == 3 || (rightKind == 1 && flags & 3 != 1 && piece.left != previous?.left) {
      writer.append(varint: piece.level.rightDepth)
    }
    if let element = piece.element { writer.append(element, from: piece.first) }
    guard !piece.text.isEmpty else { return }
    if piece.count > 1 { writer.append(varint: UInt64(piece.text.count) &- piece.count) }
    withText(of: piece) { writer.append($0) }
  }
}

extension ByteWriter {
  fileprivate mutating func append(_ unit: UnitID, from first: UnitID) {
    if unit.inserter == first.inserter {
      let distance = Int64(bitPattern: unit.number &- first.number)
      append(varint: zigzagBits(distance) << 1)
    } else {
      append(varint: UInt64(unit.replica.rawValue) << 1 | 1)
      append(varint: UInt64(unit.epoch))
      append(varint: unit.number)
    }
  }
}
