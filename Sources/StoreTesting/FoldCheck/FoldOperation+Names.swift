package import EventStore
package import OperationFormat

/// Generated operations in names: records “r0”, “r1” …, fields “f0” …, types “t0” ….
extension FoldOperation {
  /// The record's name.
  package var recordName: Name { Name("r\(record)") }

  /// The field's name; not of `create` and `delete`.
  package var fieldName: Name { Name("f\(field)") }

  /// The type's name; not of `delete`.
  package var typeName: Name { Name("t\(type)") }

  /// The operation as it lies in a log.
  package var logOperation: LogOperation {
    switch kind {
    case .create: .create(record: recordName, type: typeName)
    case .delete: .delete(record: recordName)
    default: .update(record: recordName, type: typeName, field: fieldName, change)
    }
  }

  /// What it does to its field; not of `create` and `delete`.
  package var change: FieldChange {
    switch kind {
    case .set: .set(value.value)
    case .add: .add(value.value)
    case .insert: .insert(FoldCells.setElements[Int(element)].value)
    case .remove: .remove(FoldCells.setElements[Int(element)].value)
    case .put: .put(key: FoldCells.mapKeys[Int(element)], value.value)
    case .removeKey: .removeKey(FoldCells.mapKeys[Int(element)])
    default: preconditionFailure("\(self) changes no field, or by its units")
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
    case .delete:
      if !isThere { return false }
      try delete(record)
    default:
      if !isThere { try create(record, type: operation.typeName) }
      try perform(operation.change, on: operation.fieldName, of: record)
    }
    return true
  }

  private mutating func perform(_ change: FieldChange, on field: Name, of record: RecordID) throws {
    switch change {
    case .set(let value): try set(field, of: record, to: value)
    case .add(let value): try add(value, to: field, of: record)
    case .insert(let element): try insert(element, into: field, of: record)
    case .remove(let element): try remove(element, from: field, of: record)
    case .put(let key, let value): try put(value, at: key, in: field, of: record)
    case .removeKey(let key): try removeValue(at: key, from: field, of: record)
    default: preconditionFailure("no generated operation makes \(change)")
    }
  }
}
