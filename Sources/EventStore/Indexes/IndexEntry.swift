import OperationFormat

/// What a record has in an index: a row of the table of indexes.
///
/// | key, bytes | what |
/// |---|---|
/// | 4 | state, big-endian |
/// | 2 | number of the index, big-endian |
/// | to 248 | the values of the parts: ``OrderedBytes``, those of a descending part inverted; more bytes are cut off |
/// | 1 | 1, or the place of the field among those of which it has one entry each, from 1 |
/// | to 255 | the record's name |
///
/// A record with too many values in a part has one entry instead, with 255 for the values.
///
/// | row, bytes | what |
/// |---|---|
/// | 1 | how many bytes the name has |
/// | 1 | ``Flags``; absent if there are none |
struct IndexEntry: Hashable {
  /// Key and row, one behind the other.
  private let bytes: [UInt8]
  private let keyBytes: Int

  init(_ key: RawSpan, _ row: RawSpan) {
    bytes = [UInt8](unsafeUninitializedCapacity: key.byteCount + row.byteCount) { space, count in
      let space = UnsafeMutableRawBufferPointer(space)
      key.withUnsafeBytes { space.copyMemory(from: $0) }
      row.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: space[key.byteCount...]).copyMemory(from: $0)
      }
      count = key.byteCount + row.byteCount
    }
    keyBytes = key.byteCount
  }

  var byteCount: Int { bytes.count }

  var key: RawSpan {
    @_lifetime(borrow self) get { bytes.span.bytes.extracting(..<keyBytes) }
  }

  var row: RawSpan {
    @_lifetime(borrow self) get { bytes.span.bytes.extracting(keyBytes...) }
  }

  static func == (left: IndexEntry, right: IndexEntry) -> Bool {
    left.keyBytes == right.keyBytes && equalBytes(left.bytes.span.bytes, right.bytes.span.bytes)
  }

  func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

  struct Flags: OptionSet {
    let rawValue: UInt8

    /// Whether the record is there, or has the values, depends on more than its own row.
    static let isContested = Flags(rawValue: 1)
    /// The values are cut.
    static let isCut = Flags(rawValue: 2)
    /// The record has too many values, or a reference in place of a text with words.
    static let isOverfull = Flags(rawValue: 4)
  }

  static let valueBytesMax = 248
  static let prefixBytes = 6
  /// How many values of a part a record may have in an index; of words, more.
  static let valuesMax = 1024
  static let wordsMax = 4096
  /// How long a text may be whose words are in an index.
  static let unitsMax = 1 << 20
  /// What stands for the values of a record that has too many.
  static let overfullByte: UInt8 = 255

  /// What all entries of an index in a state begin with.
  static func prefix(_ state: StateNumber, _ index: IndexNumber) -> [UInt8] {
    var writer = ByteWriter()
    append(state, index, to: &writer)
    return writer.bytes
  }

  /// The greatest number of an index. One bit more marks notes of entries that went while the index was
  /// built.
  static let numberMax = IndexNumber.max >> 1

  /// What the notes of an index in a state begin with.
  static func notesPrefix(_ state: StateNumber, _ index: IndexNumber) -> [UInt8] {
    prefix(state, index | (numberMax + 1))
  }

  /// The key of the note of an entry, by the entry's key.
  static func note(of key: RawSpan) -> [UInt8] {
    var key = key.bytes
    key[4] |= 0x80
    return key
  }

  static func append(_ state: StateNumber, _ index: IndexNumber, to writer: inout ByteWriter) {
    writer.append(bigEndian: state.rawValue)
    writer.append(bigEndian: index)
  }
}

/// An entry of an index in the memory map.
struct IndexEntryView: ~Escapable {
  let key: RawSpan
  let flags: IndexEntry.Flags
  private let nameBytes: Int

  @_lifetime(copy key)
  init(_ key: RawSpan, _ row: RawSpan) throws(FormatError) {
    nameBytes = row.byteCount > 0 ? Int(row.unsafeLoad(fromByteOffset: 0, as: UInt8.self)) : 0
    flags = IndexEntry.Flags(
      rawValue: row.byteCount > 1 ? row.unsafeLoad(fromByteOffset: 1, as: UInt8.self) : 0)
    guard nameBytes > 0, key.byteCount > IndexEntry.prefixBytes + nameBytes else {
      throw FormatError(
        .damaged, at: 0, in: "index entry", expected: "a name in the key", found: "\(nameBytes) bytes")
    }
    self.key = key
  }

  /// What comes before the record's name, without the byte that separates them.
  var valuesEnd: Int { key.byteCount - nameBytes - 1 }

  /// Which of some fields it stands for of which there is one entry each; 0 if there are none.
  func each(of fields: [QueryField]) throws(FormatError) -> Int {
    if fields.isEmpty { return 0 }
    let place = Int(key.unsafeLoad(fromByteOffset: valuesEnd, as: UInt8.self)) - 1
    guard fields.indices.contains(place) else {
      throw FormatError(
        .damaged, at: valuesEnd, in: "index entry", expected: "one of \(fields.count) fields",
        found: "\(place)")
    }
    return place
  }

  var name: RawSpan {
    @_lifetime(copy self) get { key.extracting((key.byteCount - nameBytes)...) }
  }

  /// The state's number, the index's, and the values.
  var group: RawSpan {
    @_lifetime(copy self) get { key.extracting(..<valuesEnd) }
  }
}
