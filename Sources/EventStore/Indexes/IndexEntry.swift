import OperationFormat

/// What a record has in an index: a row of the table of indexes.
///
/// | key, bytes | what |
/// |---|---|
/// | 4 | state, big-endian |
/// | 2 | number of the index, big-endian |
/// | to 248 | the values of the parts: ``OrderedBytes``, those of a descending part turned over; more bytes are cut off |
/// | 1 | 1 |
/// | to 255 | the record's name |
///
/// A record with too many values in a part has one entry instead, with 255 for the values.
///
/// | row, bytes | what |
/// |---|---|
/// | 1 | how many bytes the name has |
/// | 1 | ``Flags``; absent if there are none |
struct IndexEntry: Hashable {
  struct Flags: OptionSet {
    let rawValue: UInt8

    /// Whether the record is there, or has the values, depends on more than its own row.
    static let isContested = Flags(rawValue: 1)
    /// The values are cut.
    static let isCut = Flags(rawValue: 2)
    /// The record has too many values.
    static let isOverfull = Flags(rawValue: 4)
  }

  let key: [UInt8]
  let row: [UInt8]

  static let valueBytesMax = 248
  static let prefixBytes = 6
  /// How many values of a part a record may have in an index.
  static let valuesMax = 1024
  /// What stands for the values of a record that has too many.
  static let overfullByte: UInt8 = 255

  /// What all entries of an index in a state begin with.
  static func prefix(_ state: StateNumber, _ index: IndexNumber) -> [UInt8] {
    var writer = ByteWriter()
    append(state, index, to: &writer)
    return writer.bytes
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
    var reader = ByteReader(row)
    nameBytes = Int(try reader.readUInt8("index entry.name"))
    flags = IndexEntry.Flags(rawValue: reader.remaining > 0 ? try reader.readUInt8("index entry.flags") : 0)
    guard nameBytes > 0, key.byteCount > IndexEntry.prefixBytes + nameBytes else {
      throw FormatError(
        .damaged, at: 0, in: "index entry", expected: "a name in the key", found: "\(nameBytes) bytes")
    }
    self.key = key
  }

  /// What comes before the record's name, without the byte that separates them.
  var valuesEnd: Int { key.byteCount - nameBytes - 1 }

  var name: RawSpan {
    @_lifetime(copy self) get { key.extracting((key.byteCount - nameBytes)...) }
  }

  /// The state's number, the index's, and the values.
  var group: RawSpan {
    @_lifetime(copy self) get { key.extracting(..<valuesEnd) }
  }
}
