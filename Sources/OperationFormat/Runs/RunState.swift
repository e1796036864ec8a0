/// What encoder and decoder of a run know from the transactions before: both change it in the same way.
struct RunState: ~Copyable {
  /// The bytes of a header before the sequence without version and flags, and those between it and the base.
  var maker = ByteWriter()
  var zone = ByteWriter()
  var sequence: UInt64
  var timestamp = Timestamp(rawValue: 0)
  var base: Base
  var schemaVersion: UInt64 = 0
  var names = RunDictionary(countMax: RunFormat.namesMax, bytesMax: Limits.recordNameBytesMax)
  var words = RunDictionary(countMax: RunFormat.wordsMax, bytesMax: Limits.labelBytesMax)
  var strings = RunDictionary(countMax: RunFormat.stringsMax, bytesMax: RunFormat.stringBytesMax)
  var shapes: [RunShape] = []
  /// The number of the name of the record that the last operation changed.
  var record = -1
  var cursor = UnitCursor()
  /// The other makers of units, and the number of the last unit of each.
  var makers: [(maker: UnitMaker, number: UInt64)] = []

  init(_ context: RunContext) {
    maker.append(bigEndian: context.replica.rawValue)
    maker.append(varint: UInt64(context.epoch))
    zone.append(name: context.zone.owner)
    zone.append(name: context.zone.name)
    sequence = context.firstSequence
    base = Base(incarnation: context.incarnation, offset: 0)
  }

  /// The milliseconds of the last timestamp, as a date. Dates near it make small numbers.
  var microseconds: Int64 { Int64(timestamp.milliseconds) * 1000 }

  /// Reads the header of the next transaction, and returns its base.
  ///
  /// - Throws: unless it has no parent, and this zone, maker and sequence.
  func readHeader(_ reader: inout ByteReader) throws(FormatError) -> Base? {
    let flags = try reader.readVersionAndFlags(
      "transaction", version: TransactionFormat.headerVersion, flagsMask: TransactionFormat.baseFlag)
    try readSame(maker.span, &reader)
    guard try reader.readVarint("transaction.sequence") == sequence else { throw Self.other(reader) }
    try readSame(zone.span, &reader)
    guard flags & TransactionFormat.baseFlag != 0 else { return nil }
    let incarnation = try IncarnationID.read(from: &reader, "transaction.base.incarnation")
    return Base(incarnation: incarnation, offset: try reader.readVarint("transaction.base.offset"))
  }

  private func readSame(_ expected: RawSpan, _ reader: inout ByteReader) throws(FormatError) {
    let range = try reader.readBytes(expected.byteCount, "transaction")
    guard equalBytes(reader.bytes(in: range), expected) else { throw Self.other(reader) }
  }

  private static func other(_ reader: borrowing ByteReader) -> FormatError {
    reader.fail(.invalid, at: reader.position, "transaction", expected: "the next one", found: "another")
  }

  /// Appends the header of the next transaction, which has this base.
  func appendHeader(_ base: Base?, to writer: inout ByteWriter) {
    writer.append(TransactionFormat.headerVersion)
    writer.append(base == nil ? 0 : TransactionFormat.baseFlag)
    writer.append(maker.span)
    writer.append(varint: sequence)
    writer.append(zone.span)
    if let base {
      writer.append(bigEndian: base.incarnation.rawValue)
      writer.append(varint: base.offset)
    }
  }

  /// The counter that a timestamp with these milliseconds probably has.
  func expectedCounter(_ milliseconds: UInt64) -> UInt16 {
    milliseconds == timestamp.milliseconds ? timestamp.counter &+ 1 : 0
  }
}
