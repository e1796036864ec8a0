extension Value {
  /// Decodes a value that takes all of `bytes`.
  ///
  /// - Throws: ``FormatError`` for any bytes that are not a value in its one encoded form.
  /// - Complexity: O(n); the recursion is bounded by the depth limit of 32.
  public init(decoding bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    self = try Value.read(from: &reader)
    try reader.finish("value")
  }

  /// Reads the next value.
  package static func read(from reader: inout ByteReader) throws(FormatError) -> Value {
    let extent = ValueExtent(wholeFrom: reader)
    return try read(from: &reader, extent)
  }

  private static func read(
    from reader: inout ByteReader, _ extent: ValueExtent
  ) throws(FormatError) -> Value {
    let value: Value
    switch try reader.readValueTag(extent) {
    case .null: value = .null
    case .false: value = .bool(false)
    case .true: value = .bool(true)
    case .int: value = .int(try reader.readZigzag("value.int"))
    case .double: value = .double(try reader.readDouble())
    case .decimal: value = .decimal(try reader.readDecimal())
    case .string: value = .string(reader.string(in: try reader.readValueText(extent)))
    case .bytes:
      let range = try reader.readValueBytes(extent)
      value = .bytes(reader.bytes(in: range).withUnsafeBytes { Array($0) })
    case .date: value = .date(microseconds: try reader.readLittleEndian("value.date"))
    case .uuid: value = .uuid(try UniqueID.read(from: &reader, "value.uuid"))
    case .reference: value = .reference(try readReference(from: &reader))
    case .asset:
      let hash = try ContentHash.read(from: &reader, "value.asset.hash")
      let byteCount = try reader.readVarint("value.asset.byteCount")
      value = .asset(AssetReference(hash: hash, byteCount: byteCount))
    case .array: value = .array(try readElements(from: &reader, extent.nested()))
    case .map: value = .map(try readEntries(from: &reader, extent.nested()))
    }
    try extent.checkSize(reader)
    return value
  }

  private static func readReference(from reader: inout ByteReader) throws(FormatError) -> Reference {
    let rule = try reader.readReferenceRule()
    var zone: ZoneID?
    if try reader.readReferenceHasZone() {
      zone = try ZoneID.read(
        from: &reader, owner: "value.reference.zone.owner", name: "value.reference.zone.name")
    }
    let record = Name(reader.string(in: try reader.readReferenceRecord()))
    return Reference(zone: zone, record: record, rule: rule)
  }

  private static func readElements(
    from reader: inout ByteReader, _ extent: ValueExtent
  ) throws(FormatError) -> [Value] {
    let count = try reader.readElementCount(elementBytesMin: 1)
    // An element in memory is larger than its one byte may be, so space is made as they prove to be there.
    var elements: [Value] = []
    elements.reserveCapacity(min(count, 16))
    for _ in 0..<count { elements.append(try read(from: &reader, extent)) }
    return elements
  }

  private static func readEntries(
    from reader: inout ByteReader, _ extent: ValueExtent
  ) throws(FormatError) -> [Name: Value] {
    let count = try reader.readElementCount(elementBytesMin: 2)
    var entries: [Name: Value] = [:]
    var previous: Range<Int>?
    for _ in 0..<count {
      let key = try reader.readMapKey(after: previous)
      entries[Name(reader.string(in: key))] = try read(from: &reader, extent)
      previous = key
    }
    return entries
  }
}

extension ZoneID {
  /// Reads the owner and the name, each a byte count and UTF-8.
  package static func read(
    from reader: inout ByteReader, owner: StaticString, name: StaticString
  ) throws(FormatError) -> ZoneID {
    let ownerText = reader.string(in: try reader.readZoneOwner(owner))
    let nameText = reader.string(in: try reader.readZoneName(name))
    return ZoneID(owner: Name(ownerText), name: Name(nameText))
  }
}
