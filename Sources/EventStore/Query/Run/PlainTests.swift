import OperationFormat

/// The conditions of a query that need only short registers in a record's row, all of which must hold. They are
/// tried first, on the bytes in the memory map: most records of a scan fail one of them.
///
/// ``QuerySource/fulfils(_:_:)`` is the general way, and its oracle.
struct PlainTests {
  /// It holds no object, so that copying it counts no references.
  private struct Test {
    enum Operation {
      case compareText(QueryCondition.Comparison)
      case matchText(QueryCondition.TextMatch)
      case compare(QueryCondition.Comparison)
    }

    let cell: CellNumber
    let operation: Operation
    /// Where its text is in ``texts``.
    var text = 0..<0
    /// Which of ``values`` is compared with.
    var value = 0
  }

  /// The only type that is wanted, if there is but one.
  private let type: NameNumber?
  /// In the order of the cells.
  private var tests: [Test] = []
  private var texts: [UInt8] = []
  private var values: [Value] = []
  /// What is left to be fulfilled where all tests hold.
  private(set) var rest: QueryCondition

  init(_ query: RecordQuery, _ view: ReadView) throws {
    type = try query.types.flatMap { $0.count == 1 ? try view.number(of: $0[0]) ?? .none : nil }
    var left: [QueryCondition] = []
    rest = .always(true)
    for part in query.condition.parts where try !add(part, view) { left.append(part) }
    rest = left.count == 1 ? left[0] : left.isEmpty ? .always(true) : .all(left)
    tests.sort { $0.cell < $1.cell }
  }

  /// Adds a condition, if it is of the kind.
  private mutating func add(_ condition: QueryCondition, _ view: ReadView) throws -> Bool {
    func test(_ field: QueryField, _ operation: Test.Operation) throws -> Test? {
      guard let name = field.plainName, let number = try view.number(of: name) else { return nil }
      return Test(cell: CellNumber(register: number), operation: operation)
    }
    switch condition {
    case .compare(let field, let comparison, .string(let text)):
      guard let test = try test(field, .compareText(comparison)) else { return false }
      add(test, text)
    case .text(let field, let match, let text):
      guard let test = try test(field, .matchText(match)) else { return false }
      add(test, text)
    case .compare(let field, let comparison, let value) where value.isOfFewBytes:
      guard var test = try test(field, .compare(comparison)) else { return false }
      test.value = values.count
      values.append(value)
      tests.append(test)
    default: return false
    }
    return true
  }

  private mutating func add(_ test: Test, _ text: String) {
    let start = texts.count
    texts += text.utf8
    var test = test
    test.text = start..<texts.count
    tests.append(test)
  }

  /// Whether a row's record, if it is visible, is of the type and all tests hold; nil if the row alone does not
  /// tell, or there are no tests.
  func hold(in row: StoredRow) -> Bool? {
    guard row.isPacked, let packed = PackedRow(row.bytes), !packed.isExistenceInFull else { return nil }
    if let type, packed.type != type.rawValue { return false }
    if tests.isEmpty { return nil }
    var cells = PackedCells(row.bytes, from: packed.fields)
    guard var cell = cells.next() else { return nil }
    for test in tests {
      while cell.number < test.cell {
        guard let next = cells.next() else { return nil }
        cell = next
      }
      guard cell.number == test.cell, cell.hasValueExtent,
        let holds = holds(test, row.extracting(cell.payload))
      else { return nil }
      if !holds { return false }
    }
    return true
  }

  /// Nil if it is not a value of the kind that is tested.
  @inline(__always)
  private func holds(_ test: Test, _ payload: RawSpan) -> Bool? {
    switch test.operation {
    case .compareText(let comparison):
      guard let text = Value.shortTextBytes(in: payload) else { return nil }
      return comparison.holds(text, texts.span.bytes.extracting(test.text))
    case .matchText(let match):
      guard let text = Value.shortTextBytes(in: payload) else { return nil }
      return match.holds(text, texts.span.bytes.extracting(test.text))
    case .compare(let comparison):
      guard let value = Value(ofFewBytes: payload) else { return nil }
      return comparison.holds(value, values[test.value])
    }
  }
}

extension Value {
  /// Whether it is a number, a truth value or a time: what copying allocates nothing for.
  fileprivate var isOfFewBytes: Bool {
    switch self {
    case .bool, .int, .double, .date: true
    case .null, .decimal, .string, .bytes, .uuid, .reference, .asset, .array, .map: false
    }
  }

  /// The value that fills some bytes, if it is of that kind.
  fileprivate init?(ofFewBytes bytes: RawSpan) {
    guard bytes.byteCount <= 11, let value = try? Value(decoding: bytes), value.isOfFewBytes else {
      return nil
    }
    self = value
  }
}
