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

  // MARK: Contributions

  /// Contributes a payload to a field of a record. Contributions of other replicas count too; the app's
  /// ``ContributionReducer`` reduces all of them to one value.
  ///
  /// - Parameters:
  ///   - payload: any value; bytes over ``StoreConfiguration/assetThresholdBytes`` become an asset.
  ///   - field: the field.
  ///   - record: the record.
  /// - Throws: as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the contributions.
  public mutating func contribute(_ payload: Value, to field: Name, of record: RecordID) throws {
    try write.change(field, of: record, .contribute(payload))
  }
}
