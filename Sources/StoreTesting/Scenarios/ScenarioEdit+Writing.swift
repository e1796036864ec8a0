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
