import OperationFormat

/// A field whose content is not one value: what a row shows of it is read by itself.
protocol MergingField: ModelField {
  /// Its content in a record, as a row keeps it.
  func content(of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable) throws
    -> any Sendable

  /// What a struct that is decoded from a row gets for a content.
  func value(of content: any Sendable, in zone: ZoneID) throws -> Value

  /// The form in which this version of the app stores an element; nil for one that it does not show.
  func stored(_ element: Value, in zone: ZoneID) throws -> Value?
}

extension MergingField {
  var name: Name { definition.name }

  /// The field as a query looks at it.
  ///
  /// - Parameters:
  ///   - path: the fields with references that lead to its record.
  ///   - fallback: what counts where there is nothing.
  func queryField(path: [Name] = [], fallback: Value = .null) -> QueryField {
    var field = QueryField(
      .field(name, definition.kind), formerNames: definition.formerNames, path: path, fallback: fallback)
    field.mergesMembers = definition.mergesMembers
    return field
  }

  func stored(_ element: Value, in zone: ZoneID) -> Value? { element }

  /// What is stored for a new element of a list.
  ///
  /// - Parameter name: one that no other element has.
  func inserted(_ element: Value, _ name: @autoclosure () -> Name) -> Value {
    guard definition.mergesMembers, let id = UniqueID(name().rawValue) else { return element }
    return MergedMembers.element(element, identity: id)
  }
}

/// One whose elements have a type.
protocol CodedField: MergingField {
  associatedtype Element: Sendable
  var codec: ValueCodec<Element> { get }
}

extension CodedField {
  func stored(_ element: Value, in zone: ZoneID) throws -> Value? { try codec.stored(element, in: zone) }
}
