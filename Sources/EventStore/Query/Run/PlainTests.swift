import OperationFormat

/// The conditions of a query that need only the text of a register in the record's row, all of which must hold. They
/// are tried first, on the bytes in the memory map: most records of a scan fail one of them.
///
/// ``QuerySource/fulfils(_:_:)`` is the general way, and its oracle.
struct PlainTests {
  private enum Test {
    case compare(QueryCondition.Comparison)
    case match(QueryCondition.TextMatch)
  }

  private var tests: [(cell: CellNumber, test: Test, text: Range<Int>)] = []
  /// The texts that are compared with.
  private var texts: [UInt8] = []
  /// What is left to be fulfilled where all tests hold.
  private(set) var rest: QueryCondition

  init(_ condition: QueryCondition, _ view: ReadView) throws {
    var left: [QueryCondition] = []
    rest = .always(true)
    for part in condition.parts where try !add(part, view) { left.append(part) }
    rest = left.count == 1 ? left[0] : left.isEmpty ? .always(true) : .all(left)
  }

  /// Adds a condition, if it is of the kind.
  private mutating func add(_ condition: QueryCondition, _ view: ReadView) throws -> Bool {
    let (field, test, text): (QueryField, Test, String)
    switch condition {
    case .compare(let compared, let comparison, .string(let other)):
      (field, test, text) = (compared, .compare(comparison), other)
    case .text(let compared, let match, let part): (field, test, text) = (compared, .match(match), part)
    default: return false
    }
    guard let name = field.plainName, let number = try view.number(of: name) else { return false }
    let start = texts.count
    texts += text.utf8
    tests.append((CellNumber(register: number), test, start..<texts.count))
    return true
  }

  /// Whether all tests hold; nil if a record's row does not tell, or there are none.
  func hold(for record: borrowing RecordView) throws -> Bool? {
    if tests.isEmpty { return nil }
    let texts = texts.span.bytes
    for index in tests.indices {
      let (cell, test, range) = tests[index]
      guard let text = try record.plainText(of: cell) else { return nil }
      let other = texts.extracting(range)
      let holds =
        switch test {
        case .compare(let comparison): comparison.holds(text, other)
        case .match(let match): match.holds(text, other)
        }
      if !holds { return false }
    }
    return true
  }
}
