import OperationFormat

/// A cell that is no list and no text: a field, or one element of a set or a map.
struct UndoneCell: Hashable, Comparable {
  let field: Name
  let kind: FieldKind
  let element: Value?
  /// The element's bytes, in whose order elements are.
  private let bytes: [UInt8]

  init(_ field: Name, _ kind: FieldKind, _ element: Value? = nil) {
    (self.field, self.kind, self.element) = (field, kind, element)
    bytes = element.flatMap { try? $0.encoded() } ?? []
  }

  /// What it shows; nil for nothing. Null in a register is no value.
  func value(of heads: [CellHead]) -> Value? {
    let value = heads.first?.content.value
    return kind == .register && value == .null ? nil : value
  }

  /// What gives it a value; nil for none.
  func change(to value: Value?) -> FieldChange {
    switch (kind, element) {
    case (.set, let element?): value == nil ? .remove(element) : .insert(element)
    case (.map, .string(let key)?): value.map { .put(key: Name(key), $0) } ?? .removeKey(Name(key))
    default: .set(value ?? .null)
    }
  }

  static func < (left: UndoneCell, right: UndoneCell) -> Bool {
    if left.field != right.field { return left.field < right.field }
    if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue }
    return left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

/// The heads of the cells of a record, each field read once.
struct CellHeads: ~Escapable {
  private let record: RecordID
  private let reader: RecordReader
  private var known: [UndoneCell: [Value?: [CellHead]]] = [:]

  @_lifetime(copy reader)
  init(_ record: RecordID, _ reader: RecordReader) { (self.record, self.reader) = (record, reader) }

  /// The heads of a cell, greatest first.
  mutating func heads(of cell: UndoneCell) throws -> [CellHead] {
    let field = UndoneCell(cell.field, cell.kind)
    if known[field] == nil {
      known[field] = try reader.headsByElement(of: cell, record)
    }
    return known[field]![cell.element] ?? []
  }
}

extension CounterSum {
  /// What is to be added to a counter so that it has the sum of other addends.
  static func difference(from heads: [CellHead], to others: [CellHead]) throws -> Value {
    let (known, wanted) = (Set(heads.map(\.operation)), Set(others.map(\.operation)))
    var sum = CounterSum()
    for head in others where !known.contains(head.operation) {
      if case .addend(let value) = head.content { try sum.add(value) }
    }
    for head in heads where !wanted.contains(head.operation) {
      if case .addend(let value) = head.content { try sum.add(value.negated) }
    }
    return sum.total.value
  }
}

extension CounterSum {
  fileprivate mutating func add(_ value: Value) throws {
    let bytes = try value.encoded()
    try add(bytes.span.bytes)
  }
}

extension Value {
  /// The number that takes an addend back.
  fileprivate var negated: Value {
    switch self {
    case .int(let number):
      number == .min
        ? DecimalNumber(coefficient: -Int128(number), exponent: 0).map { .decimal($0) } ?? self
        : .int(-number)
    case .decimal(let number):
      number.coefficient == .min
        ? self
        : DecimalNumber(coefficient: -number.coefficient, exponent: number.exponent).map { .decimal($0) }
          ?? self
    default: self
    }
  }
}

extension RecordReader {
  /// The heads of the field of a cell, by the elements if it has some.
  func headsByElement(of cell: UndoneCell, _ record: RecordID) throws -> [Value?: [CellHead]] {
    Dictionary(grouping: try heads(of: cell.field, cell.kind, record)) {
      cell.element == nil ? nil : $0.content.element
    }
  }
}
