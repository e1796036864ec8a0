// The bytes of the other place of a record that moves: see ``TransactionFormat``. Its names are not in the
// transaction's table of names, because it is not a record of the transaction's zone.

extension RecordID {
  /// Appends the place.
  ///
  /// - Throws: ``FormatError`` `.limitExceeded` or `.invalid` if a name is too long or empty.
  package func encodeOtherPlace(into writer: inout ByteWriter) throws(FormatError) {
    try zone.check("operation.place.zone")
    try name.check("operation.place.record", bytesMax: Limits.recordNameBytesMax)
    writer.append(name: zone.owner)
    writer.append(name: zone.name)
    writer.append(name: name)
  }

  /// Decodes the place that fills `bytes`.
  init(otherPlace bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    self = try Self.readOtherPlace(&reader)
    try reader.finish("operation.place")
  }

  /// Reads a place.
  package static func readOtherPlace(_ reader: inout ByteReader) throws(FormatError) -> RecordID {
    let parts = try otherPlace(&reader)
    let zone = ZoneID(
      owner: Name(reader.string(in: parts.owner)), name: Name(reader.string(in: parts.zone)))
    return RecordID(zone: zone, name: Name(reader.string(in: parts.record)))
  }

  /// Skips a place with the checks of ``init(otherPlace:)``, and builds no names.
  static func validateOtherPlace(_ reader: inout ByteReader) throws(FormatError) {
    _ = try otherPlace(&reader)
  }

  /// Throws `.invalid` if this other place of a record is the record's own place.
  ///
  /// - Parameter record: the record. Its zone has an owner only if the bytes state it, as those of an earlier
  ///   program do; then a place without an owner is one of the writer's own.
  func checkDiffers(from record: RecordID, at offset: Int) throws(FormatError) {
    guard self != record else {
      throw FormatError(
        .invalid, at: offset, in: "operation.place", expected: "another place", found: "the record's own")
    }
  }

  private static func otherPlace(
    _ reader: inout ByteReader
  ) throws(FormatError) -> (owner: Range<Int>, zone: Range<Int>, record: Range<Int>) {
    let owner = try reader.readZoneOwner("operation.place.owner")
    let zone = try reader.readZoneName("operation.place.zone")
    let record = try reader.readText(
      "operation.place.record", bytesMin: 1, bytesMax: Limits.recordNameBytesMax)
    return (owner, zone, record)
  }
}
