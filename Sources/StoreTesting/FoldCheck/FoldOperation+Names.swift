package import EventStore
package import OperationFormat

/// Generated operations in names: records “r0”, “r1” …, fields “f0” …, types “t0” ….
extension FoldOperation {
  /// The record's name.
  package var recordName: Name { Name("r\(record)") }

  /// The field's name; only of an operation on a field.
  var fieldName: Name { Name("f\(field)") }

  /// The type's name; not of an operation after which the record does not exist.
  var typeName: Name { Name("t\(type)") }

  /// The operation as it is in a log.
  ///
  /// - Precondition: it does not edit a list or a text.
  package var logOperation: LogOperation {
    switch action {
    case .create: .create(record: recordName, type: typeName)
    case .end(nil): .delete(record: recordName)
    case .end(let place?): .moveAway(record: recordName, to: FoldExistence.places[place])
    case .change(let change): .update(record: recordName, type: typeName, field: fieldName, change)
    case .edit: preconditionFailure("\(self) names no units")
    }
  }

  /// Whether it sets a register.
  var setsRegister: Bool { kind.row.field?.foldCells?.traits.contains(.isRegister) ?? false }
}

extension FoldCells {
  /// The cell of a field that an operation works on; nil for one on a record's existence, a list or a text.
  func cell(of operation: FoldOperation) -> Int? {
    operation.kind.row.field.flatMap {
      cell($0, element: Int(operation.element), of: Int(operation.field))
    }
  }
}

extension WriteTransaction {
  /// Performs a generated operation, as an app would. It creates a record that does not exist before it sets
  /// a field, deletes a record that exists before it creates it, and does not delete a record that does not
  /// exist.
  ///
  /// - Parameter other: the zone to move a record to, unless it has a record of that name; if nil, it is
  ///   deleted.
  /// - Returns: whether it changed anything.
  @discardableResult
  package mutating func perform(
    _ operation: FoldOperation, in zone: ZoneID, movingTo other: ZoneID? = nil
  ) throws -> Bool {
    let record = RecordID(zone: zone, name: operation.recordName)
    let isThere = try contains(record)
    switch operation.action {
    case .create:
      if isThere { try delete(record) }
      try create(record, type: operation.typeName)
    case .end(let place):
      if !isThere { return false }
      if place != nil, let other, try !contains(RecordID(zone: other, name: record.name)) {
        try move(record, to: other)
      } else {
        try delete(record)
      }
    case .change(let change):
      if !isThere { try create(record, type: operation.typeName) }
      try perform(change, on: operation.fieldName, of: record)
    case .edit(let edit):
      if !isThere { try create(record, type: operation.typeName) }
      try perform(edit, of: operation, in: record)
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
    case .contribute(let payload): try contribute(payload, to: field, of: record)
    case .insertElements, .moveElement, .replaceElement, .removeElements, .insertText, .removeText:
      preconditionFailure("a generated edit is made by indexes: \(change)")
    }
  }
}
