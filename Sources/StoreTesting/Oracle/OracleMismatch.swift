import OperationFormat

/// A difference between a store and the oracle, or something that breaks the rules.
struct OracleMismatch: Error, Hashable, Sendable {
  /// What disagrees, in words.
  var subject: String
  /// The record in question, if it is about one.
  var record: RecordID?
  /// The field in question, if it is about one.
  var field: Name?
  var expected: String
  var found: String

  init(
    _ subject: String, of record: RecordID? = nil, field: Name? = nil, expected: String, found: String
  ) {
    self.subject = subject
    self.record = record
    self.field = field
    self.expected = expected
    self.found = found
  }
}

extension OracleMismatch: CustomStringConvertible {
  /// Such as “heads of field “title” of record main:r1: expected …; found …”.
  var description: String {
    let field = field.map { " of field “\($0)”" } ?? ""
    let record = record.map { " of record \($0)" } ?? ""
    return "\(subject)\(field)\(record): expected \(expected); found \(found)"
  }
}
