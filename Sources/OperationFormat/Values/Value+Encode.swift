extension Value {
  /// Appends the encoded value (bytes: ``TransactionFormat``). After an error, the writer is as it was
  /// before.
  ///
  /// - Throws: `.limitExceeded` if the value is too deep or too large, or contains too long a name;
  ///   `.invalid` for an empty name in a reference.
  package func encode(into writer: inout ByteWriter) throws(FormatError) {
    let start = writer.count
    do throws(FormatError) {
      try encode(into: &writer, from: start, depth: 1)
    } catch {
      writer.truncate(to: start)
      throw error
    }
  }

  /// Returns the encoded value.
  ///
  /// - Throws: ``FormatError`` with `.limitExceeded` if the value is over 32 deep or over 1 MiB, or contains
  ///   too long a name; with `.invalid` for an empty name in a reference.
  public func encoded() throws(FormatError) -> [UInt8] {
    var writer = ByteWriter()
    try encode(into: &writer)
    return writer.bytes
  }

  private func encode(into writer: inout ByteWriter, from start: Int, depth: Int) throws(FormatError) {
    guard depth <= Limits.valueDepthMax else {
      throw FormatError(
        .limitExceeded, at: 0, in: "value", expected: "a depth of at most \(Limits.valueDepthMax)",
        found: "a deeper one")
    }
    writer.append(tag.rawValue)
    switch self {
    case .null, .bool: break
    case .int(let number): writer.append(zigzag: number)
    case .double(let number): writer.append(littleEndian: Self.canonicalBits(number))
    case .decimal(let number):
      writer.append(zigzag: Int64(number.exponent))
      writer.append(zigzag128: number.coefficient)
    case .string(let text):
      try Self.checkSize(writer.count - start + text.utf8.count)
      writer.append(text: text)
    case .bytes(let bytes):
      try Self.checkSize(writer.count - start + bytes.count)
      writer.append(count: bytes.count)
      writer.append(bytes)
    case .date(let microseconds): writer.append(littleEndian: microseconds)
    case .uuid(let id): writer.append(bigEndian: id.rawValue)
    case .reference(let reference): try reference.encode(into: &writer)
    case .asset(let asset):
      asset.hash.write(to: &writer)
      writer.append(varint: asset.byteCount)
    case .array(let elements):
      writer.append(count: elements.count)
      for element in elements { try element.encode(into: &writer, from: start, depth: depth + 1) }
    case .map(let entries):
      writer.append(count: entries.count)
      for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
        try key.check("value.key", bytesMax: Limits.mapKeyBytesMax, canBeEmpty: true)
        writer.append(name: key)
        try value.encode(into: &writer, from: start, depth: depth + 1)
      }
    }
    try Self.checkSize(writer.count - start)
  }

  private static func checkSize(_ byteCount: Int) throws(FormatError) {
    try checkByteCount(byteCount, in: "value", max: Limits.inlineValueBytesMax)
  }
}

extension Reference {
  /// Appends the reference without the value's tag.
  func encode(into writer: inout ByteWriter) throws(FormatError) {
    writer.append(rule.rawValue)
    writer.append(zone == nil ? 0 : 1)
    if let zone {
      try zone.check("value.reference.zone")
      writer.append(name: zone.owner)
      writer.append(name: zone.name)
    }
    try record.check("value.reference.record", bytesMax: Limits.recordNameBytesMax)
    writer.append(name: record)
  }
}
