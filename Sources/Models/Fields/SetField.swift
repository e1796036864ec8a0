public import OperationFormat

/// A set: each element is added and removed by itself, and an addition wins over a removal that had not seen
/// it.
///
/// An element that does not decode, as one of a newer version of the app, is not shown, and stays.
public struct SetField<Element: Hashable & Sendable>: CodedField {
  public private(set) var definition: FieldDefinition
  let codec: ValueCodec<Element>

  private init(_ name: Name, _ codec: ValueCodec<Element>, startingWith registers: [Name] = []) {
    (definition, self.codec) = (FieldDefinition(name, formerly: registers, .set), codec)
  }

  /// - Parameters:
  ///   - name: the field's name in the log, 1 to 128 bytes of UTF-8.
  ///   - registers: the names of fields with an array, which earlier versions of the app had. Their elements
  ///     are in the set too, also those that such a version still writes. The name itself may be one of them.
  public init(_ name: Name, startingWith registers: Name...) where Element: FieldValue {
    self.init(name, .ofFieldValue, startingWith: registers)
  }

  /// A set of values of a `Codable` type. Two elements are the same if the same is stored for them.
  @_disfavoredOverload
  public init(_ name: Name) where Element: Codable { self.init(name, .ofCodable) }

  /// A set of references.
  ///
  /// - Parameters:
  ///   - name: the field's name in the log.
  ///   - rule: what each means while its record is deleted: see the page *Referring to records* of
  ///     `EventStore`.
  public init<M: Model>(_ name: Name, _ rule: ReferenceRule) where Element == Ref<M> {
    self.init(name, .reference(rule))
  }

  /// The field, with an index of its elements: it finds the records that contain one. See ``ModelIndex``.
  public var indexed: Self {
    var field = self
    field.definition.isIndexed = true
    return field
  }

  func content(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> any Sendable {
    try elements(of: record, in: transaction)
  }

  func value(of content: any Sendable, in zone: ZoneID) throws -> Value {
    .array(try (content as? Set<Element> ?? []).map { try codec.encode($0, zone) })
  }

  func elements(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> Set<Element> {
    let zone = record.zone
    let stored = try transaction.reader.elements(of: name, withRegisters: definition.formerNames, of: record)
    let shown = stored.compactMap { codec.decode($0, zone) }
    let elements = Set(shown)
    if elements.count == shown.count { return elements }
    // Of those that are equal for Swift, the least in the order of values, so that all devices show the same.
    var ordered = Set<Element>(minimumCapacity: elements.count)
    for value in stored.sorted(by: { $0.precedes($1) }) {
      if let element = codec.decode(value, zone) { ordered.insert(element) }
    }
    return ordered
  }

  /// The elements that differ from one only by texts that are equal for Swift.
  func forms(
    of value: Value, in record: RecordID, _ transaction: borrowing some RecordReading & ~Copyable
  ) throws -> [Value] {
    try transaction.reader.elements(of: name, withRegisters: definition.formerNames, of: record)
      .filter { $0.isEquivalent(to: value) }.sorted { $0.precedes($1) }
  }
}

extension SetField: IndexableField {
  var indexPart: IndexPart { IndexPart(.elements(queryField())) }
}
