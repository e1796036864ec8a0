public import OperationFormat

/// Lists and texts. Indexes count what the write sees. Concurrent insertions at one index end up one after
/// the other, never mixed.
///
/// Each is a separate cell: ``WriteTransaction/set(_:of:to:)`` does not change it.
extension WriteTransaction {
  // MARK: Text

  /// Inserts text before an index.
  ///
  /// Insertions of one write that follow each other become one operation.
  ///
  /// - Parameters:
  ///   - text: any text; nothing happens if it is empty.
  ///   - index: in Unicode scalars, from 0 to their count.
  ///   - field: the text.
  ///   - record: the record.
  /// - Throws: ``StoreError`` `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the text, linear in what is inserted
  public mutating func insertText(
    _ text: String, at index: Int, in field: Name, of record: RecordID
  ) throws {
    try write.insertText(text, at: index, in: field, of: record)
  }

  /// Removes text in a range of indexes.
  ///
  /// - Parameters:
  ///   - range: in Unicode scalars.
  ///   - field: the text.
  ///   - record: the record.
  /// - Throws: ``StoreError`` `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the text, linear in what is removed
  public mutating func removeText(_ range: Range<Int>, from field: Name, of record: RecordID) throws {
    try write.edit(field, .text, of: record) { units in try units.runs(range, field).map { .removeText($0) } }
  }

  // MARK: Lists

  /// Inserts values before an index of a list.
  ///
  /// - Throws: ``StoreError`` `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list, linear in what is inserted
  public mutating func insertElements(
    _ values: [Value], at index: Int, in field: Name, of record: RecordID
  ) throws {
    try write.edit(field, .list, of: record) { units in
      let origin = try units.origin(before: index, field).map { try units.reference($0) }
      return values.isEmpty ? [] : [.insertElements(values, after: origin)]
    }
  }

  /// Moves an element of a list to another index. A concurrent change of its value stays; of two concurrent
  /// moves, the last writer's counts.
  ///
  /// - Throws: ``StoreError`` `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list
  public mutating func moveElement(
    from source: Int, to target: Int, in field: Name, of record: RecordID
  ) throws {
    try write.edit(field, .list, of: record) { units in try units.move(from: source, to: target, field) }
  }

  /// Moves an element of a list, wherever it is, to an index.
  ///
  /// - Throws: ``StoreError`` `elementUnknown`, `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list
  public mutating func moveElement(
    _ element: UnitReference, to target: Int, in field: Name, of record: RecordID
  ) throws {
    try write.edit(field, .list, of: record) { units in
      try units.move(from: units.index(of: element, field), to: target, field)
    }
  }

  /// Gives an element of a list another value, at any index that a concurrent move gives it. Of two
  /// concurrent values, the last writer's shows.
  ///
  /// - Throws: ``StoreError`` `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list
  public mutating func replaceElement(
    at index: Int, in field: Name, of record: RecordID, with newValue: Value
  ) throws {
    try write.edit(field, .list, of: record) { units in
      [.replaceElement(try units.element(at: index, field), newValue)]
    }
  }

  /// Gives an element of a list another value, wherever it is.
  ///
  /// - Throws: ``StoreError`` `elementUnknown`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list
  public mutating func replaceElement(
    _ element: UnitReference, in field: Name, of record: RecordID, with newValue: Value
  ) throws {
    try write.edit(field, .list, of: record) { units in
      [.replaceElement(try units.element(at: units.index(of: element, field), field), newValue)]
    }
  }

  /// Removes an element of a list, wherever it is. It stays removed, whatever other replicas do to it.
  ///
  /// - Throws: ``StoreError`` `elementUnknown`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list
  public mutating func removeElement(_ element: UnitReference, from field: Name, of record: RecordID) throws {
    try write.edit(field, .list, of: record) { units in
      let index = try units.index(of: element, field)
      return try units.elements(index..<index + 1, field).map { .removeElements($0) }
    }
  }

  /// Removes elements of a list. They stay removed, whatever other replicas do to them.
  ///
  /// - Throws: ``StoreError`` `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list, linear in what is removed
  public mutating func removeElements(_ range: Range<Int>, from field: Name, of record: RecordID) throws {
    try write.edit(field, .list, of: record) { units in
      try units.elements(range, field).map { .removeElements($0) }
    }
  }
}
