import OperationFormat

/// Elements of lists whose members merge: see `ListField.mergingMembers`.
extension WriteTransaction {
  /// An element with the members that were changed since it was inserted.
  func merged(_ element: Value, of field: some MergingField, in record: RecordID) throws -> Value {
    try reader.withMembers(element, of: field.name, in: record)
  }

  /// Changes the members of an element that differ.
  ///
  /// - Parameters:
  ///   - element: the element as it was inserted.
  ///   - value: what is stored for what it is to be.
  ///   - field: its list.
  ///   - record: the list's record.
  /// - Returns: false, and nothing is changed, if the element has no identity.
  mutating func setMembers(
    of element: Value, to value: Value, in field: some MergingField, of record: RecordID
  ) throws -> Bool {
    guard let prefix = MergedMembers.prefix(of: element), case .map(let after) = value,
      // As this version of the app shows it: members that it does not know stay.
      case .map(let known)? = try field.stored(merged(element, of: field, in: record), in: record.zone)
    else { return false }
    for member in Set(known.keys).union(after.keys).sorted() where known[member] != after[member] {
      try put(
        .array(after[member].map { [$0] } ?? []), at: Name(prefix + member.rawValue), in: field.name,
        of: record)
    }
    return true
  }

  /// Removes the changed members of an element that goes.
  mutating func removeMembers(of element: Value, in field: some MergingField, of record: RecordID) throws {
    guard field.definition.mergesMembers, let prefix = MergedMembers.prefix(of: element) else { return }
    for key in try reader.entries(of: field.name, keysFrom: prefix, in: record).keys.sorted() {
      try removeValue(at: key, from: field.name, of: record)
    }
  }
}
