public import OperationFormat

/// Elements in an order. Each has an identity, which it keeps while it moves and changes.
///
/// An element that two devices move at once is at one place, and a move and a change do not conflict. An
/// element that does not decode, as one of a newer version of the app, is not shown, and stays.
public struct ListField<T: Sendable>: CodedField {
  public private(set) var definition: FieldDefinition
  let codec: ValueCodec<T>

  private init(_ name: Name, _ codec: ValueCodec<T>) {
    (definition, self.codec) = (FieldDefinition(name, .list), codec)
  }

  public init(_ name: Name) where T: FieldValue { self.init(name, .ofFieldValue) }

  /// A list of values of a `Codable` type. Each is one value: of two concurrent changes of it, the last
  /// writer's shows.
  ///
  /// - Parameters:
  ///   - name: the field's name in the log.
  ///   - complete: a value whose members stand in for those that a stored one does not have, as one of an
  ///     earlier version of the type. Without it, such an element is not shown.
  @_disfavoredOverload
  public init(_ name: Name, filledBy complete: T? = nil) where T: Codable {
    self.init(name, .ofCodable(filledBy: complete))
  }

  /// A list of references.
  ///
  /// - Parameters:
  ///   - name: the field's name in the log.
  ///   - rule: what each means while its record is deleted: see the page *Referring to records* of
  ///     `EventStore`.
  public init<M: Model>(_ name: Name, _ rule: ReferenceRule) where T == Ref<M> {
    self.init(name, .reference(rule))
  }

  /// The field, with elements whose members merge one by one: two devices may change different members of an
  /// element, and both changes stay.
  ///
  /// The elements must be stored as keys with values, each of which stands for itself, as structs are; not
  /// enumerations with payloads. Say it from the first version of a model on: a version without it does not
  /// see such changes.
  ///
  /// ```swift
  /// let items = ListField<Item>("items").mergingMembers
  /// ```
  public var mergingMembers: Self {
    var field = self
    field.definition.mergesMembers = true
    return field
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
    .array(try (content as? [ListElement<T>] ?? []).map { try codec.encode($0.value, zone) })
  }

  func elements(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> [ListElement<T>] {
    let items = try transaction.items(of: name, in: record) ?? []
    var values = items.map(\.value)
    if definition.mergesMembers {
      values = try transaction.reader.withMembers(values, of: name, in: record)
    }
    return zip(items, values).compactMap { item, value in
      codec.decode(value, record.zone).map { ListElement(id: item.id, value: $0) }
    }
  }
}

/// An element of a list. The members of its value are its own too: `element.done`.
@dynamicMemberLookup
public struct ListElement<T: Sendable>: Sendable, Identifiable {
  /// Names the element among those of its field, on every device. It stays while the element moves and
  /// changes.
  public let id: UnitReference
  public let value: T

  public subscript<Member>(dynamicMember path: KeyPath<T, Member>) -> Member { value[keyPath: path] }
}

extension ListElement: Equatable where T: Equatable {}
extension ListElement: Hashable where T: Hashable {}

extension ListField: IndexableField {
  var indexPart: IndexPart { IndexPart(.elements(queryField())) }
}
