public import OperationFormat

/// Lists and texts. Indexes count what the write sees; what is inserted elsewhere at the same place comes before or behind it,
/// never in between.
///
/// Each is a cell of its own, apart from the value that ``WriteTransaction/set(_:of:to:)`` sets.
extension WriteTransaction {
  // MARK: Text

  /// Inserts text before an index.
  ///
  /// What one write inserts bit by bit, each behind the last, makes one operation, as if it had come at once.
  ///
  /// - Parameters:
  ///   - text: any text; nothing happens if it is empty.
  ///   - index: in Unicode scalars, from 0 up to their count.
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

  /// Moves an element of a list: it ends at another index. A change of its value elsewhere stays, and of two moves the last
  /// writer's.
  ///
  /// - Throws: ``StoreError`` `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list
  public mutating func moveElement(
    from source: Int, to target: Int, in field: Name, of record: RecordID
  ) throws {
    try write.edit(field, .list, of: record) { units in
      let element = try units.element(at: source, field)
      try StoreError.check(target..<target + 1, of: units.count, field)
      // Those in between move up when it goes.
      let origin = try units.origin(before: target > source ? target + 1 : target, field)
      return try [.moveElement(element, after: origin.map { try units.reference($0) })]
    }
  }

  /// Gives an element of a list another value. It stays where it is or is moved to elsewhere; of two values the last writer's
  /// shows.
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

  /// Removes elements of a list. They stay removed, whatever is done to them elsewhere.
  ///
  /// - Throws: ``StoreError`` `indexInvalid`, and as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the list, linear in what is removed
  public mutating func removeElements(_ range: Range<Int>, from field: Name, of record: RecordID) throws {
    try write.edit(field, .list, of: record) { units in
      try units.elements(range, field).map { .removeElements($0) }
    }
  }
}
