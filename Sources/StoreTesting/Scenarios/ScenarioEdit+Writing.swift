import EventStore
import OperationFormat

extension WriteTransaction {
  /// Does what a scenario says of a field that merges.
  mutating func perform(_ edit: ScenarioEdit, on field: Name, of record: RecordID) throws {
    switch edit {
    case .add(let amount): try add(amount, to: field, of: record)
    case .setCounter(let value):
      let seen = try counter(field, of: record)?.value ?? .int(0)
      guard let difference = value.difference(from: seen) else {
        throw ScenarioMismatch(
          expected: "a difference from \(seen) to \(value)", found: "none that is a value")
      }
      try add(difference, to: field, of: record)
    case .insert(let elements): for element in elements { try insert(element, into: field, of: record) }
    case .remove(let elements): for element in elements { try remove(element, from: field, of: record) }
    case .clearSet:
      // A set has no order, and the log has one.
      for element in try elements(of: field, in: record)?.sorted(by: { "\($0)" < "\($1)" }) ?? [] {
        try remove(element, from: field, of: record)
      }
    case .insertElements(let values, let index): try insertElements(values, at: index, in: field, of: record)
    case .removeElements(let index, let count):
      try removeElements(index..<index + count, from: field, of: record)
    case .replaceElement(let index, let value):
      try replaceElement(at: index, in: field, of: record, with: value)
    case .moveElement(let source, let target):
      try moveElement(from: source, to: target, in: field, of: record)
    case .insertText(let text, let index): try insertText(text, at: index, in: field, of: record)
    case .removeText(let index, let count): try removeText(index..<index + count, from: field, of: record)
    }
  }
}

extension Value {
  /// What must be added to another number for this one, nil if that is no value.
  fileprivate func difference(from other: Value) -> Value? {
    switch other {
    case .int(let number): NaiveSum.sum(self, .int(0 &- number))
    case .decimal(let number):
      DecimalNumber(coefficient: 0 &- number.coefficient, exponent: number.exponent).flatMap {
        NaiveSum.sum(self, .decimal($0))
      }
    default: nil
    }
  }
}
