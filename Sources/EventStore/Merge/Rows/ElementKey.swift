package import OperationFormat

/// The key of an element row: state number (4 bytes), record number (4), cell number (4), what kind of row
/// (1), and what that kind needs; all numbers big-endian.
///
/// | kind | row of | then |
/// |---|---|---|
/// | 1 | heads that are stored apart: see ``ApartRow`` | the head: replica's number (4), epoch (4), sequence (8), index (4); of addends the least that can be in the row |
/// | 2 | the sum of a counter's heads that are kept apart | |
/// | 3 | an element of a set or a map | its name: see ``ElementName`` |
/// | 4 | a head of an element that is stored apart | how many bytes the name takes (1), the name, the head |
/// | 5 | an element of a list | the unit it was inserted as: replica's number (4), epoch (4), number (8) |
/// | 6 | of cell 0, the registers of a record if they are kept apart: see ``DividedRow`` | |
/// | 7 | the index of those heads: see ``ApartIndex`` | count of the element's name, 0 for none (1), the name |
/// | 8 | a head in that index, by its order | as 7, then the order of the head: see below |
/// | 9 | of cell 0, a block of a wide record: see ``WideRow`` | the number of its first possible cell (4) |
///
/// The order of a head is its timestamp (8), replica's identity (16), epoch (4), sequence (8) and index (4),
/// each inverted.
package struct ElementKey: Hashable, Comparable, Sendable {
  package var bytes: [UInt8]

  /// What kind of row a key names.
  enum Kind: UInt8 {
    case head = 1
    case sum = 2
    case element = 3
    case elementHead = 4
    case item = 5
    case registers = 6
    case apartIndex = 7
    case apartOrder = 8
    case block = 9
  }

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// A prefix of all the rows of a record's cell.
  package init(state: StateNumber, record: UInt32, cell: CellNumber) {
    bytes = []
    bytes.reserveCapacity(33)
    append(state.rawValue)
    append(record)
    append(cell.rawValue)
  }

  private init(state: StateNumber, record: UInt32, cell: CellNumber, _ kind: Kind) {
    self.init(state: state, record: record, cell: cell)
    bytes.append(kind.rawValue)
  }

  // MARK: Heads that are kept apart

  /// A prefix of the rows of all heads of a cell that are kept apart.
  static func heads(of state: StateNumber, record: UInt32, _ path: CellPath) -> ElementKey {
    guard let element = path.element else {
      return ElementKey(state: state, record: record, cell: path.cell, .head)
    }
    var key = ElementKey(state: state, record: record, cell: path.cell, .elementHead)
    key.bytes.append(UInt8(element.bytes.count))
    key.bytes += element.bytes
    return key
  }

  /// The row of a head that is kept apart. A counter's addends share rows, at most 64 one: those of adjacent
  /// transactions, if they have the same index, and are among the first operations; else those of adjacent
  /// operations of a transaction.
  package init(state: StateNumber, record: UInt32, _ path: CellPath, head: HeadID) {
    var (sequence, index) = (head.sequence, head.index)
    if path.cell.sumsHeads {
      if index < Self.addendsMax {
        sequence &= ~UInt64(Self.addendsMax - 1)
      } else {
        index &= ~(Self.addendsMax - 1)
      }
    }
    self.init(
      state: state, record: record, path, headsOf: head.replica, epoch: head.epoch, from: sequence,
      index: index)
  }

  /// How many addends share a row at most.
  static let addendsMax: UInt32 = 64

  /// A prefix of the rows of the heads kept apart that one replica made in one epoch.
  init(
    state: StateNumber, record: UInt32, _ path: CellPath, headsOf replica: ReplicaNumber, epoch: UInt32
  ) {
    self = .heads(of: state, record: record, path)
    append(replica.rawValue)
    append(epoch)
  }

  /// A prefix of the rows of the heads kept apart that one transaction made.
  init(
    state: StateNumber, record: UInt32, _ path: CellPath, headsOf replica: ReplicaNumber, epoch: UInt32,
    sequence: UInt64
  ) {
    self.init(state: state, record: record, path, headsOf: replica, epoch: epoch)
    append(sequence)
  }

  /// A place among the rows of heads kept apart that one replica made in one epoch: that of the first from an
  /// operation on.
  init(
    state: StateNumber, record: UInt32, _ path: CellPath, headsOf replica: ReplicaNumber, epoch: UInt32,
    from sequence: UInt64, index: UInt32 = 0
  ) {
    self.init(state: state, record: record, path, headsOf: replica, epoch: epoch, sequence: sequence)
    append(index)
  }

  /// The row of the index of a cell's heads that are kept apart.
  package static func apartIndex(of state: StateNumber, record: UInt32, _ path: CellPath) -> ElementKey {
    ElementKey(state: state, record: record, path, .apartIndex)
  }

  /// A prefix of the rows in that index, the greatest head first.
  package static func apartOrder(of state: StateNumber, record: UInt32, _ path: CellPath) -> ElementKey {
    ElementKey(state: state, record: record, path, .apartOrder)
  }

  /// The row of a head in that index.
  package static func apartOrder(
    of state: StateNumber, record: UInt32, _ path: CellPath, _ head: Head, by replica: ReplicaID
  ) -> ElementKey {
    var key = apartOrder(of: state, record: record, path)
    key.append(~head.timestamp.rawValue)
    key.append(~replica.rawValue)
    key.append(~head.id.epoch)
    key.append(~head.id.sequence)
    key.append(~head.id.index)
    return key
  }

  /// The counter of whose addends it is the key of a row; nil if it is another key.
  var addends: CellAddress? {
    get throws(FormatError) {
      guard kind == .head, try cell.sumsHeads else { return nil }
      return try address(of: nil)
    }
  }

  private func address(of element: ElementName?) throws(FormatError) -> CellAddress {
    let key = bytes.span.bytes
    return CellAddress(
      state: StateNumber(rawValue: try key.bigEndian32(at: 0)), record: try key.bigEndian32(at: 4),
      CellPath(try cell, element))
  }

  /// Whether it is that of a row of such an index.
  package var isOfApartIndex: Bool { kind == .apartIndex || kind == .apartOrder }

  /// Whether it is that of a part of a record's row.
  package var isOfRow: Bool { kind == .registers || kind == .block }

  /// The cell that it is of.
  var cell: CellNumber {
    get throws(FormatError) { CellNumber(rawValue: try bytes.span.bytes.bigEndian32(at: 8)) }
  }

  /// The row of the element whose head it names; nil if it names none of an element's.
  var elementOfHead: ElementKey? {
    guard kind == .elementHead, bytes.count > Self.prefixBytes else { return nil }
    let name = bytes[(Self.prefixBytes + 1)...].prefix(Int(bytes[Self.prefixBytes]))
    return ElementKey(bytes: bytes[..<(Self.prefixBytes - 1)] + [Kind.element.rawValue] + name)
  }

  /// What kind of row it names, nil if it names none.
  var kind: Kind? {
    bytes.count < Self.prefixBytes ? nil : Kind(rawValue: bytes[Self.prefixBytes - 1])
  }

  /// The cell of a row in that index.
  func orderedCell() throws(FormatError) -> CellAddress {
    guard Self.isKey(bytes.span.bytes), kind == .apartOrder else {
      throw FormatError(.damaged, at: 0, in: "key", expected: "a head in its order", found: "another key")
    }
    let name = Array(bytes[(Self.prefixBytes + 1)..<(bytes.count - Self.orderBytes)])
    return try address(of: name.isEmpty ? nil : ElementName(bytes: name))
  }

  /// The head of a row in that index, whose replica stands in the row.
  func orderedHead(by replica: ReplicaNumber) throws(FormatError) -> Head {
    let key = bytes.span.bytes
    guard bytes.count >= Self.prefixBytes + Self.orderBytes else {
      throw FormatError(
        .truncated, at: bytes.count, in: "key", expected: "a head in its order", found: "\(bytes.count) bytes"
      )
    }
    let start = bytes.count - Self.orderBytes
    return Head(
      timestamp: Timestamp(rawValue: ~(try key.bigEndian64(at: start))),
      id: HeadID(
        replica: replica, epoch: ~(try key.bigEndian32(at: start + 24)),
        sequence: ~(try key.bigEndian64(at: start + 28)), index: ~(try key.bigEndian32(at: start + 36))))
  }

  private init(state: StateNumber, record: UInt32, _ path: CellPath, _ kind: Kind) {
    self.init(state: state, record: record, cell: path.cell, kind)
    bytes.append(UInt8(path.element?.bytes.count ?? 0))
    bytes += path.element?.bytes ?? []
  }

  /// The row of a counter's sum of what is kept apart.
  package static func sum(of state: StateNumber, record: UInt32, cell: CellNumber) -> ElementKey {
    ElementKey(state: state, record: record, cell: cell, .sum)
  }

  /// The row of a record's registers, if they are kept apart.
  package static func registers(of state: StateNumber, record: UInt32) -> ElementKey {
    ElementKey(state: state, record: record, cell: .existence, .registers)
  }

  /// A prefix of the rows of a wide record's blocks.
  package static func blocks(of state: StateNumber, record: UInt32) -> ElementKey {
    ElementKey(state: state, record: record, cell: .existence, .block)
  }

  /// The row of the block of a wide record whose cells have numbers from one on.
  static func block(of state: StateNumber, record: UInt32, from cell: UInt32) -> ElementKey {
    var key = blocks(of: state, record: record)
    key.append(cell)
    return key
  }

  /// From which number on the cells of a block are.
  var firstCellOfBlock: UInt32 {
    get throws(FormatError) { try Self.firstCell(ofBlock: bytes.span.bytes) }
  }

  static func firstCell(ofBlock key: RawSpan) throws(FormatError) -> UInt32 {
    try key.bigEndian32(at: prefixBytes)
  }

  // MARK: Elements

  /// A prefix of the rows of all elements of a set or a map.
  static func elements(of state: StateNumber, record: UInt32, cell: CellNumber) -> ElementKey {
    ElementKey(state: state, record: record, cell: cell, .element)
  }

  /// Prefixes of the rows of all elements of a map whose keys begin with some bytes, and of others.
  static func elements(
    of state: StateNumber, record: UInt32, cell: CellNumber, keysFrom start: RawSpan
  ) -> [ElementKey] {
    ElementName.prefixes(ofKeysFrom: start).map { name in
      var key = elements(of: state, record: record, cell: cell)
      key.bytes += name
      return key
    }
  }

  /// The row of an element of a set or a map.
  package init(state: StateNumber, record: UInt32, cell: CellNumber, element: ElementName) {
    self.init(state: state, record: record, cell: cell, .element)
    bytes += element.bytes
  }

  // MARK: Elements of lists

  /// A prefix of the rows of all elements of a list.
  package static func items(of state: StateNumber, record: UInt32, cell: CellNumber) -> ElementKey {
    ElementKey(state: state, record: record, cell: cell, .item)
  }

  /// The row of an element of a list.
  init(state: StateNumber, record: UInt32, cell: CellNumber, item: UnitID) {
    self.init(state: state, record: record, cell: cell, .item)
    append(item.replica.rawValue)
    append(item.epoch)
    append(item.number)
  }

  /// The element of a list whose row it is the key of.
  package var item: UnitID { get throws(FormatError) { try Self.item(of: bytes.span.bytes) } }

  /// The element of a list whose row a key names.
  static func item(of key: RawSpan) throws(FormatError) -> UnitID {
    UnitID(
      replica: ReplicaNumber(rawValue: try key.bigEndian32(at: prefixBytes)),
      epoch: try key.bigEndian32(at: prefixBytes + 4), number: try key.bigEndian64(at: prefixBytes + 8))
  }

  /// Orders as the table does.
  package static func < (a: ElementKey, b: ElementKey) -> Bool {
    compareBytes(a.bytes.span.bytes, b.bytes.span.bytes) < 0
  }

  /// Whether a key has the form of its kind.
  static func isKey(_ key: RawSpan) -> Bool {
    guard key.byteCount >= prefixBytes else { return false }
    let rest = key.byteCount - prefixBytes
    func byte(_ offset: Int) -> UInt8 { key.unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
    func isName(_ count: Int, at offset: Int) -> Bool {
      guard count > 0 else { return false }
      return byte(offset) == 0
        ? count <= 1 + ElementName.literalBytesMax : byte(offset) == 1 && count == 1 + ContentHash.byteCount
    }
    /// A name of an element with its count, or 0 for none, then as many bytes.
    func isCounted(_ more: Int) -> Bool {
      guard rest > 0, rest == 1 + Int(byte(prefixBytes)) + more else { return false }
      if byte(prefixBytes) == 0 { return true }
      let tag = byte(prefixBytes + 1)
      if tag == 2 || tag == 3 { return Int(byte(prefixBytes)) == ElementName.itemBytes }
      return isName(Int(byte(prefixBytes)), at: prefixBytes + 1)
    }
    switch Kind(rawValue: byte(prefixBytes - 1)) {
    case .head: return rest == headBytes
    case .sum, .registers: return rest == 0
    case .element: return isName(rest, at: prefixBytes)
    case .elementHead: return isCounted(headBytes) && byte(prefixBytes) > 0
    case .apartIndex: return isCounted(0)
    case .apartOrder: return isCounted(orderBytes)
    case .item: return rest == ElementName.itemBytes - 1
    case .block: return rest == 4
    case nil: return false
    }
  }

  /// How many bytes name a head.
  static let headBytes = 20

  /// How many bytes say a head's place in the order of heads.
  private static let orderBytes = 40

  /// How many bytes stand before what a kind of row needs.
  static let prefixBytes = 13

  private mutating func append<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
