package import EventStore
package import OperationFormat

/// Generated operations in names: records “r0”, “r1” …, fields “f0” …, types “t0” ….
extension FoldOperation {
  /// The record's name.
  package var recordName: Name { Name("r\(record)") }

  /// The field's name; only of an operation on a field.
  package var fieldName: Name { Name("f\(field)") }

  /// The type's name; not of `delete` and `moveAway`.
  package var typeName: Name { Name("t\(type)") }

  /// Where a record goes to; only of `moveAway`.
  package var place: RecordID { Self.places[Int(element)] }

  /// The places that records go to, both in other zones than where they are.
  static let places = [
    RecordID(zone: ZoneID(name: "x"), name: "p0"), RecordID(zone: ZoneID(owner: "o", name: "y"), name: "p1"),
  ]

  /// The operation as it lies in a log.
  package var logOperation: LogOperation {
    switch kind {
    case .create: .create(record: recordName, type: typeName)
    case .delete: .delete(record: recordName)
    case .moveAway: .moveAway(record: recordName, to: place)
    default: .update(record: recordName, type: typeName, field: fieldName, change)
    }
  }

  /// What it does to its field; only of an operation on one.
  package var change: FieldChange {
    switch kind {
    case .set: .set(value.value)
    case .add: .add(value.value)
    case .insert: .insert(FoldCells.setElements[Int(element)].value)
    case .remove: .remove(FoldCells.setElements[Int(element)].value)
    case .put: .put(key: FoldCells.mapKeys[Int(element)], value.value)
    case .removeKey: .removeKey(FoldCells.mapKeys[Int(element)])
    case .contribute: .contribute(value.value)
    default: preconditionFailure("\(self) changes no field, or by its units")
    }
  }
}

extension WriteTransaction {
  /// Does what a generated operation says, as an app would: what is not there is created before it is set, what is
  /// there is deleted before it is created anew, and what is not there is not deleted.
  ///
  /// - Parameter other: the zone that a record goes to, unless it has one of that name; if nil, it is deleted.
  /// - Returns: whether it changed anything.
  @discardableResult
  package mutating func perform(
    _ operation: FoldOperation, in zone: ZoneID, movingTo other: ZoneID? = nil
  ) throws -> Bool {
    let record = RecordID(zone: zone, name: operation.recordName)
    let isThere = try contains(record)
    switch operation.kind {
    case .create:
      if isThere { try delete(record) }
      try create(record, type: operation.typeName)
    case .delete, .moveAway:
      if !isThere { return false }
      if operation.kind == .moveAway, let other, try !contains(RecordID(zone: other, name: record.name)) {
        try move(record, to: other)
      } else {
        try delete(record)
      }
    default:
      if !isThere { try create(record, type: operation.typeName) }
      if operation.kind.isOfSequence {
        try edit(operation, operation.fieldName, of: record)
      } else {
        try perform(operation.change, on: operation.fieldName, of: record)
      }
    }
    return true
  }

  /// Changes a list or a text; where nothing is seen, it inserts.
  private mutating func edit(_ operation: FoldOperation, _ field: Name, of record: RecordID) throws {
    let isText = operation.kind == .insertText || operation.kind == .removeText
    let count = try count(of: field, in: record, as: isText ? .text : .list)
    let place = Int(operation.value.rawValue)
    let amount = 1 + Int(operation.element)
    let range = place % max(1, count)..<min(count, place % max(1, count) + amount)
    switch operation.kind {
    case _ where isText && (count == 0 || operation.kind == .insertText):
      let letters = String(repeating: String(UnicodeScalar(97 + operation.value.rawValue)), count: amount)
      try insertText(letters, at: place % (count + 1), in: field, of: record)
    case .removeText: try removeText(range, from: field, of: record)
    case _ where count == 0 || operation.kind == .insertElements:
      let values = (0..<amount).map { Value.int(Int64(place * 10 + $0)) }
      try insertElements(values, at: place % (count + 1), in: field, of: record)
    case .removeElements: try removeElements(range, from: field, of: record)
    case .replaceElement:
      try replaceElement(at: place % count, in: field, of: record, with: operation.value.value)
    default: try moveElement(from: place % count, to: (place / 2 + amount) % count, in: field, of: record)
    }
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
    default: preconditionFailure("no generated operation makes \(change)")
    }
  }
}
