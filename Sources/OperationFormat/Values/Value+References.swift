extension Value {
  /// Whether it may refer to a record. For most values, the kind excludes that.
  package var mayNameRecords: Bool {
    switch self {
    case .reference, .array, .map: true
    case .null, .bool, .int, .double, .decimal, .string, .bytes, .date, .uuid, .asset: false
    }
  }

  /// Whether it names another record.
  ///
  /// - Complexity: linear in the value.
  package var namesRecords: Bool {
    switch self {
    case .reference: true
    case .array(let elements): elements.contains(where: \.namesRecords)
    case .map(let entries): entries.values.contains(where: \.namesRecords)
    case .null, .bool, .int, .double, .decimal, .string, .bytes, .date, .uuid, .asset: false
    }
  }

  /// Appends the references in it, in order.
  ///
  /// - Complexity: linear in the value; the depth limit of encoded values bounds the recursion.
  package func appendReferences(to references: inout [Reference]) {
    switch self {
    case .reference(let reference): references.append(reference)
    case .array(let elements): for element in elements { element.appendReferences(to: &references) }
    case .map(let entries):
      guard entries.values.contains(where: \.mayNameRecords) else { return }
      for (_, element) in entries.sorted(by: { $0.key < $1.key }) {
        element.appendReferences(to: &references)
      }
    case .null, .bool, .int, .double, .decimal, .string, .bytes, .date, .uuid, .asset: break
    }
  }

  /// The references in an encoded value, in order.
  package static func references(in bytes: RawSpan) throws(FormatError) -> [Reference] {
    guard ValueTag.reference.mayBe(in: bytes) else { return [] }
    var references: [Reference] = []
    try Value(decoding: bytes).appendReferences(to: &references)
    return references
  }

  /// Whether an encoded value may contain references.
  @inline(__always)
  package static func mayNameRecords(_ bytes: RawSpan) -> Bool { ValueTag.reference.mayBe(in: bytes) }
}

extension Reference {
  /// The record that it names.
  ///
  /// - Parameter zone: the zone of the record that holds it.
  public func target(from zone: ZoneID) -> RecordID { RecordID(zone: self.zone ?? zone, name: record) }

  /// The bytes that identify the target: the encoded reference after its rule.
  ///
  /// - Throws: `.limitExceeded` or `.invalid` if a name has a wrong length.
  package func encodedTarget() throws(FormatError) -> [UInt8] {
    var writer = ByteWriter()
    try encode(into: &writer)
    return writer.span.extracting(droppingFirst: 1).withUnsafeBytes { Array($0) }
  }

  /// - Parameter target: the result of ``encodedTarget()``.
  package init(target: RawSpan, rule: ReferenceRule) throws(FormatError) {
    var writer = ByteWriter()
    writer.append(ValueTag.reference.rawValue)
    writer.append(rule.rawValue)
    writer.append(target)
    guard case .reference(let reference) = try Value(decoding: writer.span) else {
      throw FormatError(.damaged, at: 0, in: "reference", expected: "a reference", found: "another value")
    }
    self = reference
  }
}
