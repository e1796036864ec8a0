public import OperationFormat

extension WriteTransaction {
  /// Moves a record to another zone: it is deleted where it is, and a copy of it is created there under its name.
  ///
  /// The copy gets what the record shows: of a conflict the winner alone. Its own references still name what they named, and
  /// those of others still name the old place. Each zone has a transaction of its own, which names the other place: elsewhere
  /// one may arrive without the other, and a record that is changed there meanwhile may survive beside its copy, as a conflict
  /// of the record: see <doc:MergeRules>.
  ///
  /// - Parameters:
  ///   - record: the record.
  ///   - zone: another zone, which must have no record of the name.
  /// - Returns: the copy.
  /// - Throws: ``StoreError`` `zoneUnknown`, `recordUnknown`, `recordExists`, `transactionTooLarge`, and `valueInvalid` for a
  ///   value that becomes too large because its references name their zone. Nothing is moved then, nor any of it.
  /// - Complexity: linear in what the record ever had.
  @discardableResult
  public mutating func move(_ record: RecordID, to zone: ZoneID) throws -> RecordID {
    try write.move(record, to: zone)
  }
}
