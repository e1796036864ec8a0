extension Value {
  /// Decodes the value that fills `bytes`.
  ///
  /// - Throws: ``FormatError`` if the bytes are not a value in its one encoded form.
  /// - Complexity: O(n); the depth limit of 32 bounds the recursion.
  public init(decoding bytes: RawSpan) throws(FormatError) {
    if let text = Self.plainText(in: bytes) {
      self = .string(String(copying: text))
      return
    }
    var reader = ByteReader(bytes)
    self = try Value.read(from: &reader)
    try reader.finish("value")
  }

  /// The text of a value in the most frequent form, ASCII of under 128 bytes; nil for any other value.
  @_lifetime(copy bytes) @inline(__always)
  private static func plainText(in bytes: RawSpan) -> UTF8Span? {
    guard bytes.byteCount >= 2 else { return nil }
    let tag = bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    let count = bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
    guard tag == ValueTag.string.rawValue, count < 0x80, Int(count) == bytes.byteCount &- 2 else {
      return nil
    }
    let text = bytes.extracting(2...)
    guard isASCII(text) else { return nil }
    return UTF8Span(unchecked: Span(_bytes: text), isKnownASCII: true)
  }

  /// The bytes of the text of a value, if they are under 128; nil for any other value. Nothing checks that they are
  /// UTF-8.
  @_lifetime(copy bytes)
  package static func shortTextBytes(in bytes: RawSpan) -> RawSpan? {
    guard bytes.byteCount >= 2,
      bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == ValueTag.string.rawValue
    else { return nil }
    let count = bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
    return count < 0x80 && Int(count) == bytes.byteCount &- 2 ? bytes.extracting(2...) : nil
  }

  /// The text of the value that fills `bytes`, without a copy; nil if the value is not a text.
  ///
  /// - Throws: as ``init(decoding:)``.
  @_lifetime(copy bytes)
  package static func text(in bytes: RawSpan) throws(FormatError) -> UTF8Span? {
    if let text = plainText(in: bytes) { return text }
    var reader = ByteReader(bytes)
    let extent = ValueExtent(wholeFrom: reader)
    guard try reader.readValueTag(extent) == .string else { return nil }
    let range = try reader.readValueBytes(extent, "value.string")
    try reader.finish("value")
    return try reader.text(in: range)
  }

  /// Reads the next value.
  static func read(from reader: inout ByteReader) throws(FormatError) -> Value {
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
    case .string: value = .string(try reader.readValueString(extent))
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
    // An element takes more memory than its one encoded byte, so the array grows only as elements are read.
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
  static func read(
    from reader: inout ByteReader, owner: StaticString, name: StaticString
  ) throws(FormatError) -> ZoneID {
    let ownerText = reader.string(in: try reader.readZoneOwner(owner))
    let nameText = reader.string(in: try reader.readZoneName(name))
    return ZoneID(owner: Name(ownerText), name: Name(nameText))
  }
}
