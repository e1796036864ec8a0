public import OperationFormat

/// The fields of a model, as a query looks at them: by the properties of the model.
@dynamicMemberLookup
public struct Columns<M: Model> {
  private let schema = M.schema
  /// The fields with references that lead from the queried record to this one.
  let path: [Name]

  init(path: [Name] = []) { self.path = path }

  /// The record's name.
  public var recordName: Column<Name> { Column(QueryField(.name, path: path), .ofFieldValue) }

  public subscript<T>(dynamicMember path: KeyPath<M, Field<T>>) -> Column<T> {
    column(schema.model[keyPath: path])
  }

  public subscript<N: Model>(dynamicMember path: KeyPath<M, Field<Ref<N>?>>) -> RefColumn<N> {
    let column = column(schema.model[keyPath: path])
    return RefColumn(column: column)
  }

  public subscript(dynamicMember path: KeyPath<M, CounterField>) -> Column<Int> {
    Column(field(schema.model[keyPath: path], fallback: .int(0)), .ofFieldValue)
  }

  public subscript(dynamicMember path: KeyPath<M, DecimalCounterField>) -> Column<DecimalNumber> {
    Column(field(schema.model[keyPath: path], fallback: .decimal(.empty)), .ofFieldValue)
  }

  public subscript(dynamicMember path: KeyPath<M, ProseField>) -> Column<String> {
    Column(field(schema.model[keyPath: path], fallback: ""), .ofFieldValue)
  }

  public subscript<E>(dynamicMember path: KeyPath<M, SetField<E>>) -> ElementsColumn<E> {
    let set = schema.model[keyPath: path]
    return ElementsColumn(field: field(set), codec: set.codec)
  }

  public subscript<T>(dynamicMember path: KeyPath<M, ListField<T>>) -> ElementsColumn<T> {
    let list = schema.model[keyPath: path]
    return ElementsColumn(field: field(list), codec: list.codec)
  }

  public subscript<T>(dynamicMember path: KeyPath<M, MapField<T>>) -> EntriesColumn<T> {
    let map = schema.model[keyPath: path]
    return EntriesColumn(field: field(map), codec: map.codec)
  }

  private func column<T>(_ field: Field<T>) -> Column<T> {
    Column(field.queryField(path: path), field.core.codec)
  }

  private func field(_ field: some MergingField, fallback: Value = .null) -> QueryField {
    field.queryField(path: path, fallback: fallback)
  }
}

/// What a query can be sorted by.
public protocol QueryColumn {
  /// The column in the terms of the store.
  var field: QueryField { get }
}

/// A field with values of a type.
public struct Column<T: Sendable>: QueryColumn {
  public let field: QueryField
  let codec: ValueCodec<T>

  init(_ field: QueryField, _ codec: ValueCodec<T>) { (self.field, self.codec) = (field, codec) }

  func condition(_ value: T, _ make: (Value) -> QueryCondition) -> QueryCondition {
    codec.condition(value, make)
  }

  func compare(_ comparison: QueryCondition.Comparison, _ value: T) -> QueryCondition {
    condition(value) { .compare(field, comparison, $0) }
  }

  public static func == (column: Column, value: T) -> QueryCondition { column.compare(.equal, value) }
  public static func != (column: Column, value: T) -> QueryCondition { column.compare(.notEqual, value) }

  /// The value is one of some.
  public func `in`(_ values: some Sequence<T>) -> QueryCondition {
    codec.condition(values) { .oneOf(field, $0) }
  }
}

extension ValueCodec {
  /// A condition with what is stored for a value.
  func condition(_ value: T, _ make: (Value) -> QueryCondition) -> QueryCondition {
    condition([value]) { make($0[0]) }
  }

  func condition(_ values: some Sequence<T>, _ make: ([Value]) -> QueryCondition) -> QueryCondition {
    do {
      return make(try values.map { try encode($0, .nowhere).compared(in: .nowhere) })
    } catch {
      return .invalid("\(error)")
    }
  }
}

// MARK: In order

extension Column where T: Comparable {
  public static func < (column: Column, value: T) -> QueryCondition { column.compare(.less, value) }
  public static func <= (column: Column, value: T) -> QueryCondition { column.compare(.lessOrEqual, value) }
  public static func > (column: Column, value: T) -> QueryCondition { column.compare(.greater, value) }
  public static func >= (column: Column, value: T) -> QueryCondition {
    column.compare(.greaterOrEqual, value)
  }

  /// The value is in a range, its ends included.
  public func between(_ range: ClosedRange<T>) -> QueryCondition {
    self >= range.lowerBound && self <= range.upperBound
  }

  /// The value is in a range, its upper end excluded.
  public func between(_ range: Range<T>) -> QueryCondition {
    self >= range.lowerBound && self < range.upperBound
  }
}

/// A field without a value is in no order with one.
extension Column {
  public static func < <W: Comparable>(column: Column, value: W) -> QueryCondition where T == W? {
    column.compare(.less, value)
  }
  public static func <= <W: Comparable>(column: Column, value: W) -> QueryCondition where T == W? {
    column.compare(.lessOrEqual, value)
  }
  public static func > <W: Comparable>(column: Column, value: W) -> QueryCondition where T == W? {
    column.compare(.greater, value)
  }
  public static func >= <W: Comparable>(column: Column, value: W) -> QueryCondition where T == W? {
    column.compare(.greaterOrEqual, value)
  }

  /// The value is in a range, its ends included.
  public func between<W: Comparable>(_ range: ClosedRange<W>) -> QueryCondition where T == W? {
    self >= range.lowerBound && self <= range.upperBound
  }
}

// MARK: Texts

extension Column where T == String {
  /// The text without case and diacritics: `$0.headline.folded == "cafe"` finds “Café”.
  public var folded: Column { Column(field.folded, codec) }

  /// The text has all words of another. Case and diacritics do not count.
  ///
  /// - Parameters:
  ///   - text: the words.
  ///   - lastIsPrefix: whether it is enough if a word begins as the last one, which may be typed just now.
  public func hasWords(_ text: String, lastIsPrefix: Bool = false) -> QueryCondition {
    .words(field, text, lastIsPrefix: lastIsPrefix)
  }

  public func hasPrefix(_ text: String) -> QueryCondition { .text(field, .prefix, text) }
  public func hasSuffix(_ text: String) -> QueryCondition { .text(field, .suffix, text) }
  public func contains(_ text: String) -> QueryCondition { .text(field, .contains, text) }
}

extension Column where T == String? {
  /// The text without case and diacritics.
  public var folded: Column { Column(field.folded, codec) }

  /// The text has all words of another. Case and diacritics do not count.
  ///
  /// - Parameters:
  ///   - text: the words.
  ///   - lastIsPrefix: whether it is enough if a word begins as the last one, which may be typed just now.
  public func hasWords(_ text: String, lastIsPrefix: Bool = false) -> QueryCondition {
    .words(field, text, lastIsPrefix: lastIsPrefix)
  }

  public func hasPrefix(_ text: String) -> QueryCondition { .text(field, .prefix, text) }
  public func hasSuffix(_ text: String) -> QueryCondition { .text(field, .suffix, text) }
  public func contains(_ text: String) -> QueryCondition { .text(field, .contains, text) }
}

// MARK: Arrays

extension Column {
  /// The array has an element.
  public func contains<Element: FieldValue>(_ element: Element) -> QueryCondition where T == [Element] {
    ValueCodec<Element>.ofFieldValue.condition(element) { .contains(field, $0) }
  }
}
