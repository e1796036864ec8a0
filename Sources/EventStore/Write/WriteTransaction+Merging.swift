public import OperationFormat

/// Fields whose concurrent changes all count, in any order.
///
/// Each kind of field is a separate cell: ``WriteTransaction/set(_:of:to:)`` does not change it.
extension WriteTransaction {
  // MARK: Counters

  /// Adds to a counter of a record. Concurrent additions of other replicas count too, each once.
  ///
  /// - Parameters:
  ///   - amount: an integer or a decimal; a negative one takes away.
  ///   - field: the counter.
  ///   - record: the record.
  /// - Throws: ``StoreError`` `valueInvalid` for another value, and as ``set(_:of:to:)``.
  public mutating func add(_ amount: Value, to field: Name, of record: RecordID) throws {
    guard amount.isSummand else {
      throw StoreError(
        .valueInvalid, "\(amount) cannot be added to the counter “\(field)” of \(record)",
        hint: "add an integer or a decimal")
    }
    try write.change(field, of: record, .add(amount))
  }

  /// The sum of a counter of a record; nil if the record does not exist, or nothing was added.
  public mutating func counter(_ field: Name, of record: RecordID) throws -> Counter? {
    try readView().counter(field, of: record)
  }

  // MARK: Sets

  /// Puts an element into a set of a record. It stays, even if another replica removes it concurrently.
  ///
  /// - Throws: as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the elements.
  public mutating func insert(_ element: Value, into field: Name, of record: RecordID) throws {
    try write.change(field, of: record, .insert(element))
  }

  /// Removes an element from a set of a record, if the set has it.
  ///
  /// - Throws: as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the elements.
  public mutating func remove(_ element: Value, from field: Name, of record: RecordID) throws {
    try write.change(field, of: record, .remove(element))
  }

  /// The elements of a set of a record; nil if the record does not exist, or the set is empty.
  ///
  /// - Complexity: linear in the elements.
  public mutating func elements(of field: Name, in record: RecordID) throws -> Set<Value>? {
    try readView().elements(of: field, in: record)
  }

  /// Whether a set of a record has an element. False if the record does not exist.
  ///
  /// - Complexity: O(log n) in the elements.
  public mutating func contains(_ element: Value, in field: Name, of record: RecordID) throws -> Bool {
    try readView().contains(element, in: field, of: record)
  }

  // MARK: Maps

  /// Gives a key of a record's map a value. It stays, even if another replica removes the key concurrently.
  /// Of two concurrent values, the last writer's shows.
  ///
  /// - Throws: as ``set(_:of:to:)``; `valueInvalid` also for a key of over 255 bytes.
  /// - Complexity: O(log n) in the keys.
  public mutating func put(
    _ newValue: Value, at key: Name, in field: Name, of record: RecordID
  ) throws {
    try write.change(field, of: record, .put(key: key, newValue))
  }

  /// Removes a key from a record's map, if the map has it.
  ///
  /// - Throws: as ``put(_:at:in:of:)``.
  /// - Complexity: O(log n) in the keys.
  public mutating func removeValue(at key: Name, from field: Name, of record: RecordID) throws {
    try write.change(field, of: record, .removeKey(key))
  }

  /// The entries of a record's map; nil if the record does not exist, or the map is empty.
  ///
  /// - Complexity: linear in the keys.
  public mutating func entries(of field: Name, in record: RecordID) throws -> [Name: Value]? {
    try readView().entries(of: field, in: record)
  }

  /// The value at a key of a record's map; nil if the record does not exist, or the map lacks the key.
  ///
  /// - Complexity: O(log n) in the keys.
  public mutating func value(at key: Name, of field: Name, in record: RecordID) throws -> Value? {
    try readView().value(at: key, of: field, in: record)
  }
}
