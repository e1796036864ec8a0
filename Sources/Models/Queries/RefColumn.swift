public import OperationFormat

/// A field with a reference. Its members are the fields of the record that it refers to: `$0.author.name`. Where that
/// record is not there, they are as if they were never set.
@dynamicMemberLookup
public struct RefColumn<M: Model>: QueryColumn {
  let column: Column<Ref<M>?>
  public var field: QueryField { column.field }

  public static func == (column: RefColumn, value: Ref<M>?) -> QueryCondition { column.column == value }
  public static func != (column: RefColumn, value: Ref<M>?) -> QueryCondition { column.column != value }

  /// The reference is one of some.
  public func `in`(_ values: some Sequence<Ref<M>>) -> QueryCondition {
    column.in(values.map { Optional($0) })
  }

  private var target: Columns<M> {
    guard case .field(let name, _) = field.subject else { return Columns() }
    return Columns(path: field.path + [name])
  }

  /// The record's name.
  public var recordName: Column<Name> { target.recordName }

  public subscript<Found>(dynamicMember path: KeyPath<Columns<M>, Found>) -> Found { target[keyPath: path] }
}

/// The elements of a set or a list. Sorting by it sorts by their number.
public struct ElementsColumn<T: Sendable>: QueryColumn {
  public let field: QueryField
  let codec: ValueCodec<T>

  /// How many there are.
  public var count: Column<Int> { Column(field, .ofFieldValue) }

  /// One of them is a value.
  public func contains(_ element: T) -> QueryCondition { codec.condition(element) { .contains(field, $0) } }

  /// One of them fulfils a condition.
  ///
  /// ```swift
  /// let open = Post.where { $0.items.any { $0["done"] == false } }
  /// ```
  public func any(_ condition: (ElementColumn) -> QueryCondition) -> QueryCondition {
    .hasElement(field, condition(ElementColumn(members: [])))
  }
}

/// The entries of a map. Sorting by it sorts by their number.
public struct EntriesColumn<T: Sendable>: QueryColumn {
  public let field: QueryField
  let codec: ValueCodec<T>

  /// How many there are.
  public var count: Column<Int> { Column(field, .ofFieldValue) }

  /// The map has a key.
  public func contains(key: String) -> QueryCondition { .contains(field, .string(key)) }

  /// A value in it fulfils a condition.
  public func any(_ condition: (ElementColumn) -> QueryCondition) -> QueryCondition {
    .hasElement(field, condition(ElementColumn(members: [])))
  }
}

/// An element, or a member of one, which is named as it is stored: by its coding key.
public struct ElementColumn {
  let members: [Name]

  private var field: QueryField { QueryCondition.elementMember(members) }

  /// A member of it.
  public subscript(member: Name) -> ElementColumn { ElementColumn(members: members + [member]) }

  private func compare<T: FieldValue>(_ comparison: QueryCondition.Comparison, _ value: T) -> QueryCondition {
    ValueCodec<T>.ofFieldValue.condition(value) { .compare(field, comparison, $0) }
  }

  public static func == (column: Self, value: some FieldValue) -> QueryCondition {
    column.compare(.equal, value)
  }
  public static func != (column: Self, value: some FieldValue) -> QueryCondition {
    column.compare(.notEqual, value)
  }
  public static func < (column: Self, value: some FieldValue) -> QueryCondition {
    column.compare(.less, value)
  }
  public static func <= (column: Self, value: some FieldValue) -> QueryCondition {
    column.compare(.lessOrEqual, value)
  }
  public static func > (column: Self, value: some FieldValue) -> QueryCondition {
    column.compare(.greater, value)
  }
  public static func >= (column: Self, value: some FieldValue) -> QueryCondition {
    column.compare(.greaterOrEqual, value)
  }

  public func hasPrefix(_ text: String) -> QueryCondition { .text(field, .prefix, text) }
  public func hasSuffix(_ text: String) -> QueryCondition { .text(field, .suffix, text) }
  public func contains(_ text: String) -> QueryCondition { .text(field, .contains, text) }
}
