import OperationFormat

/// Sets that began as registers with arrays: see `SetField.init(_:startingWith:)`.
extension WriteTransaction {
  /// Inserts what registers of earlier versions of the app have, and clears them: an element could not be
  /// removed else.
  mutating func takeOverRegisters(of field: some MergingField, in record: RecordID) throws {
    for register in field.definition.formerNames {
      guard case .array(let elements)? = try reader.register(register, of: record) else { continue }
      for element in elements { try insert(element, into: field.name, of: record) }
      try set(register, of: record, to: .null)
    }
  }
}
