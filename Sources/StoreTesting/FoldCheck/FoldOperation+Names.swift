package import EventStore
package import OperationFormat

/// Generated operations in names: records “r0”, “r1” …, fields “f0” …, types “t0” ….
extension FoldOperation {
  /// The record's name.
  package var recordName: Name { Name("r\(record)") }

  /// The field's name; of `set` and `add` alone.
  package var fieldName: Name { Name("f\(field)") }

  /// The type's name; not of `delete`.
  package var typeName: Name { Name("t\(type)") }

  /// The operation as it lies in a log.
  package var logOperation: LogOperation {
    switch kind {
    case .create: .create(record: recordName, type: typeName)
    case .set: .set(record: recordName, type: typeName, field: fieldName, value: value.value)
    case .delete: .delete(record: recordName)
    case .add: .add(record: recordName, type: typeName, field: fieldName, value: value.value)
    }
  }
}

extension WriteTransaction {
  /// Does what a generated operation says, as an app would: what is not there is created before it is set, what is
  /// there is deleted before it is created anew, and what is not there is not deleted.
  ///
  /// - Returns: whether it changed anything.
  @discardableResult
  package mutating func perform(_ operation: FoldOperation, in zone: ZoneID) throws -> Bool {
    let record = RecordID(zone: zone, name: operation.recordName)
    let isThere = try contains(record)
    switch operation.kind {
    case .create:
      if isThere { try delete(record) }
      try create(record, type: operation.typeName)
    case .set:
      if !isThere { try create(record, type: operation.typeName) }
      try set(operation.fieldName, of: record, to: operation.value.value)
    case .add:
      if !isThere { try create(record, type: operation.typeName) }
      try add(operation.value.value, to: operation.fieldName, of: record)
    case .delete:
      if !isThere { return false }
      try delete(record)
    }
    return true
  }
}
