import OperationFormat

/// The key of a row of the index of references: state number (4 bytes), what kind of row (1), and what that
/// kind needs; all numbers big-endian. A *place* is a cell that shows a value with references in it: record
/// number (4), cell number (4), and of an element its name.
///
/// | kind | row of | then | value |
/// |---|---|---|---|
/// | 1 | a record that refers to others | its record number (4) | ``ReferenceCounts`` |
/// | 2 | a place without cascades | the place | ``PlacedReferences`` |
/// | 3 | a place with cascades | the place | ``PlacedReferences`` |
/// | 4 | a reference to a target | count of the target's name (1), the name, the rule (1), the place | the holder's name |
///
/// What names a target is 0 and its bytes, as a reference has them behind its rule, or if they are over 128,
/// 1 and their SHA-256. Every row follows from the values that the records show: the index is derived, and in
/// no digest.
package struct ReferenceKey: Hashable, Comparable, Sendable {
  let bytes: [UInt8]

  enum Kind: UInt8 {
    case counts = 1
    case plainPlace = 2
    case cascadingPlace = 3
    case holder = 4
  }

  /// How many references a record has.
  static func counts(of state: StateNumber, record: UInt32) -> ReferenceKey {
    var writer = prefix(state, .counts)
    writer.append(bigEndian: record)
    return ReferenceKey(bytes: writer.bytes)
  }

  /// The references at a place.
  static func place(of state: StateNumber, record: UInt32, _ path: CellPath, cascades: Bool) -> ReferenceKey {
    var writer = prefix(state, cascades ? .cascadingPlace : .plainPlace)
    append(record, path, to: &writer)
    return ReferenceKey(bytes: writer.bytes)
  }

  /// A prefix of the places with cascades of a record.
  static func cascades(of state: StateNumber, record: UInt32) -> ReferenceKey {
    var writer = prefix(state, .cascadingPlace)
    writer.append(bigEndian: record)
    return ReferenceKey(bytes: writer.bytes)
  }

  /// A reference from a place.
  static func holder(
    of target: RawSpan, _ rule: ReferenceRule, in state: StateNumber, record: UInt32, _ path: CellPath
  ) -> ReferenceKey {
    var writer = targetPrefix(target, state)
    writer.append(rule.rawValue)
    append(record, path, to: &writer)
    return ReferenceKey(bytes: writer.bytes)
  }

  /// A prefix of all references to a target.
  static func holders(of target: RawSpan, in state: StateNumber) -> ReferenceKey {
    ReferenceKey(bytes: targetPrefix(target, state).bytes)
  }

  private static func targetPrefix(_ target: RawSpan, _ state: StateNumber) -> ByteWriter {
    var writer = prefix(state, .holder)
    let name = ElementName(target)
    writer.append(UInt8(name.bytes.count))
    writer.append(name.bytes)
    return writer
  }

  private static func prefix(_ state: StateNumber, _ kind: Kind) -> ByteWriter {
    var writer = ByteWriter()
    writer.append(bigEndian: state.rawValue)
    writer.append(kind.rawValue)
    return writer
  }

  private static func append(_ record: UInt32, _ path: CellPath, to writer: inout ByteWriter) {
    writer.append(bigEndian: record)
    writer.append(bigEndian: path.cell.rawValue)
    if let element = path.element { writer.append(element.bytes) }
  }

  /// Reads rule and cell of a reference behind the target's name.
  ///
  /// - Parameter prefix: that of the references to its target.
  static func holder(
    in key: RawSpan, after prefix: ReferenceKey
  ) throws(FormatError) -> (rule: ReferenceRule, cell: CellNumber) {
    let start = prefix.bytes.count
    var reader = ByteReader(key, at: min(start, key.byteCount))
    return (try PlacedReferences.readRule(&reader), CellNumber(rawValue: try key.bigEndian32(at: start + 5)))
  }

  /// Whether a key has the form of its kind.
  static func isKey(_ key: RawSpan) -> Bool {
    guard key.byteCount >= 9 else { return false }
    func byte(_ offset: Int) -> UInt8 { key.unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
    switch Kind(rawValue: byte(4)) {
    case .counts: return key.byteCount == 9
    case .plainPlace, .cascadingPlace: return 13...(13 + nameBytesMax) ~= key.byteCount
    case .holder:
      let place = 6 + Int(byte(5)) + 1
      guard key.byteCount >= place + 8, Int(byte(5)) <= nameBytesMax else { return false }
      return byte(place - 1) <= ReferenceRule.nullify.rawValue && key.byteCount <= place + 8 + nameBytesMax
    case nil: return false
    }
  }

  /// The longest name of an element or a target.
  private static let nameBytesMax = 1 + ElementName.literalBytesMax

  /// Orders as the table does.
  package static func < (a: ReferenceKey, b: ReferenceKey) -> Bool {
    compareBytes(a.bytes.span.bytes, b.bytes.span.bytes) < 0
  }
}

/// How many places of a record have references: two varints, of all and of those with cascades.
struct ReferenceCounts {
  var places: UInt64 = 0
  var cascades: UInt64 = 0

  init() {}

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    places = try reader.readVarint("references.places")
    cascades = try reader.readVarint("references.cascades", in: 0...places)
    try reader.finish("references")
  }

  func append(to writer: inout ByteWriter) {
    writer.append(varint: places)
    writer.append(varint: cascades)
  }
}

/// The references at a place, each once, in the order of the value: of each its rule (1 byte), and its target
/// as a reference has it behind its rule (varint, count).
struct PlacedReferences: Hashable, Sendable {
  private(set) var entries: [Entry] = []

  struct Entry: Hashable, Sendable {
    var rule: ReferenceRule
    var target: [UInt8]
  }

  init() {}

  init(_ references: [Reference]) throws(FormatError) {
    var known: Set<Entry> = []
    for reference in references {
      let entry = Entry(rule: reference.rule, target: try reference.encodedTarget())
      if known.insert(entry).inserted { entries.append(entry) }
    }
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    while let (rule, target) = try Self.next(&reader) {
      entries.append(Entry(rule: rule, target: row.extracting(target).bytes))
    }
  }

  /// Reads the next rule of a row, and the range of its target; nil at the end.
  static func next(_ reader: inout ByteReader) throws(FormatError) -> (ReferenceRule, target: Range<Int>)? {
    guard reader.remaining > 0 else { return nil }
    let rule = try readRule(&reader)
    let count = try reader.readCount("reference.target")
    return (rule, try reader.readBytes(count, "reference.target"))
  }

  static func readRule(_ reader: inout ByteReader) throws(FormatError) -> ReferenceRule {
    let start = reader.position
    let byte = try reader.readUInt8("reference.rule")
    guard let rule = ReferenceRule(rawValue: byte) else {
      throw FormatError(.unknownTag, at: start, in: "reference.rule", expected: "0 to 2", found: "\(byte)")
    }
    return rule
  }

  var row: [UInt8] {
    var writer = ByteWriter()
    for entry in entries {
      writer.append(entry.rule.rawValue)
      writer.append(count: entry.target.count)
      writer.append(entry.target)
    }
    return writer.bytes
  }

  var isEmpty: Bool { entries.isEmpty }
  var cascades: Bool { entries.contains { $0.rule == .cascade } }
}
