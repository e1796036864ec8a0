public import OperationFormat

/// How values of an earlier version of an app become those of this one, where they are read, compared or
/// indexed. The log and the records keep what was written.
public enum ValueUpcast: Hashable, Sendable {
  /// Texts that are decimal numbers become numbers, and truth values 0 and 1.
  case number
  /// Numbers and truth values become texts.
  case text
  /// Some values become others: those of a table. All others stay.
  case values([Value: Value])
}

extension ValueUpcast {
  /// What a stored value says.
  package func callAsFunction(_ value: Value) -> Value {
    switch (self, value) {
    case (.number, .bool(let flag)): .int(flag ? 1 : 0)
    case (.number, .string(let text)):
      Int64(text).map { .int($0) } ?? DecimalNumber(text).map { .decimal($0) } ?? value
    case (.text, .bool(let flag)): .string("\(flag)")
    case (.text, .int(let number)): .string("\(number)")
    case (.text, .double(let number)): .string("\(number)")
    case (.text, .decimal(let number)): .string("\(number)")
    case (.values(let table), _): table[value] ?? value
    default: value
    }
  }

  var stored: Value {
    switch self {
    case .number: "number"
    case .text: "text"
    case .values(let table):
      // Sorted: one table is stored in one way.
      .array(
        table.map { [$0.key, $0.value] }.sorted { $0[0].precedes($1[0]) }.map { .array($0) })
    }
  }

  init?(stored value: Value) {
    switch value {
    case "number": self = .number
    case "text": self = .text
    case .array(let pairs):
      var table: [Value: Value] = [:]
      for pair in pairs {
        guard case .array(let both) = pair, both.count == 2 else { return nil }
        table[both[0]] = both[1]
      }
      self = .values(table)
    default: return nil
    }
  }
}
