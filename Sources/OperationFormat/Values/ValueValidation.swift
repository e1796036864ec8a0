/// Skips the next value with the same checks and errors as ``Value/read(from:)``, and builds nothing.
package func validateValue(_ reader: inout ByteReader) throws(FormatError) {
  var names = NamesInValue()
  try validateValue(&reader, ValueExtent(wholeFrom: reader), &names)
}

/// How many records and assets a value refers to.
struct NamesInValue: Hashable {
  var references = 0
  var assets = 0

  init() {}

  /// Counts the references and assets of an encoded value.
  init(in value: RawSpan) throws(FormatError) {
    // The first byte of most values shows that they refer to nothing.
    guard ValueTag.reference.mayBe(in: value) || ValueTag.asset.mayBe(in: value) else { return }
    var reader = ByteReader(value)
    try validateValue(&reader, ValueExtent(wholeFrom: reader), &self)
  }
}

private func validateValue(
  _ reader: inout ByteReader, _ extent: ValueExtent, _ names: inout NamesInValue
) throws(FormatError) {
  switch try reader.readValueTag(extent) {
  case .null, .false, .true: break
  case .int: _ = try reader.readZigzag("value.int")
  case .double: _ = try reader.readDouble()
  case .decimal: _ = try reader.readDecimal()
  case .string: _ = try reader.readValueText(extent)
  case .bytes: _ = try reader.readValueBytes(extent)
  case .date: _ = try reader.readBytes(8, "value.date")
  case .uuid: _ = try reader.readBytes(16, "value.uuid")
  case .reference:
    names.references += 1
    _ = try reader.readReferenceRule()
    if try reader.readReferenceHasZone() {
      _ = try reader.readZoneOwner("value.reference.zone.owner")
      _ = try reader.readZoneName("value.reference.zone.name")
    }
    _ = try reader.readReferenceRecord()
  case .asset:
    names.assets += 1
    _ = try reader.readBytes(ContentHash.byteCount, "value.asset.hash")
    _ = try reader.readVarint("value.asset.byteCount")
  case .array:
    let count = try reader.readElementCount(elementBytesMin: 1)
    for _ in 0..<count { try validateValue(&reader, extent.nested(), &names) }
  case .map:
    let count = try reader.readElementCount(elementBytesMin: 2)
    var previous: Range<Int>?
    for _ in 0..<count {
      previous = try reader.readMapKey(after: previous)
      try validateValue(&reader, extent.nested(), &names)
    }
  }
  try extent.checkSize(reader)
}
