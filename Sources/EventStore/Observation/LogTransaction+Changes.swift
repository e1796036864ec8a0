package import OperationFormat

extension LogTransaction {
  /// The records that its operations change, and their fields; nil if it has operations that this version does not know.
  package var changedRecords: [Name: Commit.Fields]? {
    var records: [Name: Commit.Fields] = [:]
    for operation in operations {
      guard let record = operation.record else { return nil }
      var fields = Commit.Fields.all
      // What refers to others may decide whether records show.
      if case .update(_, _, let field, let change) = operation, !change.mayName {
        fields = .some([field])
      }
      records[record] = records[record]?.joined(with: fields) ?? fields
    }
    return records
  }
}

extension FieldChange {
  /// Whether it may change a reference.
  fileprivate var mayName: Bool {
    switch self {
    case .set(let value): value.mayNameRecords
    case .add, .insertText, .removeText: false
    default: true
    }
  }
}
